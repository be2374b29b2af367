"""What servers send instead of a reply of the Responses API: every shape becomes one error."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ....errors import (
    BadRequest,
    ContextTooLong,
    LlmError,
    MalformedReply,
    Overloaded,
    QuotaExhausted,
    RateLimited,
)
from ....llm.providers.openai_reply import ReplyParser
from ....messages import Reply

MESSAGE = {"type": "message", "content": [{"type": "output_text", "text": "Hi"}]}
CALL = {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"}
DEEP = b"[" * 100_000


def parser() -> ReplyParser:
    """Return a parser of a reply that has not begun."""
    return ReplyParser("openai", "d", "m")


def finish(body: bytes, *, streaming: bool) -> Reply:
    """Return the reply in a body, or in a stream of one event."""
    made = parser()
    if not streaming:
        return made.take(body)
    made.feed(body)
    return made.reply()


def broken(body: bytes, *, streaming: bool = False) -> LlmError:
    """Return the error that a body, or an event, under status 200 is."""
    with pytest.raises(LlmError) as caught:
        finish(body, streaming=streaming)
    assert "\n" not in str(caught.value)
    assert caught.value.__context__ is None
    return caught.value


@pytest.mark.parametrize(
    "body", [b"", b" ", b"null", b"{", b"<html>\n</html>", b"\xff\xfe", DEEP, b'{"a":' * 100_000]
)
def test_a_body_that_is_no_json_is_malformed(body: bytes) -> None:
    """The error shows how the body starts."""
    error = broken(body)
    assert type(error) is MalformedReply
    assert "no JSON" in str(error)


@pytest.mark.parametrize(
    "body",
    [
        [],
        7,
        "text",
        {"output": 7},
        {"output": [7]},
        {"output": [{}]},
        {"output": [{"type": "message"}]},
        {"output": [{"type": "message", "content": [7]}]},
        {"output": [{"type": "function_call", "call_id": "c"}]},
        {"output": [{**CALL, "arguments": 7}]},
        {"output": [{"type": "reasoning", "summary": 7}]},
        {"output": [MESSAGE], "usage": [1]},
        {"output": [MESSAGE], "usage": {"input_tokens": "many"}},
        {"output": [MESSAGE], "status": "incomplete", "incomplete_details": 7},
    ],
)
def test_json_of_another_shape_is_malformed(body: Any) -> None:
    """No TypeError or KeyError reaches the caller."""
    error = broken(json.dumps(body).encode())
    assert type(error) is MalformedReply
    assert "unknown shape" in str(error)


def test_a_body_without_output_is_an_empty_response() -> None:
    """There is nothing in it to be taken for an answer."""
    assert "empty response" in str(broken(b"{}"))


@pytest.mark.parametrize("status", ["in_progress", "queued", "cancelled", "failed"])
def test_a_response_that_did_not_end_is_tried_again(status: str) -> None:
    """What came so far is no answer, whatever it says."""
    body = {"status": status, "output": [MESSAGE]}
    assert type(broken(json.dumps(body).encode())) is Overloaded


@pytest.mark.parametrize("event", [b"{", b"{\xff}", b"7", b'{"a":' * 100_000])
def test_broken_json_in_a_stream_is_malformed(event: bytes) -> None:
    """One broken event makes the reply worthless."""
    assert "broken JSON" in str(broken(event, streaming=True))


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"code": "server_error", "message": "The server had an error"}, Overloaded),
        ({"code": "rate_limit_exceeded", "message": "Slow down"}, RateLimited),
        ({"code": "insufficient_quota", "message": "no credit"}, QuotaExhausted),
        ({"code": "context_length_exceeded", "message": "too long"}, ContextTooLong),
        ({"type": "invalid_request_error", "message": "context window exceeded"}, ContextTooLong),
        ({"code": "invalid_prompt", "message": "flagged"}, BadRequest),
        ({"code": "image_too_large", "message": "too large"}, BadRequest),
        ({"code": None, "type": "invalid_request_error", "message": "no"}, BadRequest),
        ({"code": None, "message": "odd"}, MalformedReply),
        ("something broke", MalformedReply),
    ],
)
@pytest.mark.parametrize("where", ["body", "failed", "event"])
def test_an_error_under_status_200_is_told_apart(error: Any, kind: type, where: str) -> None:
    """In a body, in the failed response that ends a stream, or in an event of its own."""
    failed = {"status": "failed", "error": error}
    data = {
        "body": failed,
        "failed": {"type": "response.failed", "response": failed},
        "event": {"type": "error", "error": error},
    }
    with pytest.raises(LlmError) as caught:
        finish(json.dumps(data[where]).encode(), streaming=where != "body")
    assert type(caught.value) is kind
    assert caught.value.status == 200
    assert str(caught.value).startswith("openai failed: ")


def test_an_error_event_may_hold_its_fields_itself() -> None:
    """The documented shape; others wrap them in `error`."""
    event = {"type": "error", "code": "rate_limit_exceeded", "message": "Slow down", "param": None}
    error = broken(json.dumps(event).encode(), streaming=True)
    assert type(error) is RateLimited
    assert str(error) == "openai failed: Slow down"


@pytest.mark.parametrize("events", [[], [b"[DONE]"]])
def test_a_stream_of_nothing_is_an_empty_response(events: list[bytes]) -> None:
    """Zero events are no answer."""
    made = parser()
    assert [made.feed(event) for event in events] == [None] * len(events)
    with pytest.raises(MalformedReply, match="empty response"):
        made.reply()


def test_a_stream_without_its_end_broke_off() -> None:
    """Text that came is no whole answer."""
    made = parser()
    made.feed(b'{"type":"response.output_text.delta","delta":"Hel"}')
    with pytest.raises(MalformedReply, match="broke off"):
        made.reply()
