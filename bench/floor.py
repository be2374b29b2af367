"""The raw floor: what the wire itself costs in Python with httpx2 and the standard json.

It runs interleaved with every adapter in the same process, and is the adapter `raw_httpx2` too.
No retries, no checks, no log: one shared client, dicts in, dicts out.
"""

import json
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from types import ModuleType
from typing import Any

from .adapter import Json

MODEL = "gpt-4o-mini"
SYSTEM = "You are a helpful assistant."
HEADERS = {"authorization": "Bearer sk-test", "content-type": "application/json"}
TOOLS: list[Json] = [
    {
        "type": "function",
        "function": {
            "name": "echo",
            "description": "Echo the text back.",
            "parameters": {
                "type": "object",
                "properties": {"text": {"type": "string"}},
                "required": ["text"],
                "additionalProperties": False,
            },
        },
    }
]


def echo(text: str) -> str:
    """Echo the text back."""
    return text


def opening(prompt: str) -> list[Json]:
    """Return the messages of a new conversation."""
    return [{"role": "system", "content": SYSTEM}, {"role": "user", "content": prompt}]


class RawAgent:
    """The smallest agent loop over a function that posts one Chat Completions body."""

    def __init__(
        self, post: Callable[[Json], Awaitable[Json]], close: Callable[[], Awaitable[None]]
    ) -> None:
        self.post, self.close = post, close

    async def one_turn(self, prompt: str) -> str:
        """Make one model call without tools and return its text."""
        reply = await self.post({"model": MODEL, "messages": opening(prompt)})
        return str(reply["choices"][0]["message"]["content"])

    async def tool_run(self, prompt: str) -> tuple[str, int]:
        """Run a new conversation with the tool; return the text and the calls executed."""
        return await self.loop(opening(prompt))

    async def loop(self, messages: list[Json], max_steps: int = 50) -> tuple[str, int]:
        """Call model and tool until there is an answer, appending to the messages."""
        executed = 0
        for _ in range(max_steps):
            reply = await self.post({"model": MODEL, "messages": messages, "tools": TOOLS})
            message = reply["choices"][0]["message"]
            calls = message.get("tool_calls")
            if not calls:
                messages.append({"role": "assistant", "content": message["content"]})
                return message["content"], executed
            messages.append({"role": "assistant", "content": None, "tool_calls": calls})
            messages += [_execute(call) for call in calls]
            executed += len(calls)
        raise RuntimeError("max steps")

    def conversation(self) -> "RawConversation":
        """Start a conversation."""
        return RawConversation(self.loop)

    async def aclose(self) -> None:
        """Close the client."""
        await self.close()


class RawConversation:
    """One list of messages that every turn sends whole."""

    def __init__(self, loop: Callable[[list[Json]], Awaitable[tuple[str, int]]]) -> None:
        self.loop = loop
        self.messages: list[Json] = [{"role": "system", "content": SYSTEM}]

    async def turn(self, prompt: str) -> str:
        """Add one turn and return its text."""
        self.messages.append({"role": "user", "content": prompt})
        return (await self.loop(self.messages))[0]


class RawHttpx(RawAgent):
    """The raw loop on httpx2, or on any module with its interface."""

    def __init__(self, base: str, http: ModuleType) -> None:
        limits = http.Limits(max_connections=1000, max_keepalive_connections=1000)
        self.client = http.AsyncClient(timeout=30, headers=HEADERS, limits=limits)
        self.url = base + "/v1/chat/completions"
        super().__init__(self.post_json, self.client.aclose)

    async def post_json(self, body: Json) -> Json:
        """Post a body and return the parsed reply."""
        response = await self.client.post(self.url, content=json.dumps(body).encode())
        response.raise_for_status()
        reply: Json = json.loads(response.content)
        return reply

    async def stream(self, prompt: str) -> AsyncIterator[str]:
        """Yield the pieces of one answer."""
        body = json.dumps({"model": MODEL, "stream": True, "messages": opening(prompt)})
        async with self.client.stream("POST", self.url, content=body.encode()) as response:
            async for line in response.aiter_lines():
                if line.startswith("data: ") and line != "data: [DONE]":
                    choices = json.loads(line[6:])["choices"]
                    text = choices and choices[0]["delta"].get("content")
                    if text:
                        yield text


def make_floor(base: str) -> RawHttpx:
    """Build the paired floor; httpx2 comes from the adapter's environment, else from the spare."""
    if os.environ["BENCH_FLOOR_SITE"] not in sys.path:
        sys.path.append(os.environ["BENCH_FLOOR_SITE"])
    import httpx2

    return RawHttpx(base, httpx2)


def _execute(call: Any) -> Json:
    result = echo(**json.loads(call["function"]["arguments"]))
    return {"role": "tool", "tool_call_id": call["id"], "content": result}
