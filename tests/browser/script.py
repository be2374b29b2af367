"""A model for the page's tests: what it answers depends on what the user says."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

from agentkit import Message, Text, Thinking, ToolCall, Usage, tool
from agentkit.errors import BadRequest, Overloaded
from agentkit.llm.events import TextDelta, ThinkingDelta
from agentkit.llm.provider import Delta, Request
from agentkit.messages import Reply

MARKUP = '<img src="x" onerror="document.title = \'broken\'"><b>bold</b>'
HALF = "The first half"
BROKEN = "The model is broken."
FIXED = {"slow": HALF, "break": BROKEN}


@tool
async def look_up(word: str) -> str:
    """Look a word up."""
    return f"{word}: {MARKUP}"


@tool(needs_approval=True)
async def send_letter(to: str, text: str) -> str:
    """Send a letter."""
    return f"sent to {to}"


class PageModel:
    """Does what the user says (look, send, slow, fail, break), else it answers with markup."""

    def __init__(self) -> None:
        self._failed = False

    async def complete(self, request: Request) -> Reply:
        """Return the reply without its pieces."""
        async for item in self.stream(request):
            if isinstance(item, Reply):
                return item
        raise AssertionError("a stream ends with its reply")

    async def stream(self, request: Request) -> AsyncGenerator[Delta | Reply, None]:
        """Yield the reply in pieces; `slow` never gets beyond its first half."""
        message = self._message(request.messages[-1])
        if message.text == BROKEN:
            raise BadRequest(BROKEN)
        for part in message.parts:
            if isinstance(part, Thinking):
                yield ThinkingDelta(part.text)
            elif isinstance(part, Text):
                yield TextDelta(part.text)
        if message.text == HALF:
            await asyncio.Event().wait()
        if message.text == "This is void.":
            raise Overloaded("the model is overloaded", retry_after=0.0)
        yield Reply(message, "stop", Usage(1_200, 34), "page-model", message.text)

    def _message(self, last: Message) -> Message:
        if last.role == "tool":
            return Message.assistant(f"The tool said: {last.tool_results[0].text}")
        if last.text == "look":
            call = ToolCall("call_1", "look_up", {"word": "rain"})
            return Message("assistant", (Thinking("A tool will know."), call))
        if last.text == "send":
            letter = {"to": "Anna", "text": "It rained. " * 20}
            return Message("assistant", (ToolCall("call_2", "send_letter", letter),))
        if last.text in FIXED:
            return Message.assistant(FIXED[last.text])
        if last.text == "fail" and not self._failed:
            self._failed = True
            return Message.assistant("This is void.")
        return Message.assistant(f"You said {last.text}, {MARKUP}")
