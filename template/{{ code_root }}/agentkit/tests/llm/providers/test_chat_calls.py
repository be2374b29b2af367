"""Tool calls are put together right, however a server numbers and cuts them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ....llm.providers.chat_reply import ReplyParser, reply_of
from ....messages import Reply

Json = dict[str, Any]


def whole(message: Json, finish_reason: Any = "stop", **more: Any) -> Reply:
    """Return the reply in a body with this message."""
    choice = {"index": 0, "message": message, "finish_reason": finish_reason}
    body = {"model": "m-2026", "choices": [choice], **more}
    return reply_of(json.dumps(body).encode(), "openai", ("reasoning_content",), "m")


def parser() -> ReplyParser:
    return ReplyParser("openai", ("reasoning_content",), "m")


def streamed(*deltas: Json, finish_reason: str | None = "stop", **more: Any) -> Reply:
    """Return the reply that streamed deltas make up."""
    made = parser()
    for delta in deltas:
        made.feed(json.dumps({"choices": [{"index": 0, "delta": delta}]}).encode())
    made.feed(json.dumps({"choices": [{"delta": {}, "finish_reason": finish_reason}]}).encode())
    if more:
        made.feed(json.dumps({"choices": [], **more}).encode())
    return made.reply()


def piece(index: int | None, call_id: str | None, name: str | None, arguments: Any) -> Json:
    """Return a piece of a call; what is None is not there."""
    function = {"name": name, "arguments": arguments}
    made = {"index": index, "id": call_id, "function": function}
    made["function"] = {key: value for key, value in function.items() if value is not None}
    return {key: value for key, value in made.items() if value is not None}


def called(reply: Reply) -> list[tuple[str, str, Json]]:
    return [(call.id, call.name, call.arguments) for call in reply.message.tool_calls]


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        (
            [
                piece(0, "t1", "f", ""),
                piece(0, None, None, '{"q":'),
                piece(0, None, None, '"x"}'),
                piece(None, "t2", "g", "{}"),
            ],
            [("t1", "f", {"q": "x"}), ("t2", "g", {})],
        ),
        (
            [
                piece(0, "t1", "f", '{"q":'),
                piece(1, "t2", "g", '{"r":'),
                piece(0, None, None, "1}"),
                piece(1, None, None, "2}"),
            ],
            [("t1", "f", {"q": 1}), ("t2", "g", {"r": 2})],
        ),
        (
            [
                piece(0, "t1", "f", '{"q":1'),
                piece(0, "t1", "f", "}"),
                piece(0, "t2", "g", '{"r":'),
                piece(0, None, None, "2}"),
            ],
            [("t1", "f", {"q": 1}), ("t2", "g", {"r": 2})],
        ),
        (
            [
                piece(None, "t1", "f", '{"q":'),
                piece(None, None, None, "1}"),
                piece(None, "t2", "f", "{}"),
            ],
            [("t1", "f", {"q": 1}), ("t2", "f", {})],
        ),
        (
            [piece(None, None, "f", '{"q":1}'), piece(None, None, "g", '{"r":2}')],
            [("call_0", "f", {"q": 1}), ("call_1", "g", {"r": 2})],
        ),
        (
            [piece(0, "same", "f", "{}"), piece(1, "same", "g", "{}")],
            [("same", "f", {}), ("same_1", "g", {})],
        ),
        ([piece(0, "t1", "f", {"q": 1})], [("t1", "f", {"q": 1})]),
        ([piece(0, "t1", "f", None)], [("t1", "f", {})]),
        ([piece(3, "t1", "f", "null")], [("t1", "f", {})]),
    ],
)
def test_streamed_calls_are_put_together(pieces: list[Json], expected: Any) -> None:
    """By index, by id, or one after the other: however a server numbers its pieces."""
    reply = streamed(*({"tool_calls": [part]} for part in pieces), finish_reason="tool_calls")
    assert called(reply) == expected
    assert reply.finish_reason == "stop"


def test_several_pieces_in_one_event_are_all_taken() -> None:
    """An event may begin one call and go on with it."""
    both = [piece(0, "t1", "f", ""), piece(0, None, None, "{}")]
    assert called(streamed({"tool_calls": both})) == [("t1", "f", {})]


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        (
            [piece(None, None, "f", '{"q":1}'), piece(None, None, "f", '{"q":2}')],
            [("call_0", "f", {"q": 1}), ("call_1", "f", {"q": 2})],
        ),
        (
            [piece(None, "c", "f", '{"q":1}'), piece(None, "c", "f", '{"q":2}')],
            [("c", "f", {"q": 1}), ("c_1", "f", {"q": 2})],
        ),
        (
            [piece(0, "a", "f", "{}"), piece(0, "b", "g", "{}")],
            [("a", "f", {}), ("b", "g", {})],
        ),
    ],
)
def test_calls_of_a_whole_reply_are_never_merged(calls: list[Json], expected: Any) -> None:
    """Each entry is a call of its own, also without ids; calls get ids that differ."""
    assert called(whole({"content": None, "tool_calls": calls}, "tool_calls")) == expected
