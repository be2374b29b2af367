"""What the Messages adapter takes of a server, and what it gives away."""

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

TEXT = {"type": "text", "text": "hi"}
MESSAGE: dict[str, Any] = {"type": "message", "content": [TEXT], "stop_reason": "end_turn"}
WHOLE = json.dumps(MESSAGE).encode()
EVENTS = b"".join(
    b"data: " + json.dumps(event).encode() + b"\n\n"
    for event in (
        {"type": "message_start", "message": {**MESSAGE, "content": []}},
        {"type": "content_block_start", "index": 0, "content_block": TEXT},
        {"type": "message_stop"},
    )
)
KEY = "sk-ant-test-0123456789"
API = Api("anthropic/claude-sonnet-5-5", KEY, ("authorization", f"Bearer {KEY}"), WHOLE, EVENTS)


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
    call = {"type": "tool_use", "name": "f", "input": {}}
    content = [{**call, "id": given} for given in ("x_2", "x", "x")]
    body = OddBody([json.dumps({**MESSAGE, "content": content}).encode()])
    reply = await ask(provider(respond(body), API.uri), False)
    assert [made.id for made in reply.message.tool_calls] == ["x_2", "x", "x_3"]
    body = OddBody([json.dumps({**MESSAGE, "content": content * 43}).encode()])
    with pytest.raises(MalformedReply, match="more than 128 calls"):
        await ask(provider(respond(body), API.uri), False)
