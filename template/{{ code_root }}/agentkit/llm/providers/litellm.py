"""Any of litellm's providers: `litellm/<provider>/<model>`, or `<provider>/<model>` for a provider
that has neither adapter nor preset.

litellm takes seconds and 200 MB to import, so the first call does it, in a thread. What it gets
and gives has the shape of Chat Completions. Reference: https://docs.litellm.ai/docs/completion/input
"""

from __future__ import annotations

import dataclasses
import json
import logging
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from ...errors import AgentkitError, ConfigError, MalformedReply
from ...messages import Message, Reply
from ...observability.redact import add_environment, add_url_secrets
from ...texts import encode_json
from ...tools.tool import Tool, run_in_thread
from ...transport import HttpClients
from ..model_uri import ModelURI
from ..provider import Delta, Provider, Request, check_address, resolve_key
from .address import split_userinfo
from .chat_wire import response_format, wire_message, wire_tool
from .litellm_reply import ReplyCollector

if TYPE_CHECKING:
    from .litellm_http import Wire

_LOGGERS = ("LiteLLM", "LiteLLM Proxy", "LiteLLM Router")
_ALIASES = {"google": "gemini"}
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
    inner = dataclasses.replace(uri, provider=_ALIASES.get(provider, provider), model=model)
    key = resolve_key(inner, "OPENAI_API_KEY" if provider == "openai" else None)
    return LiteLlm(inner, key, clients)


class LiteLlm:
    """A provider behind `litellm.acompletion`; `uri` names the provider that litellm calls."""

    def __init__(self, uri: ModelURI, key: str | None, clients: HttpClients) -> None:
        base_url, basic = uri.base_url, None
        if base_url:
            add_url_secrets(base_url)
            check_address(base_url, uri)
            base_url, basic = split_userinfo(base_url)
        self._provider = uri.provider
        self._model = f"{uri.provider}/{uri.model}"
        self._dialect = f"litellm/{uri.provider}"
        self._key = key or ("none" if basic else None)  # most of its routes insist on one
        self._basic = None if key else basic
        self._base_url = base_url
        self._clients = clients
        self._loaded = False
        self._tools: tuple[Sequence[Tool], str] = ((), "")

    async def complete(self, request: Request) -> Reply:
        """Return the reply of one request: one POST, no stream."""
        wire, problem_of = await self._load()
        collector = ReplyCollector(self._dialect, self._model, whole=True)
        try:
            response = await self._call(self._arguments(request), wire)
            collector.take(response.model_dump())
        except Exception as error:  # other libraries' errors come through as well
            problem = problem_of(error, wire)
        else:
            return collector.reply()
        raise problem  # outside the handler: its context would carry the request and its key

    async def stream(self, request: Request) -> AsyncGenerator[Delta | Reply, None]:
        """Yield the deltas of one streamed request, then the reply."""
        wire, problem_of = await self._load()
        collector = ReplyCollector(self._dialect, self._model)
        problem: AgentkitError | None = None
        form = {"stream": True, "stream_options": {"include_usage": True}}
        try:
            response = await self._call(self._arguments(request) | form, wire)
            async with aclosing(response) as chunks:
                async for chunk in chunks:
                    delta = collector.take(chunk.model_dump(exclude_none=True))
                    if delta is not None:
                        yield delta
                for kept in chunks.chunks:
                    collector.count(getattr(kept, "usage", None))
                # litellm makes one up where none came.
                if not (chunks.received_finish_reason or chunks.received_any_finish_reason):
                    problem = MalformedReply(f"{self._dialect} broke off in the middle of a reply")
        except Exception as error:
            problem = problem_of(error, wire)
        if problem is not None:
            raise problem
        yield collector.reply()

    async def _load(self) -> tuple[Wire, Callable[[Exception, Wire], AgentkitError]]:
        """Return a new call's wire, and what tells its failures; the first call imports litellm."""
        if not self._loaded:
            try:
                await run_in_thread(_import)
            except ImportError as error:
                raise ConfigError(f"litellm cannot be imported: {error}") from None
            self._loaded = True
        from .litellm_http import Wire, problem_of

        return Wire(self._dialect, self._clients, self._basic), problem_of

    async def _call(self, arguments: dict[str, Any], wire: Wire) -> Any:
        import litellm

        from .litellm_http import client_of

        client = client_of(wire, self._model, self._key, self._base_url)
        return await litellm.acompletion(**arguments, client=client)

    def _arguments(self, request: Request) -> dict[str, Any]:
        texts = [message.once(self._dialect, self._encode) for message in request.messages]
        arguments: dict[str, Any] = {
            "model": self._model,
            # Its own copies, for litellm changes what it is given.
            "messages": json.loads(f"[{','.join(filter(None, texts))}]"),
            "api_key": self._key,
            "api_base": self._base_url,
            "max_retries": 0,
            "num_retries": 0,
            "enable_prompt_caching": True,  # where the provider wants to be asked for it
            "thought_signature_in_tool_call_id": False,  # they would make ids too long for others
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
            self._tools = (tools, encode_json([wire_tool(tool) for tool in tools]))
        return self._tools[1]

    def _settings(self, settings: dict[str, Any]) -> dict[str, Any]:
        """Return the settings under litellm's names; what a model does not take, it refuses."""
        wire = {name: settings[name] for name in _SAME_NAME if name in settings}
        if "max_tokens" in settings:
            by_openai = self._provider in ("openai", "azure")
            name = "max_completion_tokens" if by_openai else "max_tokens"
            wire[name] = settings["max_tokens"]
        reasoning = settings.get("reasoning")
        if isinstance(reasoning, int):
            wire["thinking"] = {"type": "enabled", "budget_tokens": reasoning}
        elif reasoning is not None:
            wire["reasoning_effort"] = reasoning
        return wire


def _import() -> None:
    """Import litellm with nothing fetched and nothing printed, now and later."""
    from . import litellm_http  # noqa: F401

    # isort: split
    import litellm

    litellm.suppress_debug_info = True
    for name in _LOGGERS:
        logger = logging.getLogger(name)
        logger.handlers = [logging.NullHandler()]
        logger.setLevel(logging.WARNING)
