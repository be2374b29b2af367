"""Replies of the Messages API that are not what they should be, and what becomes of them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ....errors import LlmError, MalformedReply, Overloaded, RateLimited
from ....llm.providers.anthropic_reply import StreamParser, read_message, reply_of
from ....messages import Text, Thinking, ToolCall, Usage

START = {"type": "message_start", "message": {"model": "m"}}
STOP = {"type": "message_stop"}
TEXT = {"type": "text", "text": "hi"}


def begin(block: Any, index: Any = 0) -> dict[str, Any]:
    """Return the event that begins a block."""
    return {"type": "content_block_start", "index": index, "content_block": block}


def piece(delta: Any, index: Any = 0) -> dict[str, Any]:
    """Return the event that brings a piece of a block."""
    return {"type": "content_block_delta", "index": index, "delta": delta}


def parsed(*events: Any) -> dict[str, Any]:
    """Return the message that a stream of these events is."""
    parser = StreamParser()
    for event in events:
        parser.feed(json.dumps(event).encode())
    return parser.message()


def broken(make: Any, *arguments: Any) -> LlmError:
    """Return the error that something leads to; nothing may stand behind it."""
    with pytest.raises(LlmError) as caught:
        make(*arguments)
    assert caught.value.__context__ is None
    assert "\n" not in str(caught.value)
    return caught.value


@pytest.mark.parametrize(
    "body", [b"", b" ", b"null", b"{", b"<html>\n<h1>Bad</h1>", b"\xff", b"[" * 100_000]
)
def test_a_body_that_is_no_json_is_malformed(body: bytes) -> None:
    """The error shows how the body starts."""
    error = broken(read_message, body)
    assert type(error) is MalformedReply
    assert "no JSON" in str(error)


@pytest.mark.parametrize(
    "message",
    [
        {},
        {"content": None},
        {"content": 7},
        {"content": "text"},
        {"content": [7]},
        {"content": [{}]},
        {"content": [{"type": "text"}]},
        {"content": [{"type": "text", "text": 7}]},
        {"content": [{"type": "tool_use", "name": "f"}]},
        {"content": [{"type": "thinking", "thinking": 7}]},
        {"content": [TEXT], "usage": [1]},
        {"content": [TEXT], "usage": {"input_tokens": "many"}},
        {"content": [TEXT], "stop_reason": ["end_turn"]},
        {"content": [TEXT], "stop_details": "because"},
    ],
)
def test_json_of_another_shape_is_malformed(message: Any) -> None:
    """No TypeError or KeyError reaches the caller."""
    error = broken(reply_of, [read_message(json.dumps(message).encode())], "m")
    assert type(error) is MalformedReply
    assert "unknown shape" in str(error)


@pytest.mark.parametrize("body", [b"[]", b"7", b'"text"'])
def test_json_that_is_no_object_is_malformed(body: bytes) -> None:
    """A reply is an object."""
    assert type(broken(read_message, body)) is MalformedReply


@pytest.mark.parametrize(
    "events",
    [
        [7],
        [[]],
        [{"no": "type"}],
        [{"type": "message_start"}],
        [START, {"type": "content_block_start"}],
        [START, begin(7)],
        [START, begin(TEXT, [])],
        [START, piece({"type": "text_delta", "text": "lost"})],
        [START, begin(TEXT), piece({"type": "text_delta", "text": 7})],
        [START, begin(TEXT), piece({"type": "input_json_delta", "partial_json": 7}), STOP],
        [START, begin(TEXT), begin(TEXT, "one"), STOP],
        [START, {"type": "message_delta", "delta": 7}],
        [START, {"type": "message_delta", "delta": {}, "usage": 7}],
    ],
)
def test_events_of_another_shape_are_malformed(events: list[Any]) -> None:
    """Nor does a stream bring anything but our own error."""
    error = broken(parsed, *events)
    assert type(error) is MalformedReply
    assert "unknown shape" in str(error)


@pytest.mark.parametrize(
    ("events", "problem"),
    [
        ([], "empty response"),
        ([{"type": "ping"}, {"type": "something_new"}], "empty response"),
        ([START, begin(TEXT)], "broke off"),
        ([START], "broke off"),
    ],
)
def test_a_stream_without_an_end_is_malformed(events: list[Any], problem: str) -> None:
    """Nothing came, or not all of it."""
    error = broken(parsed, *events)
    assert type(error) is MalformedReply
    assert problem in str(error)


@pytest.mark.parametrize("kind", ["error", None])
@pytest.mark.parametrize(
    ("error", "expected"),
    [
        ({"type": "overloaded_error", "message": "Overloaded"}, Overloaded),
        ({"type": "api_error", "message": "Internal server error"}, Overloaded),
        ({"type": "timeout_error", "message": "timeout"}, Overloaded),
        ({"type": "rate_limit_error", "message": "slow down"}, RateLimited),
        ({"type": "odd", "message": "odd"}, MalformedReply),
        ("odd", MalformedReply),
    ],
)
def test_an_error_under_status_200_is_told_apart(kind: Any, error: Any, expected: type) -> None:
    """In a stream or a whole body, in the API's shape or nearly so."""
    data = {"type": kind, "error": error}
    for raised in (broken(parsed, START, data), broken(read_message, json.dumps(data).encode())):
        assert type(raised) is expected
        assert raised.status == 200
        assert str(raised).startswith("anthropic failed: ")


def test_a_block_is_put_together_from_its_pieces() -> None:
    """Pieces of several blocks may come in turns, and blocks in any order."""
    message = parsed(
        START,
        begin({"type": "tool_use", "id": "t", "name": "f", "input": {}}, 1),
        begin({"type": "thinking", "thinking": "", "signature": ""}, 0),
        piece({"type": "thinking_delta", "thinking": "h"}, 0),
        piece({"type": "input_json_delta", "partial_json": '{"a":'}, 1),
        piece({"type": "thinking_delta", "thinking": "m"}, 0),
        piece({"type": "signature_delta", "signature": "c2ln"}, 0),
        piece({"type": "input_json_delta", "partial_json": "1}"}, 1),
        piece({"type": "something_new"}, 1),
        STOP,
    )
    thinking = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
    assert reply_of([message], "m").message.parts == (
        Thinking("hm", {"anthropic": thinking}),
        ToolCall("t", "f", {"a": 1}),
    )


def test_thinking_without_a_signature_is_not_kept_for_sending() -> None:
    """Servers that only look like the API sign nothing, and the API refuses what is unsigned."""
    block = {"type": "thinking", "thinking": "hm", "signature": ""}
    reply = reply_of([{"content": [block, TEXT]}], "m")
    assert reply.message.parts == (Thinking("hm"), Text("hi"))


def test_what_is_unknown_is_kept_whole() -> None:
    """A block of a new kind goes back as it came."""
    block = {"type": "something_new", "data": {"a": [1]}}
    reply = reply_of([{"content": [block]}], "m")
    assert reply.message.parts == (Thinking("", {"anthropic": block}),)
    assert reply.finish_reason == "empty"


def test_counts_of_a_stream_are_those_of_its_end() -> None:
    """Later counts replace earlier ones; those that are missing do not."""
    start = {"type": "message_start", "message": {"usage": {"input_tokens": 9, "output_tokens": 1}}}
    end = {"type": "message_delta", "delta": {}, "usage": {"input_tokens": None}}
    end["usage"] |= {"output_tokens": 20, "output_tokens_details": {"thinking_tokens": 12}}  # type: ignore[operator]
    assert reply_of([parsed(start, end, STOP)], "m").usage == Usage(9, 20, 0, 0, 12)
