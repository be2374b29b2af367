"""Claude through Anthropic's SDK and the Messages API: `anthropic/<model>`.

The SDK brings addresses, headers and the version of the API. Bodies go out and come in as bytes:
each message is encoded once, and nothing walks the history.
Reference: https://platform.claude.com/docs/en/api/messages
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

import httpx2

from ...errors import ConfigError, LlmError
from ...messages import Reply
from ...observability.redact import add_url_secrets
from ...texts import clean, encode_json
from ...tools.tool import Tool
from ...transport import HttpClients
from ..model_uri import ModelURI
from ..provider import Delta, Provider, Request, resolve_key
from ..schema import OutputSchema
from .anthropic_reply import StreamParser, read_message, reply_of
from .anthropic_schema import instruction, output_format, tools_text
from .anthropic_wire import DIALECT, Turn, began_with_thinking, joined, turns_of
from .failures import disconnected, failure
from .sse import data_events

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic

ADDRESS = "https://api.anthropic.com"
PATH = "/v1/messages"
# The API has no default. Every current model takes 64,000 and more
# (https://platform.claude.com/docs/en/about-claude/models/overview); this leaves room for thinking
# and ends within some minutes.
MAX_TOKENS = 16_000
LEAST_BUDGET = 1_024  # tokens of thinking, says the API
PAUSES = 5  # how often one reply may go on after a pause
_EFFORTS = ("low", "medium", "high", "xhigh", "max")
_TAKEN = ("max_tokens", "stop", "reasoning")


def create(uri: ModelURI, clients: HttpClients) -> Provider:
    """Return the provider of a URI. Raises `ConfigError` for a missing key or a wrong setting."""
    if uri.protocol != "chat":
        raise ConfigError(f"model URI {uri}: anthropic is reached by chat://anthropic/…")
    return AnthropicMessages(uri, resolve_key(uri, "ANTHROPIC_API_KEY"), clients)


class AnthropicMessages:
    """A provider behind `POST {base_url}/v1/messages`."""

    def __init__(self, uri: ModelURI, key: str | None, clients: HttpClients) -> None:
        base_url = uri.base_url or ADDRESS
        add_url_secrets(base_url)
        address, _, query = base_url.partition("?")
        self._address = address.rstrip("/").removesuffix("/v1")  # the SDK adds it
        self._query = dict(parse_qsl(query))
        self._key = key
        self._model = uri.model
        self._clients = clients
        self._sdk: tuple[httpx2.AsyncClient, AsyncAnthropic] | None = None
        self._tools: tuple[Sequence[Tool], str] = ((), "")
        self._answer: tuple[OutputSchema | None, dict[str, Any] | None, str] = (None, None, "")
        wire_settings(uri.settings)  # refuse at once what the provider does not take

    async def complete(self, request: Request) -> Reply:
        """Return the reply of one request: one POST, no stream; one more after each pause."""
        messages: list[dict[str, Any]] = []
        while _goes_on(messages):
            response = await self._post(self._body(request, messages), stream=False)
            messages.append(read_message(response.content))
        return reply_of(messages, self._model)

    async def stream(self, request: Request) -> AsyncGenerator[Delta | Reply, None]:
        """Yield the deltas of one streamed request, then the reply."""
        messages: list[dict[str, Any]] = []
        while _goes_on(messages):
            response = await self._post(self._body(request, messages, stream=True), stream=True)
            parser = StreamParser()
            async with aclosing(self._deltas(response, parser)) as deltas:
                async for delta in deltas:
                    yield delta
            messages.append(parser.message())
        yield reply_of(messages, self._model)

    async def _deltas(
        self, response: httpx2.Response, parser: StreamParser
    ) -> AsyncGenerator[Delta, None]:
        problem: LlmError | None = None
        try:
            async with aclosing(response), aclosing(data_events(response.aiter_bytes())) as events:
                async for event in events:
                    delta = parser.feed(event)
                    if delta is not None:
                        yield delta
        except (httpx2.HTTPError, OSError) as error:
            if not parser.done:  # some servers hang up right after their last event
                problem = disconnected(DIALECT, self._address, error)
        if problem is not None:
            raise problem

    async def _post(self, body: bytes, *, stream: bool) -> httpx2.Response:
        """Send a request; of a stream only the headers are read. Raises `LlmError`."""
        client = self._client()
        from anthropic import APIConnectionError, APIStatusError, AsyncStream, Omit, omit

        headers: dict[str, str | Omit] = {"Content-Type": "application/json"}
        if self._key is None:
            headers["Authorization"] = omit
        try:
            if not stream:
                return await client.post(
                    PATH, cast_to=httpx2.Response, content=body, options={"headers": headers}
                )
            opened = await client.post(
                PATH,
                cast_to=object,
                content=body,
                options={"headers": headers},
                stream=True,
                stream_cls=AsyncStream[object],
            )
            return opened.response
        except APIStatusError as error:
            reply = error.response
            problem = failure(DIALECT, reply.status_code, reply.content, reply.headers)
        except APIConnectionError as error:
            problem = disconnected(DIALECT, self._address, error.__cause__ or error)
        except (httpx2.HTTPError, OSError) as error:  # in the middle of an error's body
            problem = disconnected(DIALECT, self._address, error)
        raise problem  # outside the handler: its context would carry the request and its key

    def _client(self) -> AsyncAnthropic:
        """Return the SDK's client over the running loop's HTTP client."""
        http = self._clients.get(self._address)
        if self._sdk is None or self._sdk[0] is not http:
            self._sdk = (http, self._new_client(http))
        return self._sdk[1]

    def _new_client(self, http: httpx2.AsyncClient) -> AsyncAnthropic:
        try:
            from anthropic import AsyncAnthropic
        except ModuleNotFoundError as error:
            name = error.name
        else:
            return AsyncAnthropic(
                api_key=self._key or "none",  # without one it would look for others
                base_url=self._address,
                timeout=None,
                max_retries=0,
                default_query=self._query,
                open_telemetry=False,
                http_client=http,
            )
        raise ConfigError(f"anthropic/{self._model} needs the package {name}: install anthropic")

    def _body(
        self, request: Request, paused: Sequence[Mapping[str, Any]], *, stream: bool = False
    ) -> bytes:
        turns = [turn for turn in turns_of(request.messages) if turn.blocks]
        system = [turn.blocks for turn in turns if turn.role == "system"]
        turns = [turn for turn in turns if turn.role != "system"]
        fields = wire_settings(request.settings)
        if "budget_tokens" in fields.get("thinking", {}) and not began_with_thinking(turns):
            del fields["thinking"]
        if request.schema is not None:
            answer, words = self._answer_of(request.schema)
            if answer:
                fields["output_config"] = {**fields.get("output_config", {}), "format": answer}
            else:
                system.append(encode_json({"type": "text", "text": clean(words)}))
        if stream:
            fields["stream"] = True
        blocks = [clean(encode_json(b)) for message in paused for b in message["content"]]
        if blocks:
            turns.append(Turn("assistant", ",".join(blocks)))
        lists = {"messages": joined(turns), "system": ",".join(system)}
        lists["tools"] = self._tools_text(request)
        head = encode_json({"model": clean(self._model), **fields})[:-1]
        tail = "".join(f',"{name}":[{text}]' for name, text in lists.items() if text)
        return f"{head}{tail}}}".encode()

    def _tools_text(self, request: Request) -> str:
        """Return the tools' JSON, made once as long as a run passes the same sequence."""
        if self._tools[0] is not request.tools:
            self._tools = (request.tools, tools_text(request.tools, request.warn))
        return self._tools[1]

    def _answer_of(self, schema: OutputSchema) -> tuple[dict[str, Any] | None, str]:
        if self._answer[0] is not schema:
            self._answer = (schema, output_format(schema), instruction(schema))
        return self._answer[1:]


def wire_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings as fields of a request. Raises `ConfigError` that names a refused one."""
    refused = [name for name in settings if name not in _TAKEN]
    if refused:
        raise ConfigError(
            f"anthropic does not take {', '.join(refused)}: "
            f"Claude's models have no such setting. It takes: {', '.join(_TAKEN)}"
        )
    fields: dict[str, Any] = {"max_tokens": settings.get("max_tokens", MAX_TOKENS)}
    fields["cache_control"] = {"type": "ephemeral"}
    if "stop" in settings:
        stop = settings["stop"]
        fields["stop_sequences"] = [stop] if isinstance(stop, str) else stop
    if "reasoning" in settings:
        fields |= _reasoning(settings["reasoning"], settings.get("max_tokens"))
    return fields


def _reasoning(value: Any, max_tokens: int | None) -> dict[str, Any]:
    """Return the fields for an effort, for `none`, or for a budget of thinking in tokens."""
    if value == "none":
        return {"thinking": {"type": "disabled"}}
    if value in _EFFORTS:
        return {"thinking": {"type": "adaptive"}, "output_config": {"effort": value}}
    if not isinstance(value, int) or value < LEAST_BUDGET:
        raise ConfigError(
            f"anthropic does not take reasoning={value}; it takes none, {', '.join(_EFFORTS)}, "
            f"or a budget of at least {LEAST_BUDGET} tokens"
        )
    if max_tokens is not None and max_tokens <= value:
        raise ConfigError(
            f"anthropic counts thinking as output: max_tokens ({max_tokens}) must be more than "
            f"the budget of reasoning ({value})"
        )
    thinking = {"type": "enabled", "budget_tokens": value}
    return {"thinking": thinking, "max_tokens": max_tokens or MAX_TOKENS + value}


def _goes_on(messages: Sequence[Mapping[str, Any]]) -> bool:
    """Tell whether a turn needs one more request: it has not begun, or it was paused."""
    if not messages:
        return True
    return messages[-1].get("stop_reason") == "pause_turn" and len(messages) <= PAUSES
