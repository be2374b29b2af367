"""Claude through Anthropic's SDK and the Messages API: `anthropic/<model>`.

The SDK brings the headers and the version of the API. Bodies go out and come in as bytes: each
message is encoded once, and nothing walks the history.
Reference: https://platform.claude.com/docs/en/api/messages
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

import httpx2

from ...errors import BadRequest, ConfigError, LlmError
from ...messages import Reply
from ...observability.redact import add_url_secrets
from ...texts import clean, encode_json
from ...tools.tool import Tool
from ...transport import HttpClients
from ..model_uri import ModelURI
from ..provider import Delta, Provider, Request, check_address, resolve_key
from ..schema import OutputSchema
from .address import split_userinfo
from .anthropic_reply import StreamParser, read_message, reply_of
from .anthropic_schema import instruction, output_format, tools_text
from .anthropic_settings import wire_settings
from .anthropic_wire import DIALECT, Turn, began_with_thinking, joined, turns_of
from .failures import disconnected
from .reply_body import ReplyBody
from .sdk_transport import SdkTransport

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic, Omit

ADDRESS = "https://api.anthropic.com"
PAUSES = 5  # how often one reply may go on after a pause
REMEMBERED = 10_000  # turns whose thinking was refused
_BROKEN = (httpx2.HTTPError, OSError)
_REFUSED_THINKING = re.compile(
    r"signature.{0,9}thinking|thinking.{0,50}cannot be modified|Expected .thinking"
)


def create(uri: ModelURI, clients: HttpClients) -> Provider:
    """Return the provider of a URI. Raises `ConfigError` without the SDK or a key."""
    if uri.protocol != "chat":
        raise ConfigError(f"model URI {uri}: use chat://anthropic/{uri.model}")
    if find_spec("anthropic") is None:
        missing = "the package anthropic is missing: pip install anthropic"
        raise ConfigError(f"model URI {uri}: {missing}")
    return AnthropicMessages(uri, resolve_key(uri, "ANTHROPIC_API_KEY"), clients)


class AnthropicMessages:
    """A provider behind `POST {base_url}/v1/messages`."""

    def __init__(self, uri: ModelURI, key: str | None, clients: HttpClients) -> None:
        base_url = uri.base_url or ADDRESS
        add_url_secrets(base_url)
        check_address(base_url, uri)
        plain_url, self._basic = split_userinfo(base_url)
        address, _, query = plain_url.partition("?")
        self._address = address.rstrip("/").removesuffix("/v1")  # the SDK adds it
        self._query = dict(parse_qsl(query, keep_blank_values=True))
        self._key = key
        self._model = uri.model
        self._clients = clients
        self._sdk: AsyncAnthropic | None = None
        self._tools: tuple[Sequence[Tool], str] = ((), "")
        self._answer: tuple[OutputSchema | None, dict[str, Any] | None, str] = (None, None, "")
        self._refused: set[int] = set()  # hashes of turns whose thinking the API did not take back
        wire_settings(uri.settings)  # refuse at once what the API does not take

    async def complete(self, request: Request) -> Reply:
        """Return the reply of one request: one POST, no stream; one more after each pause."""
        messages: list[dict[str, Any]] = []
        while _goes_on(messages):
            body = await self._send(request, messages, stream=False)
            messages.append(read_message(await self._read(body)))
        return reply_of(messages, self._model)

    async def stream(self, request: Request) -> AsyncGenerator[Delta | Reply, None]:
        """Yield the deltas of one streamed request, then the reply."""
        messages: list[dict[str, Any]] = []
        while _goes_on(messages):
            body = await self._send(request, messages, stream=True)
            parser = StreamParser()
            async with aclosing(self._deltas(body, parser)) as deltas:
                async for delta in deltas:
                    yield delta
            messages.append(parser.message())
        yield reply_of(messages, self._model)

    async def _read(self, body: ReplyBody) -> bytes:
        try:
            async with aclosing(body):
                return await body.read()
        except _BROKEN as error:
            problem = disconnected(DIALECT, self._address, error)
        raise problem  # outside the handler: its context would carry the request and its key

    async def _deltas(self, body: ReplyBody, parser: StreamParser) -> AsyncGenerator[Delta, None]:
        problem: LlmError | None = None
        try:
            async with aclosing(body):
                if not await body.is_stream():
                    yield parser.take(await body.read())  # it does not know streams
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
                problem = disconnected(DIALECT, self._address, error)
        if problem is not None:
            raise problem

    async def _send(
        self, request: Request, paused: Sequence[Mapping[str, Any]], *, stream: bool
    ) -> ReplyBody:
        """Send a request, and once more without the thinking in it if that is refused.

        Newer models take thinking back only behind the very conversation that it came from, which
        a compaction, another system prompt or other tools change.
        https://platform.claude.com/docs/en/build-with-claude/preserved-thinking
        """
        turns = turns_of(request.messages, self._refused)
        try:
            return await self._post(self._body(request, turns, paused, stream))
        except BadRequest as error:
            thinking = [hash(turn.blocks) for turn in turns if turn.thinks]
            if not thinking or not _REFUSED_THINKING.search(str(error)):
                raise
        if len(self._refused) > REMEMBERED:
            self._refused.clear()
        self._refused.update(thinking)
        turns = turns_of(request.messages, self._refused)
        return await self._post(self._body(request, turns, paused, stream))

    async def _post(self, content: bytes) -> ReplyBody:
        """Return what a request is answered with; the SDK leaves it unread."""
        from anthropic import APIConnectionError, AsyncStream, omit

        headers: dict[str, str | Omit] = {"Content-Type": "application/json"}
        if self._key is None:
            headers["Authorization"] = self._basic or omit
        try:
            response = await self._client().post(
                "/v1/messages",
                cast_to=httpx2.Response,
                content=content,
                options={"headers": headers},
                stream=True,
                stream_cls=AsyncStream[object],
            )
        except APIConnectionError as error:  # the SDK's own, round what the transport raised
            cause = error.__cause__ or error
            known = isinstance(cause, LlmError)
            problem = cause if known else disconnected(DIALECT, self._address, cause)
        else:
            assert isinstance(response, httpx2.Response)
            return ReplyBody(response, DIALECT)
        raise problem.with_traceback(None)

    def _client(self) -> AsyncAnthropic:
        """Return the SDK's client, over connections of ours."""
        from anthropic import AsyncAnthropic

        if self._sdk is None:
            self._sdk = AsyncAnthropic(
                api_key=self._key or "none",  # without one it looks for others
                base_url=self._address,
                default_query=self._query,
                http_client=SdkTransport(DIALECT, self._clients).client(),
                max_retries=0,
                timeout=None,
                open_telemetry=False,
            )
        return self._sdk

    def _body(
        self,
        request: Request,
        turns: Sequence[Turn],
        paused: Sequence[Mapping[str, Any]],
        stream: bool,
    ) -> bytes:
        system = [turn.blocks for turn in turns if turn.role == "system"]
        spoken = [turn for turn in turns if turn.role != "system"]
        fields = self._fields(request, spoken, system)
        if stream:
            fields["stream"] = True
        begun = [clean(encode_json(b)) for message in paused for b in message["content"]]
        if begun:
            spoken.append(Turn("assistant", ",".join(begun)))
        if self._tools[0] is not request.tools:  # made once as long as a run passes the same ones
            self._tools = (request.tools, tools_text(request.tools, request.warn))
        lists = {"tools": self._tools[1], "system": ",".join(system), "messages": joined(spoken)}
        head = clean(encode_json(fields)).removesuffix("}")
        tail = "".join(f',"{name}":[{text}]' for name, text in lists.items() if text)
        return f"{head}{tail}}}".encode()

    def _fields(self, request: Request, turns: Sequence[Turn], system: list[str]) -> dict[str, Any]:
        """Return the fields that are no lists; words that go to the system prompt are added."""
        fields = {**wire_settings(request.settings), "cache_control": {"type": "ephemeral"}}
        fields["model"] = self._model
        if "budget_tokens" in fields.get("thinking", {}) and not began_with_thinking(turns):
            del fields["thinking"]
        schema = request.schema
        if schema is not None:
            if self._answer[0] is not schema:
                self._answer = (schema, output_format(schema), instruction(schema))
            _, answer, words = self._answer
            if answer:
                fields["output_config"] = {**fields.get("output_config", {}), "format": answer}
            else:
                system.append(clean(encode_json({"type": "text", "text": words})))
        return fields


def _goes_on(messages: Sequence[Mapping[str, Any]]) -> bool:
    """Tell whether a turn needs one more request: it has not begun, or it was paused."""
    if not messages:
        return True
    last = messages[-1]
    paused = last.get("stop_reason") == "pause_turn" and isinstance(last.get("content"), list)
    return paused and len(messages) <= PAUSES
