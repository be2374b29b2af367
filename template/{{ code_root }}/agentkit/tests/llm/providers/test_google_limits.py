"""What Gemini's adapter takes of a server, and what it gives away."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ....errors import MalformedReply
from ...odd_bodies import OddBody, respond
from .sdk_limits import *  # noqa: F403
from .sdk_limits import Api, ask, provider

PARTS: list[Any] = [{"text": "hi"}]
REPLY = {"candidates": [{"content": {"parts": PARTS}, "finishReason": "STOP"}]}
WHOLE = json.dumps(REPLY).encode()
KEY = "AIza-test-0123456789"
API = Api(
    "google/gemini-3.8-flash", KEY, ("x-goog-api-key", KEY), WHOLE, b"data: " + WHOLE + b"\n\n"
)


@pytest.fixture
def api() -> Api:
    """What the shared tests send."""
    return API


async def test_ids_that_come_twice_are_made_unique() -> None:
    """A result is paired by its call's id."""
    parts = [{"functionCall": {"name": "f", "id": given}} for given in ("x_2", "x", "x")]
    reply: dict[str, Any] = {"candidates": [{"content": {"parts": parts}, "finishReason": "STOP"}]}
    made = await ask(provider(respond(OddBody([json.dumps(reply).encode()])), API.uri), False)
    assert [call.id for call in made.message.tool_calls] == ["x_2", "x", "x_3"]
    reply["candidates"][0]["content"] = {"parts": parts * 43}
    with pytest.raises(MalformedReply, match="more than 128 calls"):
        await ask(provider(respond(OddBody([json.dumps(reply).encode()])), API.uri), False)
