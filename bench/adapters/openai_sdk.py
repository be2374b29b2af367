"""The openai SDK with a loop written by hand, as users without a framework do."""

# mypy: disable-error-code="import-not-found"

import json
from collections.abc import AsyncIterator
from typing import Any

from openai import AsyncOpenAI

from ..adapter import Json, T
from ..floor import MODEL, TOOLS, RawConversation, echo, opening

TITLE = "openai SDK, hand-written loop"
IMPORT = "from openai import AsyncOpenAI"


class OpenAiLoop:
    """Chat Completions through the SDK, its defaults untouched."""

    def __init__(self, base: str, **options: Any) -> None:
        self.client = AsyncOpenAI(base_url=base + "/v1", api_key="sk-test", **options)
        self.create: Any = self.client.chat.completions.create

    async def one_turn(self, prompt: str) -> str:
        """Make one model call without tools and return its text."""
        reply = await self.create(model=MODEL, messages=opening(prompt))
        return str(reply.choices[0].message.content)

    async def loop(self, messages: list[Json], max_steps: int = 50) -> tuple[str, int]:
        """Call model and tool until there is an answer, appending to the messages."""
        executed = 0
        for _ in range(max_steps):
            reply = await self.create(model=MODEL, messages=messages, tools=TOOLS)
            message = reply.choices[0].message
            messages.append(message.model_dump(exclude_none=True))
            if not message.tool_calls:
                return message.content, executed
            for call in message.tool_calls:
                executed += 1
                content = echo(**json.loads(call.function.arguments))
                messages.append({"role": "tool", "tool_call_id": call.id, "content": content})
        raise RuntimeError("max steps")

    async def tool_run(self, prompt: str) -> tuple[str, int]:
        """Run a new conversation with the tool; return the text and the calls executed."""
        return await self.loop(opening(prompt))

    async def typed(self, prompt: str, schema: type[T]) -> T:
        """Answer as an instance of the schema."""
        parse: Any = self.client.chat.completions.parse
        reply = await parse(model=MODEL, response_format=schema, messages=opening(prompt))
        answer: T = reply.choices[0].message.parsed
        return answer

    async def stream(self, prompt: str) -> AsyncIterator[str]:
        """Yield the pieces of one answer."""
        chunks = await self.create(model=MODEL, stream=True, messages=opening(prompt))
        async for chunk in chunks:
            if chunk.choices and chunk.choices[0].delta.content:
                yield chunk.choices[0].delta.content

    def conversation(self) -> RawConversation:
        """Start a conversation."""
        return RawConversation(self.loop)

    async def aclose(self) -> None:
        """Close the client."""
        await self.client.close()


def make(base: str) -> OpenAiLoop:
    """Build the loop with the SDK's defaults."""
    return OpenAiLoop(base)


def make_with_timeout(base: str, timeout: float) -> OpenAiLoop:
    """Build the loop with a timeout in seconds."""
    return OpenAiLoop(base, timeout=timeout)
