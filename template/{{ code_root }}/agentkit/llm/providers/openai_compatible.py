"""Chat Completions straight over HTTP: OpenAI and every server that speaks its protocol.

No SDK: bytes go out, bytes come in. Each message is encoded once and its text reused.
Reference: https://platform.openai.com/docs/api-reference/chat
"""

from __future__ import annotations

import os
import re
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Any

import httpx2

from ...errors import ConfigError, LlmError
from ...messages import Message, Reply
from ...observability.redact import add_url_secrets
from ...texts import clean, encode_json
from ...tools.tool import Tool
from ...transport import HttpClients
from ..events import TextDelta
from ..model_uri import ModelURI
from ..provider import Delta, Request, check_address
from ..schema import OutputSchema
from .address import split_userinfo
from .chat_reply import ReplyParser, reply_of
from .chat_wire import response_format, wire_message, wire_tool, with_answers
from .failures import disconnected, failure
from .presets import Preset
from .reply_body import ReplyBody

_BROKEN = (httpx2.HTTPError, OSError)
_HEADERS = {"accept": "*/*", "accept-encoding": "gzip, deflate", "user-agent": "agentkit"}
_EVERYWHERE = {"temperature": "temperature", "top_p": "top_p", "stop": "stop", "seed": "seed"}


class OpenAiCompatible:
    """A provider behind `POST {base_url}/chat/completions`."""

    def __init__(
        self, uri: ModelURI, preset: Preset, key: str | None, clients: HttpClients
    ) -> None:
        base_url = uri.base_url or _expand(preset.base_url)
        add_url_secrets(base_url)
        plain_url, basic = split_userinfo(base_url)
        address, _, query = plain_url.partition("?")
        self._url = f"{address.rstrip('/')}/chat/completions" + (f"?{query}" if query else "")
        check_address(self._url, uri)
        self._address = httpx2.URL(self._url)
        headers = {"content-type": "application/json", **_HEADERS}
        authorization = f"Bearer {key}" if key else basic
        if authorization:
            headers["authorization"] = authorization
        self._headers = httpx2.Headers(headers)
        self._provider = uri.provider
        self._preset = preset
        self._clients = clients
        self._names = {**_EVERYWHERE, **preset.settings, "max_tokens": preset.max_tokens}
        self._head = f'{{"model":{encode_json(clean(uri.model))},"messages":['
        self._model = uri.model
        self._tools: tuple[Sequence[Tool], str] = ((), "")
        self._settings(uri.settings)  # refuse at once what the provider does not take

    async def complete(self, request: Request) -> Reply:
        """Return the reply of one request: one POST, no stream."""
        try:
            async with aclosing(await self._post(self._body(request))) as body:
                if body.status == 200:
                    return self._whole(await body.read())
                problem = failure(
                    self._provider, body.status, await body.read_start(), body.headers
                )
        except _BROKEN as error:
            problem = disconnected(self._provider, self._url, error)
        raise problem  # outside the handler: its context would carry the request and its key

    async def stream(self, request: Request) -> AsyncGenerator[Delta | Reply, None]:
        """Yield the deltas of one streamed request, then the reply."""
        wanted = self._body(request, ',"stream":true,"stream_options":{"include_usage":true}')
        parser = ReplyParser(self._provider, self._preset.replay, self._model)
        problem: LlmError | None = None
        try:
            async with aclosing(await self._post(wanted)) as body:
                if body.status != 200:
                    start = await body.read_start()
                    raise failure(self._provider, body.status, start, body.headers)
                if not await body.is_stream():
                    whole = self._whole(await body.read())  # it does not know streams
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
                problem = disconnected(self._provider, self._url, error)
        if problem is not None:
            raise problem
        yield parser.reply()

    async def _post(self, body: bytes) -> ReplyBody:
        request = httpx2.Request("POST", self._address, headers=self._headers, content=body)
        return ReplyBody(await self._clients.send(request), self._provider)

    def _whole(self, body: bytes) -> Reply:
        return reply_of(body, self._provider, self._preset.replay, self._model)

    def _body(self, request: Request, stream: str = "") -> bytes:
        dialect = self._provider
        fragments = [  # nearly all were made for an earlier request: then no call is made
            message.forms.get(dialect) or message.once(dialect, self._encode)
            for message in request.messages
        ]
        if not self._preset.user_after_tool:
            fragments = with_answers(request.messages, fragments)
        tail = self._tail(request)
        return f"{self._head}{','.join(filter(None, fragments))}]{clean(tail)}{stream}}}".encode()

    def _encode(self, message: Message) -> str:
        return wire_message(message, self._provider, self._preset.user_after_tool)

    def _tail(self, request: Request) -> str:
        parts = {
            name: encode_json(value) for name, value in self._settings(request.settings).items()
        }
        tools = self._tools_text(request.tools)
        schema = request.schema
        if schema is not None and self._preset.answer == "tool":
            answer = encode_json(_answer_tool(schema))
            tools = f"{tools},{answer}" if tools else answer
            parts["tool_choice"] = '"required"'
        elif schema is not None:
            parts["response_format"] = encode_json(response_format(schema))
        if tools:
            parts["tools"] = f"[{tools}]"
        return "".join(f',"{name}":{text}' for name, text in parts.items())

    def _tools_text(self, tools: Sequence[Tool]) -> str:
        """Return the tools' JSON, made once as long as a run passes the same sequence."""
        if self._tools[0] is not tools:
            self._tools = (tools, ",".join(encode_json(wire_tool(tool)) for tool in tools))
        return self._tools[1]

    def _settings(self, settings: dict[str, Any]) -> dict[str, Any]:
        wire: dict[str, Any] = {}
        for name, value in settings.items():
            if name not in self._names or (name == "reasoning" and isinstance(value, int)):
                shown = "a reasoning budget in tokens" if name in self._names else name
                raise ConfigError(
                    f"{self._provider} does not take {shown} through Chat Completions; "
                    f"it takes: {', '.join(self._names)}"
                )
            wire[self._names[name]] = value
        return wire


def _expand(base_url: str) -> str:
    """Fill `{NAME}` in an address from the environment."""

    def value(match: re.Match[str]) -> str:
        found = os.environ.get(match[1], "").strip()
        if not found:
            raise ConfigError(f"{match[1]} is not set; it is part of the provider's address")
        return found

    return re.sub(r"\{([A-Z_]+)\}", value, base_url)


def _answer_tool(schema: OutputSchema) -> dict[str, Any]:
    function = {
        "name": f"answer_{schema.name}"[:64],
        "description": "Call this once, with the final answer.",
        "parameters": schema.schema,
    }
    return {"type": "function", "function": function}
