"""What the Responses adapter takes of a server, and what it gives away."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ....errors import MalformedReply
from ....llm.events import TextDelta
from ....llm.provider import Request
from ....messages import Reply
from ...odd_bodies import OddBody, respond
from .sdk_limits import *  # noqa: F403
from .sdk_limits import HELLO, Api, ask, provider

SAID: dict[str, Any] = {"type": "message", "content": [{"type": "output_text", "text": "hi"}]}
RESPONSE: dict[str, Any] = {"status": "completed", "output": [SAID]}
WHOLE = json.dumps(RESPONSE).encode()
EVENT = json.dumps({"type": "response.completed", "response": RESPONSE}).encode()
KEY = "sk-test-0123456789"
API = Api(
    "responses://openai/gpt-5-mini",
    KEY,
    ("authorization", f"Bearer {KEY}"),
    WHOLE,
    b"data: " + EVENT + b"\n\n",
)


@pytest.fixture
def api() -> Api:
    """What the shared tests send."""
    return API


async def test_a_reply_that_is_no_stream_is_understood() -> None:
    """Some servers know none; its text comes as one delta."""
    made = provider(respond(OddBody([WHOLE])), API.uri)
    delta, reply = [event async for event in made.stream(Request(HELLO))]
    assert delta == TextDelta("hi")
    assert isinstance(reply, Reply)


async def test_ids_that_come_twice_are_made_unique() -> None:
    """A result is paired by its call's id."""
    call = {"type": "function_call", "name": "f", "arguments": "{}"}
    output = [{**call, "call_id": given} for given in ("x_2", "x", "x")]
    body = OddBody([json.dumps({"status": "completed", "output": output}).encode()])
    reply = await ask(provider(respond(body), API.uri), False)
    assert [made.id for made in reply.message.tool_calls] == ["x_2", "x", "x_3"]
    body = OddBody([json.dumps({"status": "completed", "output": output * 43}).encode()])
    with pytest.raises(MalformedReply, match="more than 128 calls"):
        await ask(provider(respond(body), API.uri), False)
