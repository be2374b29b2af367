"""Gemini through Google's GenAI SDK: `google/<model>`.

The SDK brings addresses and headers, and reads the replies. Bodies are put together here, in the
API's own words: the SDK would walk through its types for the whole history in every request.
Reference: https://ai.google.dev/api/generate-content
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
import warnings
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import httpx2

from ...errors import ConfigError, LlmError, MalformedReply
from ...messages import Reply
from ...observability.redact import add_url_secrets
from ...texts import clean_json
from ...tools.tool import Tool
from ...transport import HttpClients
from ..model_uri import ModelURI
from ..provider import Delta, Provider, Request, check_address, resolve_key
from ..schema import OutputSchema
from .address import split_userinfo
from .failures import disconnected, reported
from .google_http import GoogleTransport, opened_by
from .google_reply import ReplyParser
from .google_schema import answer_tool, wire_schema, wire_tools
from .google_wire import system_parts, wire_contents, wire_settings

if TYPE_CHECKING:
    from google.genai import Client
    from google.genai.models import AsyncModels
    from google.genai.types import GenerateContentResponse

ADDRESS = "https://generativelanguage.googleapis.com"
KEYS = ("GEMINI_API_KEY", "GOOGLE_API_KEY")
TRAILING = 1.0  # seconds in which more may follow the reason to end; no event says it was the last
_BROKEN = (httpx2.HTTPError, OSError)
_OLD = re.compile(r"(.*/)?(gemini-[12]|gemma)")  # no tools with a schema, no levels of thinking
_MODEL = re.compile(r"(?!.*\.\.)[\w.:@/-]+")  # it becomes part of the address


def create(uri: ModelURI, clients: HttpClients) -> Provider:
    """Return the provider of a URI. Raises `ConfigError` without the SDK or a key.

    The key is that of the URI, else `GEMINI_API_KEY`, else `GOOGLE_API_KEY`.
    """
    if uri.protocol != "chat":
        raise ConfigError(f"model URI {uri}: use chat://{uri.provider}/{uri.model}")
    if not _is_installed():
        raise ConfigError(
            f"model URI {uri}: the package google-genai is missing: pip install google-genai"
        )
    given = [name for name in KEYS if os.environ.get(name, "").strip()]
    return Gemini(uri, resolve_key(uri, (*given, KEYS[0])[0]), clients)


class Gemini:
    """A provider behind `POST {base_url}/{version}/models/{model}:generateContent`."""

    def __init__(self, uri: ModelURI, key: str | None, clients: HttpClients) -> None:
        if not _MODEL.fullmatch(uri.model):
            raise ConfigError(f"model URI {uri}: no model of {uri.provider} has such a name")
        address, self._version = _address(uri)
        self._address, self._basic = split_userinfo(address)
        self._key = key
        self._clients = clients
        self._provider = uri.provider
        self._model = uri.model
        self._old = _OLD.match(uri.model) is not None
        self._sdk: Client | None = None
        self._tools: tuple[Sequence[Tool], list[dict[str, Any]]] = ((), [])
        self._answer: tuple[OutputSchema | None, dict[str, Any]] = (None, {})
        wire_settings(uri.settings, self._old)  # refuse at once what the API does not take

    async def complete(self, request: Request) -> Reply:
        """Return the reply of one request: one POST, no stream; one more for each continuation."""
        body, models = self._body(request), self._models()
        parser = ReplyParser(self._provider, self._model, whole=True)
        problem: LlmError | None = None
        try:
            while True:
                parser.take(await models.generate_content(**self._call(body)))
                if not _goes_on(parser, body):
                    break
        except Exception as error:  # the SDK raises whatever happens when it reads a broken reply
            problem = self._problem(error)
        if problem is not None:
            raise problem  # outside the handler: its context would carry the request and its key
        return parser.reply()

    async def stream(self, request: Request) -> AsyncGenerator[Delta | Reply, None]:
        """Yield the deltas of one streamed request, then the reply."""
        body, models = self._body(request), self._models()
        parser = ReplyParser(self._provider, self._model)
        problem: LlmError | None = None
        try:
            while True:
                async with aclosing(self._chunks(models, body, parser)) as chunks:
                    async for chunk in chunks:
                        for delta in parser.take(chunk):
                            yield delta
                if not _goes_on(parser, body):
                    break
        except Exception as error:
            if not parser.done:  # some servers hang up right after their last event
                problem = self._problem(error)
        if problem is not None:
            raise problem
        yield parser.reply()

    async def _chunks(
        self, models: AsyncModels, body: dict[str, Any], parser: ReplyParser
    ) -> AsyncGenerator[GenerateContentResponse, None]:
        """Yield the chunks of one request, and close its response however that ends.

        The SDK leaves a stream that is not read to its end to the garbage collector.
        """
        opened: list[httpx2.Response] = []
        async with aclosing(await models.generate_content_stream(**self._call(body))) as chunks:  # type: ignore[type-var]
            try:
                token = opened_by.set(opened)
                try:
                    chunk = await anext(chunks, None)
                finally:
                    opened_by.reset(token)
                while chunk is not None:
                    yield chunk
                    async with asyncio.timeout(TRAILING if parser.done else None):
                        chunk = await anext(chunks, None)
            finally:
                for response in opened:
                    await response.aclose()

    def _call(self, body: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments of the SDK's methods; all that counts is in the body."""
        return {
            "model": self._model,
            "contents": "replaced by the body",
            "config": {
                "automatic_function_calling": {"disable": True},
                "automatic_continuation": False,  # it would go on for ever, and retry unseen
                "http_options": {"extra_body": body},
            },
        }

    def _models(self) -> AsyncModels:
        """Return the SDK's methods, with a client of ours: else it may take aiohttp instead."""
        if self._sdk is None:
            from google import genai
            from google.genai.types import HttpOptions

            _silence()
            transport = GoogleTransport(self._provider, self._clients)
            options = HttpOptions(
                base_url=self._address,
                api_version=self._version,
                headers={"Authorization": self._basic} if self._basic and not self._key else None,
                httpx_async_client=httpx2.AsyncClient(
                    transport=transport, timeout=None, trust_env=False
                ),
                # What follows is never used; left out, three TLS contexts are made for it.
                httpx_client=httpx2.Client(transport=httpx2.BaseTransport(), trust_env=False),
                async_client_args={"ssl": True},
            )
            key = self._key or "none"  # without one it looks for others
            self._sdk = genai.Client(vertexai=False, api_key=key, http_options=options)
        return self._sdk.aio.models

    def _body(self, request: Request) -> dict[str, Any]:
        body: dict[str, Any] = {"contents": wire_contents(request.messages, self._old)}
        system = system_parts(request.messages)
        if system:
            body["systemInstruction"] = {"parts": system}
        config = clean_json(wire_settings(request.settings, self._old))
        if self._tools[0] is not request.tools:  # made once as long as a run passes the same ones
            self._tools = (request.tools, wire_tools(request.tools, request.warn))
        tools = self._tools[1]
        schema = request.schema
        if schema is not None:
            if self._answer[0] is not schema:
                self._answer = (schema, wire_schema(schema.schema))
            if tools and self._old:
                tools = [*tools, answer_tool(schema, self._answer[1])]
                body["toolConfig"] = {"functionCallingConfig": {"mode": "ANY"}}
            else:
                config["responseMimeType"] = "application/json"
                config["responseJsonSchema"] = self._answer[1]
        if tools:
            body["tools"] = [{"functionDeclarations": tools}]
        return {**body, "generationConfig": config} if config else body

    def _problem(self, error: Exception) -> LlmError:
        """Return what went wrong as one of our errors; the original may carry the key."""
        from google.genai.errors import APIError

        if isinstance(error, LlmError):
            return error.with_traceback(None)
        if isinstance(error, _BROKEN):
            return disconnected(self._provider, self._address, error)
        if isinstance(error, APIError):  # in the middle of a stream
            details = error.details
            wrapped = isinstance(details, dict) and "error" in details
            return reported(self._provider, details["error"] if wrapped else details)
        problem = type(error).__name__
        return MalformedReply(f"{self._provider} sent a reply of an unknown shape ({problem})")


def _goes_on(parser: ReplyParser, body: dict[str, Any]) -> bool:
    """Tell whether the reply is to be continued, and make the body ask for that."""
    token = parser.continuation()
    if token is not None:
        body["continuationToken"] = token
    return token is not None


def _address(uri: ModelURI) -> tuple[str, str | None]:
    """Return the address and the version of the API in it, None for what the SDK prefers."""
    base_url = uri.base_url or ADDRESS
    add_url_secrets(base_url)
    check_address(base_url, uri)
    if "?" in base_url:
        raise ConfigError(f"model URI {uri}: the baseURL of {uri.provider} can have no query")
    match = re.fullmatch(r"(.+?)(?:/(v\d\w*))?/*", base_url)
    assert match is not None
    return match[1], match[2]


def _silence() -> None:
    """Keep off stderr what the SDK says: that both keys are set, that a value is new to it."""
    logging.getLogger("google_genai").addHandler(logging.NullHandler())
    warnings.filterwarnings("ignore", r".* is not a valid \w+$", UserWarning, r"google\.genai\.")


def _is_installed() -> bool:
    try:
        return find_spec("google.genai") is not None
    except ModuleNotFoundError:  # there is no package google at all
        return False
