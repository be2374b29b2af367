"""Providers without a network: a scripted one for tests, and `chat://offline/echo` to try."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import AsyncGenerator, Iterable
from types import TracebackType

from ...errors import ConfigError, MalformedReply
from ...messages import Message, Reply, Text, ToolCall, Usage
from ...transport import HttpClients
from ..events import TextDelta
from ..model_uri import ModelURI
from ..provider import Delta, Provider, Request

_WANTS_TOOL = re.compile(r"/([A-Za-z0-9_-]+)(?:\s*(\{.*\}))?", re.DOTALL)
MOST_PIECES = 1_000  # of one streamed text, however long it is


class ScriptedProvider:
    """A provider that answers from a script: a text, a message or an exception for each call.

    `requests` keeps what was asked. As a context manager it fails if replies are left over; a
    call beyond the script raises `AssertionError`.
    """

    def __init__(self, replies: Iterable[str | Message | Exception]) -> None:
        self._replies = list(replies)
        self.requests: list[Request] = []

    async def complete(self, request: Request) -> Reply:
        """Return the next reply."""
        self.requests.append(dataclasses.replace(request, messages=tuple(request.messages)))
        if not self._replies:
            raise AssertionError(f"call {len(self.requests)} is not in the script")
        reply = self._replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        message = Message.assistant(reply) if isinstance(reply, str) else reply
        return _reply(request, message, "scripted")

    async def stream(self, request: Request) -> AsyncGenerator[Delta | Reply, None]:
        """Yield the next reply's text word by word, a long one in longer pieces, then the reply."""
        reply = await self.complete(request)
        text = reply.message.text
        least = len(text) // MOST_PIECES
        for piece in re.findall("(?s).{" + str(least) + r"}\S*\s*|.+", text):
            if piece:
                yield TextDelta(piece)
        yield reply

    def __enter__(self) -> ScriptedProvider:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None and self._replies:
            raise AssertionError(f"{len(self._replies)} scripted replies were not asked for")


class EchoProvider(ScriptedProvider):
    """Answers with what it was told; `/name {"argument": 1}` calls the tool of that name."""

    def __init__(self) -> None:
        super().__init__(())

    async def complete(self, request: Request) -> Reply:
        """Return the echo, or the call."""
        last = request.messages[-1]
        if last.role == "tool":
            text = "\n".join(f"{result.name} says: {result.text}" for result in last.tool_results)
            return _reply(request, Message.assistant(text), "echo")
        wanted = _WANTS_TOOL.fullmatch(last.text.rstrip())
        if wanted and any(tool.name == wanted[1] for tool in request.tools):
            return _reply(request, _call(wanted[1], wanted[2], len(request.messages)), "echo")
        return _reply(request, Message.assistant(f"You said: {last.text}"), "echo")


def create(uri: ModelURI, clients: HttpClients) -> Provider:
    """Return the offline provider of a URI; `echo` is the one there is."""
    if uri.model != "echo":
        raise ConfigError(
            f"model URI {uri}: the offline provider has one model, chat://offline/echo"
        )
    return EchoProvider()


def _call(name: str, arguments: str | None, number: int) -> Message:
    try:
        values = json.loads(arguments or "{}")
    except ValueError:
        return Message("assistant", (ToolCall(f"call_{number}", name, {}, arguments),))
    return Message("assistant", (ToolCall(f"call_{number}", name, values),))


def _reply(request: Request, message: Message, model: str) -> Reply:
    if message.role != "assistant":
        raise MalformedReply(f"a reply must be an assistant message, not {message.role}")
    read = sum(m.weight for m in request.messages) // 4
    usage = Usage(input_tokens=read, output_tokens=message.weight // 4)
    empty = not any(not isinstance(part, Text) or part.text for part in message.parts)
    return Reply(message, "empty" if empty else "stop", usage, model, message.text)
