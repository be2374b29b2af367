"""The anthropic SDK with a loop written by hand.

It speaks Messages while its floor speaks Chat Completions, so the ratios of B and C also hold the
difference between the wires; their sizes are close.
"""

# mypy: disable-error-code="import-not-found"

from collections.abc import AsyncIterator
from typing import Any

from anthropic import AsyncAnthropic

from ..adapter import Json
from ..floor import SYSTEM, RawConversation, echo

TITLE = "anthropic SDK, hand-written loop"
IMPORT = "from anthropic import AsyncAnthropic"
MODEL = "claude-sonnet-5-5"
TOOLS: list[Json] = [
    {
        "name": "echo",
        "description": "Echo the text back.",
        "input_schema": {
            "type": "object",
            "properties": {"text": {"type": "string"}},
            "required": ["text"],
        },
    }
]


class AnthropicLoop:
    """Messages through the SDK, its defaults untouched."""

    def __init__(self, base: str, **options: Any) -> None:
        self.client: Any = AsyncAnthropic(base_url=base, api_key="sk-test", **options)
        self.fixed: Json = {"model": MODEL, "max_tokens": 1000, "system": SYSTEM}

    async def one_turn(self, prompt: str) -> str:
        """Make one model call without tools and return its text."""
        reply = await self.client.messages.create(**self.fixed, messages=[_user(prompt)])
        return str(reply.content[0].text)

    async def loop(self, messages: list[Json], max_steps: int = 50) -> tuple[str, int]:
        """Call model and tool until there is an answer, appending to the messages."""
        executed = 0
        if messages[0]["role"] == "system":  # this wire has the system prompt beside the messages
            del messages[0]
        for _ in range(max_steps):
            reply = await self.client.messages.create(**self.fixed, tools=TOOLS, messages=messages)
            blocks = [block.model_dump(exclude_none=True) for block in reply.content]
            messages.append({"role": "assistant", "content": blocks})
            uses = [block for block in blocks if block["type"] == "tool_use"]
            if not uses:
                return blocks[0]["text"], executed
            executed += len(uses)
            messages.append({"role": "user", "content": [_result(use) for use in uses]})
        raise RuntimeError("max steps")

    async def tool_run(self, prompt: str) -> tuple[str, int]:
        """Run a new conversation with the tool; return the text and the calls executed."""
        return await self.loop([_user(prompt)])

    async def stream(self, prompt: str) -> AsyncIterator[str]:
        """Yield the pieces of one answer."""
        opened = self.client.messages.stream(**self.fixed, messages=[_user(prompt)])
        async with opened as stream:
            async for text in stream.text_stream:
                yield text

    def conversation(self) -> RawConversation:
        """Start a conversation."""
        return RawConversation(self.loop)

    async def aclose(self) -> None:
        """Close the client."""
        await self.client.close()


def _user(prompt: str) -> Json:
    return {"role": "user", "content": prompt}


def _result(use: Json) -> Json:
    return {"type": "tool_result", "tool_use_id": use["id"], "content": echo(**use["input"])}


def make(base: str) -> AnthropicLoop:
    """Build the loop with the SDK's defaults."""
    return AnthropicLoop(base)


def make_with_timeout(base: str, timeout: float) -> AnthropicLoop:
    """Build the loop with a timeout in seconds."""
    return AnthropicLoop(base, timeout=timeout)
