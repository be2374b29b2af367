"""Replies are put together right, whole or streamed; what is no reply becomes the right error."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from ....errors import MalformedReply
from ....llm.events import TextDelta, ThinkingDelta
from ....llm.providers.chat_reply import ReplyParser, reply_of
from ....messages import Reply, Text, Thinking, ToolCall, Usage
from ....session.seal import is_empty

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


def test_the_parts_of_a_reply_keep_their_order() -> None:
    """Thinking, text, calls: and the opaque part of the thinking stays with it."""
    call = piece(0, "t1", "f", "{}")
    reply = whole({"content": "Hi", "reasoning_content": "hm", "tool_calls": [call]})
    assert reply.message.parts == (
        Thinking("hm", {"openai": {"reasoning_content": "hm"}}),
        Text("Hi"),
        ToolCall("t1", "f", {}),
    )


def test_streamed_reasoning_becomes_one_part() -> None:
    """Pieces of reasoning and of what must be sent back grow together."""
    reply = streamed({"reasoning_content": "h"}, {"reasoning_content": "m"}, {"content": "Hi"})
    thinking = reply.message.parts[0]
    assert thinking == Thinking("hm", {"openai": {"reasoning_content": "hm"}})


def test_deltas_come_as_they_are_fed() -> None:
    """Text and shown reasoning are told at once; other events bring nothing."""
    made = parser()
    events: list[Json] = [
        {"role": "assistant", "content": ""},
        {"reasoning": "h"},
        {"content": "a"},
    ]
    lines = [json.dumps({"choices": [{"delta": delta}]}).encode() for delta in events]
    deltas = [made.feed(line) for line in (*lines, b"[DONE]", b"ping")]
    assert deltas == [None, ThinkingDelta("h"), TextDelta("a"), None, None]


def test_text_in_parts_is_joined() -> None:
    """Some servers answer in a list of parts."""
    parts = [{"type": "text", "text": "a"}, {"type": "other"}, {"type": "text", "text": "b"}]
    assert whole({"content": parts}).message.text == "ab"


def test_half_characters_are_mended() -> None:
    """A pair cut in two is whole in the reply, and no delta holds half a character."""
    made = parser()
    deltas = [
        made.feed(b'{"choices":[{"delta":{"content":"\\ud83d"}}]}'),
        made.feed(b'{"choices":[{"delta":{"content":"\\ude00"},"finish_reason":"stop"}]}'),
    ]
    assert made.reply().message.text == "😀"
    for delta in deltas:
        assert isinstance(delta, TextDelta)
        assert delta.text.encode()


@pytest.mark.parametrize("content", ["", None, [], " \n"])
@pytest.mark.parametrize("form", [whole, streamed])
def test_nothing_said_is_an_empty_reply(form: Any, content: Any) -> None:
    """An empty normal stop is a valid reply, without an empty part in it."""
    reply = form({"content": content})
    assert reply.finish_reason == "empty"
    assert is_empty(reply.message)


@pytest.mark.parametrize(
    ("given", "reason"),
    [("stop", "stop"), ("tool_calls", "stop"), ("length", "length"), ("content_filter", "blocked")],
)
@pytest.mark.parametrize("form", [whole, streamed])
def test_finish_reasons_are_translated(form: Any, given: str, reason: str) -> None:
    """Providers' words become ours."""
    assert form({"content": "Hi"}, finish_reason=given).finish_reason == reason


@pytest.mark.parametrize("form", [whole, streamed])
def test_a_refusal_is_a_reply_with_its_reason(form: Any) -> None:
    """It is no error and no text; `detail` says why."""
    reply = form({"content": None, "refusal": "I will not"})
    assert (reply.finish_reason, reply.detail, reply.message.text) == ("refused", "I will not", "")


@pytest.mark.parametrize("form", [whole, streamed])
def test_usage_is_normalised(form: Any) -> None:
    """Input includes what was cached, output includes reasoning."""
    usage = {
        "prompt_tokens": 100,
        "completion_tokens": 30,
        "prompt_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 5},
        "completion_tokens_details": {"reasoning_tokens": 20},
    }
    assert form({"content": "Hi"}, usage=usage).usage == Usage(100, 30, 60, 5, 20)


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        (None, Usage()),
        ({}, Usage()),
        ({"prompt_tokens": 7, "completion_tokens": None}, Usage(7)),
        ({"prompt_tokens": 7, "prompt_tokens_details": None}, Usage(7)),
        ({"prompt_tokens": 7, "prompt_cache_hit_tokens": 3}, Usage(7, 0, 3)),
        ({"prompt_tokens": "7", "completion_tokens": 2.0}, Usage(7, 2)),
        ({"prompt_tokens": -1, "completion_tokens": 2}, Usage(0, 2)),
    ],
)
def test_incomplete_usage_is_no_failure(usage: Any, expected: Usage) -> None:
    """What is missing counts as nothing; DeepSeek has a name of its own for cached tokens."""
    assert whole({"content": "Hi"}, usage=usage).usage == expected


def test_the_model_that_answered_is_named() -> None:
    """The server says which version it was; else it is the one that was asked."""
    assert whole({"content": "Hi"}).model == "m-2026"
    assert streamed({"content": "Hi"}).model == "m"


def test_a_whole_reply_needs_no_finish_reason() -> None:
    """A body that parses is complete."""
    assert whole({"content": "Hi"}, None).finish_reason == "stop"


@pytest.mark.parametrize("ending", [b"[DONE]", b'{"choices":[{"finish_reason":"stop"}]}'])
def test_a_stream_is_complete_with_either_ending(ending: bytes) -> None:
    """Some servers leave out one of the two."""
    made = parser()
    made.feed(b'{"choices":[{"delta":{"content":"Hi"}}]}')
    made.feed(ending)
    assert made.reply().message.text == "Hi"


def test_a_stream_without_an_ending_broke_off() -> None:
    """Half an answer must not pass for a whole one."""
    made = parser()
    made.feed(b'{"choices":[{"delta":{"content":"Hel"}}]}')
    with pytest.raises(MalformedReply, match="broke off"):
        made.reply()


@pytest.mark.parametrize("events", [[], [b"[DONE]"], [b'{"choices":[],"usage":{}}']])
def test_a_stream_of_nothing_is_an_empty_response(events: Sequence[bytes]) -> None:
    """Zero chunks are an error that is tried again."""
    made = parser()
    for event in events:
        made.feed(event)
    with pytest.raises(MalformedReply, match="empty response"):
        made.reply()
