"""The Responses API through the OpenAI SDK: `responses://openai/<model>`.

Stateless: nothing is stored at the provider. Reasoning comes back encrypted and is sent again, in
its place, to the model that made it. Messages go out as JSON that is made once, because the SDK
would walk through the types of the whole history in every request.
Reference: https://platform.openai.com/docs/api-reference/responses
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit

import httpx2

from ...errors import ConfigError, LlmError
from ...messages import Message, Reply
from ...texts import clean, encode_json
from ...tools.tool import Tool
from ...transport import HttpClients
from ..events import TextDelta
from ..model_uri import ModelURI
from ..provider import Delta, Provider, Request, check_address, resolve_key
from ..schema import OutputSchema
from .address import split_userinfo
from .failures import disconnected
from .openai_reply import ReplyParser
from .openai_wire import wire_format, wire_message, wire_tools
from .reply_body import ReplyBody
from .sdk_transport import SdkTransport

if TYPE_CHECKING:
    from openai import AsyncOpenAI

BASE_URL = "https://api.openai.com/v1"
_BROKEN = (httpx2.HTTPError, OSError)
_NAMES = {
    "max_tokens": "max_output_tokens",
    "temperature": "temperature",
    "top_p": "top_p",
    "reasoning": "reasoning",
}
# They refuse to be asked for reasoning, and to be shown any.
_DO_NOT_REASON = re.compile(r"(ft:)?(gpt-3|gpt-4|chatgpt-|gpt-5(\.\d+)?-chat)")


def create(uri: ModelURI, clients: HttpClients) -> Provider:
    """Return the provider of a URI. Raises `ConfigError` without the SDK or a key."""
    if find_spec("openai") is None:
        raise ConfigError(f"model URI {uri}: the package openai is missing: pip install openai")
    return OpenAiResponses(uri, resolve_key(uri, "OPENAI_API_KEY"), clients)


class OpenAiResponses:
    """A provider behind `POST {base_url}/responses`."""

    def __init__(self, uri: ModelURI, key: str | None, clients: HttpClients) -> None:
        base_url = uri.base_url or BASE_URL
        check_address(base_url, uri)
        plain_url, basic = split_userinfo(base_url)
        self._basic = None if key else basic
        self._base_url, _, query = plain_url.partition("?")
        self._query = dict(parse_qsl(query, keep_blank_values=True))
        self._key = key
        self._clients = clients
        self._provider = uri.provider
        self._model = uri.model
        self._reasons = not _DO_NOT_REASON.match(uri.model)
        self._dialect = _dialect(uri)
        self._head = self._first_fields()
        self._sdk: AsyncOpenAI | None = None
        self._tools: tuple[Sequence[Tool], str] = ((), "")
        self._format: tuple[OutputSchema | None, str] = (None, "")
        self._settings(uri.settings)  # refuse at once what the API does not take

    async def complete(self, request: Request) -> Reply:
        """Return the reply of one request: one POST, no stream."""
        try:
            async with aclosing(await self._post(self._body(request))) as body:
                return self._parser().take(await body.read())
        except _BROKEN as error:
            problem = disconnected(self._provider, self._base_url, error)
        raise problem  # outside the handler: its context would carry the request and its key

    async def stream(self, request: Request) -> AsyncGenerator[Delta | Reply, None]:
        """Yield the deltas of one streamed request, then the reply."""
        parser = self._parser()
        problem: LlmError | None = None
        wanted = self._body(request, ',"stream":true')
        try:
            async with aclosing(await self._post(wanted)) as body:
                if not await body.is_stream():
                    whole = parser.take(await body.read())  # it does not know streams
                    yield TextDelta(whole.message.text)
                    yield whole
                    return
                async with aclosing(body.events()) as events:
                    async for event in events:
                        delta = parser.feed(event)
                        if delta is not None:
                            yield delta
                        if parser.done:
                            break
                if parser.done:
                    await body.settle()
        except _BROKEN as error:
            if not parser.done:  # some servers hang up right after their last event
                problem = disconnected(self._provider, self._base_url, error)
        if problem is not None:
            raise problem
        yield parser.reply()

    async def _post(self, body: bytes) -> ReplyBody:
        """Return what a request is answered with; the SDK leaves it unread."""
        from openai import AsyncStream

        try:
            response = await self._client().post(
                "/responses",
                cast_to=httpx2.Response,
                content=body,
                options={"headers": {"Authorization": self._basic}} if self._basic else {},
                stream=True,
                stream_cls=AsyncStream[object],
            )
        except LlmError as error:
            problem = error.with_traceback(None)
        else:
            assert isinstance(response, httpx2.Response)
            return ReplyBody(response, self._provider)
        raise problem

    def _client(self) -> AsyncOpenAI:
        """Return the SDK's client, over connections of ours."""
        from openai import AsyncOpenAI

        if self._sdk is None:
            self._sdk = AsyncOpenAI(
                api_key=self._key or "none",  # the SDK insists on one
                base_url=self._base_url,
                default_query=self._query,
                http_client=SdkTransport(self._provider, self._clients).client(),
                max_retries=0,
                timeout=None,
            )
        return self._sdk

    def _parser(self) -> ReplyParser:
        return ReplyParser(self._provider, self._dialect, self._model)

    def _first_fields(self) -> str:
        fields: dict[str, Any] = {"model": clean(self._model), "store": False}
        if self._reasons:
            fields["include"] = ["reasoning.encrypted_content"]
        return encode_json(fields).removesuffix("}")

    def _body(self, request: Request, stream: str = "") -> bytes:
        items = [message.once(self._dialect, self._encode) for message in request.messages]
        tail = "".join(f',"{name}":{text}' for name, text in self._tail(request).items())
        text = f'{self._head},"input":[{",".join(filter(None, items))}]{clean(tail)}{stream}}}'
        return text.encode()

    def _encode(self, message: Message) -> str:
        return wire_message(message, self._dialect)

    def _tail(self, request: Request) -> dict[str, str]:
        """Return the fields besides the input, as JSON."""
        settings = self._settings(request.settings)
        fields = {name: encode_json(value) for name, value in settings.items()}
        if self._tools[0] is not request.tools:  # made once as long as a run passes the same ones
            self._tools = (request.tools, wire_tools(request.tools, request.warn))
        if self._tools[1]:
            fields["tools"] = self._tools[1]
        if request.schema is not None:
            if self._format[0] is not request.schema:
                self._format = (request.schema, wire_format(request.schema))
            fields["text"] = self._format[1]
        return fields

    def _settings(self, settings: dict[str, Any]) -> dict[str, Any]:
        wire: dict[str, Any] = {}
        for name, value in settings.items():
            if name not in _NAMES or (name == "reasoning" and isinstance(value, int)):
                shown = "a reasoning budget in tokens" if name in _NAMES else name
                raise ConfigError(
                    f"{self._provider} does not take {shown} through the Responses API; "
                    f"it takes: {', '.join(_NAMES)}"
                )
            wire[_NAMES[name]] = {"effort": value} if name == "reasoning" else value
        return wire


def _dialect(uri: ModelURI) -> str:
    """Return the key of what only this model, at this server, can read."""
    server = urlsplit(uri.base_url or "").hostname
    return f"responses:{uri.model}" + (f"@{server}" if server else "")
