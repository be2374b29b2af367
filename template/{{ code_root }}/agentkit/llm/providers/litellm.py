"""Any of litellm's providers: `litellm/<provider>/<model>`, or `<provider>/<model>` where nobody
else takes it.

litellm is big and slow to import (seconds, 200 MB), so the first call does it, in a thread. The
dialect is OpenAI's. Reference: https://docs.litellm.ai/docs/completion/input
"""

from __future__ import annotations

import dataclasses
import json
import logging
import os
import re
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from ...errors import (
    AgentkitError,
    ConfigError,
    ConnectionFailed,
    MalformedReply,
    error_class,
    stream_error_class,
)
from ...messages import Message, Reply
from ...observability.redact import add_environment, add_url_secrets
from ...retry import retry_after
from ...texts import clean, encode_json
from ...tools.tool import Tool, run_in_thread
from ...transport import HttpClients
from ..model_uri import ModelURI
from ..provider import Delta, Provider, Request, check_address, resolve_key
from .chat_wire import response_format, wire_message, wire_tool
from .failures import one_line, reported
from .litellm_reply import ReplyCollector

# Nothing is fetched: prices, header lists and tokenizers are those in the package. Without the mode
# litellm would read the project's .env.
_ENVIRONMENT = {
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_OFFLINE_MODE": "true",
    "LITELLM_MODE": "PRODUCTION",
}
_LOGGERS = ("LiteLLM", "LiteLLM Proxy", "LiteLLM Router")
# What litellm puts round a provider's message: names of classes, tracebacks, links to report it.
_WRAPPING = re.compile(
    r"^(?:litellm\.|\w*(?:Error|Exception)(?: - |: ))+|\s(?:Traceback \(|Original exception:|Handle with `).*",
    re.DOTALL,
)
_SAME_NAME = ("temperature", "top_p", "top_k", "stop", "seed")


def create(uri: ModelURI, clients: HttpClients) -> Provider:
    """Return the provider of a URI. Raises `ConfigError` without the package, a model or a key."""
    if uri.protocol != "chat":
        raise ConfigError(f"model URI {uri}: litellm is reached by chat://litellm/…")
    if find_spec("litellm") is None:
        raise ConfigError(f"model URI {uri}: the package litellm is missing: pip install litellm")
    provider, model = uri.provider, uri.model
    if provider == "litellm":
        provider, _, model = model.partition("/")
        if not model:
            raise ConfigError(f"model URI {uri}: expected litellm/<provider>/<model>")
    add_environment()  # litellm finds most keys by itself
    named = dataclasses.replace(uri, provider=provider, model=model)
    variable = "OPENAI_API_KEY" if provider == "openai" else None
    return LiteLlm(named, resolve_key(named, variable), clients)


class LiteLlm:
    """A provider behind `litellm.acompletion`."""

    def __init__(self, uri: ModelURI, key: str | None, clients: HttpClients) -> None:
        if uri.base_url:
            add_url_secrets(uri.base_url)
            check_address(uri.base_url, uri)
        self._model = f"{uri.provider}/{uri.model}"
        self._provider = uri.provider
        self._dialect = f"litellm/{uri.provider}"
        self._key = key
        self._base_url = uri.base_url
        self._clients = clients
        self._loaded: tuple[Any, Any] | None = None
        self._tools: tuple[Sequence[Tool], str] = ((), "")

    async def complete(self, request: Request) -> Reply:
        """Return the reply of one request: one POST, no stream."""
        collector = ReplyCollector(self._dialect, self._model, whole=True)
        litellm, http = await self._load()
        wire = http.Wire(self._dialect, self._clients)
        try:
            response = await self._call(litellm, http, wire, request, {})
            collector.take(response.model_dump())
        except Exception as error:  # litellm lets other libraries' errors through as well
            problem = self._problem(litellm, wire, error)
        else:
            return collector.reply()
        raise problem  # outside the handler: its context would carry the request and its key

    async def stream(self, request: Request) -> AsyncGenerator[Delta | Reply, None]:
        """Yield the deltas of one streamed request, then the reply."""
        collector = ReplyCollector(self._dialect, self._model)
        litellm, http = await self._load()
        wire = http.Wire(self._dialect, self._clients)
        problem: AgentkitError | None = None
        form = {"stream": True, "stream_options": {"include_usage": True}}
        try:
            async with aclosing(await self._call(litellm, http, wire, request, form)) as chunks:
                async for chunk in chunks:
                    delta = collector.take(chunk.model_dump(exclude_none=True))
                    if delta is not None:
                        yield delta
                for kept in chunks.chunks:
                    if getattr(kept, "usage", None):
                        collector.count(kept.usage.model_dump())
                if chunks.received_finish_reason is None:  # litellm makes one up
                    problem = MalformedReply(f"{self._dialect} broke off in the middle of a reply")
        except Exception as error:
            problem = self._problem(litellm, wire, error)
        if problem is not None:
            raise wire.problem or problem
        yield collector.reply()

    async def _load(self) -> tuple[Any, Any]:
        if self._loaded is None:
            self._loaded = await run_in_thread(_import)
        return self._loaded

    async def _call(
        self, litellm: Any, http: Any, wire: Any, request: Request, form: dict[str, Any]
    ) -> Any:
        _, provider, key, base_url = litellm.get_llm_provider(
            self._model, api_base=self._base_url, api_key=self._key
        )
        client = http.client_of(wire, provider, key or self._key, base_url)
        arguments = self._arguments(request)
        return await litellm.acompletion(**arguments, **form, client=client)

    def _arguments(self, request: Request) -> dict[str, Any]:
        texts = [message.once(self._dialect, self._encode) for message in request.messages]
        arguments: dict[str, Any] = {
            "model": self._model,
            # Its own copies: litellm changes what it is given.
            "messages": json.loads(f"[{','.join(filter(None, texts))}]"),
            "api_key": self._key,
            "api_base": self._base_url,
            "max_retries": 0,
            "num_retries": 0,
            "enable_prompt_caching": True,
            "thought_signature_in_tool_call_id": False,
            **self._settings(request.settings),
        }
        if request.tools:
            arguments["tools"] = json.loads(self._tools_text(request.tools))
        if request.schema is not None:
            arguments["response_format"] = json.loads(encode_json(response_format(request.schema)))
        return arguments

    def _encode(self, message: Message) -> str:
        return wire_message(message, self._dialect)

    def _tools_text(self, tools: Sequence[Tool]) -> str:
        """Return the tools' JSON, made once as long as a run passes the same sequence."""
        if self._tools[0] is not tools:
            self._tools = (tools, f"[{','.join(encode_json(wire_tool(tool)) for tool in tools)}]")
        return self._tools[1]

    def _settings(self, settings: dict[str, Any]) -> dict[str, Any]:
        """Return the settings under litellm's names; it refuses itself what a model does not take."""
        wire = {name: settings[name] for name in _SAME_NAME if name in settings}
        if "max_tokens" in settings:
            openai = self._provider in ("openai", "azure")
            wire["max_completion_tokens" if openai else "max_tokens"] = settings["max_tokens"]
        reasoning = settings.get("reasoning")
        if isinstance(reasoning, int):
            wire["thinking"] = {"type": "enabled", "budget_tokens": reasoning}
        elif reasoning is not None:
            wire["reasoning_effort"] = reasoning
        return wire

    def _problem(self, litellm: Any, wire: Any, error: Exception) -> AgentkitError:
        """Return what an error of litellm means: what the wire saw, else its status, else a guess."""
        if wire.problem is not None:
            return wire.problem
        if isinstance(error, AgentkitError):
            return error
        text = one_line(_WRAPPING.sub("", str(error))) or type(error).__name__
        if isinstance(error, litellm.UnsupportedParamsError):
            return ConfigError(f"{self._dialect} refuses a setting: {text}")
        if wire.answered:
            body = _reported(error)
            if body:
                return reported(self._dialect, body)
            return stream_error_class(text)(f"{self._dialect} failed: {text}", status=200)
        status = getattr(error, "status_code", None)
        if not isinstance(status, int) or isinstance(error, litellm.APIConnectionError):
            return ConnectionFailed(f"no reply from {self._dialect} ({text})")
        headers = getattr(error, "litellm_response_headers", None) or {}
        return error_class(status, text)(
            f"{self._dialect} answered {status}: {text}",
            status=status,
            retry_after=retry_after(headers),
        )


def _reported(error: BaseException | None) -> Any:
    """Return the body of the error that a provider reported inside a stream, if the SDK kept it."""
    while error is not None and not getattr(error, "body", None):
        error = error.__cause__ or error.__context__
    return getattr(error, "body", None)


def _import() -> tuple[Any, Any]:
    """Import litellm and what joins it to our HTTP, with nothing fetched and nothing printed."""
    for name, value in _ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    litellm = import_module("litellm")
    litellm.suppress_debug_info = True  # type: ignore[attr-defined]
    for name in _LOGGERS:
        logger = logging.getLogger(name)
        logger.handlers = [logging.NullHandler()]
        logger.setLevel(logging.WARNING)
    return litellm, import_module(f"{__package__}.litellm_http")
