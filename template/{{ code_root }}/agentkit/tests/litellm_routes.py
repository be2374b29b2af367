"""The servers behind litellm's routes, and how its tests reach them."""

from __future__ import annotations

import json
from typing import Any

import httpx2
import pytest

from ..llm.model_uri import ModelURI
from ..llm.provider import Provider, Request
from ..llm.providers.litellm import create
from ..messages import Message, Reply, Text, ToolResult
from ..transport import HttpClients
from .anthropic_rules import VERSION
from .fake_chat import FakeChat
from .fake_messages import FakeMessages
from .fake_server import FakeServer

OPENAI = "litellm/openai/gpt-5-mini?apiKey=sk-test-0123456789"
CLAUDE = "litellm/anthropic/claude-sonnet-4-5?apiKey=sk-ant-test-0123456789"
GEMINI = "litellm/gemini/gemini-3-pro-preview?apiKey=AIza-test-0123456789"
OLD_VERSION = "2023-06-01"

# litellm silences these itself when it is imported, but each test has filters of its own.
quiet = pytest.mark.filterwarnings(
    "ignore:.*`ReadOnly` qualifier", "ignore:Accessing the .* attribute on the instance"
)
both_ways = pytest.mark.parametrize("streaming", [False, True], ids=["whole", "stream"])


class FakeOldMessages(FakeMessages):
    """The Messages API in its version of 2023, which litellm speaks, before the strict fake.

    The old version has the key in a header of its own, takes results as plain text and cache marks
    on blocks, and names its own kind of tool. `marks` counts a request's cache marks.
    """

    async def handler(self, request: httpx2.Request) -> httpx2.Response:
        """Answer one request, as `httpx2.MockTransport` wants it."""
        headers = dict(request.headers)
        if headers.get("anthropic-version") != OLD_VERSION or "x-api-key" not in headers:
            pytest.fail(f"no request of the old version: {sorted(headers)}")
        headers |= {"anthropic-version": VERSION, "authorization": f"Bearer {headers['x-api-key']}"}
        del headers["content-length"]
        body = json.loads(request.content)
        self.marks = _take_marks(body)
        _renew(body)
        content = json.dumps(body, ensure_ascii=False).encode()
        return await super().handler(
            httpx2.Request("POST", request.url, headers=headers, content=content)
        )


both_routes = pytest.mark.parametrize(
    ("uri", "make_fake"), [(OPENAI, FakeChat), (CLAUDE, FakeOldMessages)], ids=["openai", "claude"]
)


def provider(fake: FakeServer, uri: str) -> Provider:
    """Return the provider of a URI over a fake server."""
    return create(ModelURI.parse(uri), HttpClients(fake.transport))


async def ask(made: Provider, request: Request, streaming: bool) -> Reply:
    """Return the reply to a request, streamed or not."""
    return (await stream(made, request))[1] if streaming else await made.complete(request)


async def stream(made: Provider, request: Request) -> tuple[list[Any], Reply]:
    """Return the deltas of a streamed reply, and the reply."""
    events = [event async for event in made.stream(request)]
    reply = events.pop()
    assert isinstance(reply, Reply)
    return events, reply


def answered(reply: Reply) -> Message:
    """Return results for all calls of a reply."""
    results = [ToolResult(c.id, c.name, (Text("r"),)) for c in reply.message.tool_calls]
    return Message("tool", tuple(results))


def _take_marks(value: Any) -> int:
    """Remove all cache marks and return their number."""
    if isinstance(value, list):
        return sum(map(_take_marks, value))
    if not isinstance(value, dict):
        return 0
    mark = value.pop("cache_control", None)
    if mark not in (None, {"type": "ephemeral"}):
        pytest.fail(f"no cache mark: {mark}")
    return (mark is not None) + sum(map(_take_marks, value.values()))


def _renew(body: dict[str, Any]) -> None:
    if "output_format" in body:
        body["output_config"] = {"format": body.pop("output_format")}
    for tool in body.get("tools", ()):
        if tool.get("type") == "custom":
            del tool["type"]
    for message in body["messages"]:
        for block in message["content"]:
            if block["type"] == "tool_result" and isinstance(block["content"], str):
                block["content"] = [{"type": "text", "text": block["content"]}]
