"""Replies of the Responses API, whole and streamed: every shape becomes a value or one error."""

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
from ....messages import Reply, Text, Thinking, ToolCall, Usage

MESSAGE = {"type": "message", "content": [{"type": "output_text", "text": "Hi"}]}
CALL = {"type": "function_call", "call_id": "c1", "name": "f", "arguments": '{"a":1}'}
DEEP = b"[" * 100_000


def parser() -> ReplyParser:
    """Return a parser of a reply that has not begun."""
    return ReplyParser("openai", "d", "m")


def reply(*output: Any, **more: Any) -> Reply:
    """Return the reply of a response with these output items."""
    body = {"status": "completed", "output": list(output), **more}
    return parser().take(json.dumps(body).encode())


def incomplete(reason: str, *output: Any) -> Reply:
    """Return the reply of a response that ended early."""
    return reply(*output, status="incomplete", incomplete_details={"reason": reason})


def broken(body: bytes, *, streaming: bool = False) -> LlmError:
    """Return the error that a body, or an event, under status 200 is."""
    with pytest.raises(LlmError) as caught:
        parser().feed(body) if streaming else parser().take(body)
    assert "\n" not in str(caught.value)
    assert caught.value.__context__ is None
    return caught.value


def test_items_become_parts_in_their_order() -> None:
    """Reasoning, text and calls; items of other kinds are none of ours."""
    thought = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "g"}
    parts = reply(thought, MESSAGE, {"type": "web_search_call"}, CALL).message.parts
    assert parts == (Thinking("", {"d": thought}), Text("Hi"), ToolCall("c1", "f", {"a": 1}))


def test_shown_reasoning_is_readable() -> None:
    """Summaries, or what open models thought in full."""
    summary = [{"type": "summary_text", "text": "One."}, {"type": "summary_text", "text": "Two."}]
    content = [{"type": "reasoning_text", "text": "Three."}]
    item = {"type": "reasoning", "id": "rs_1", "summary": summary, "content": content}
    (thinking,) = reply(item).message.parts
    assert thinking == Thinking("One.\n\nTwo.\n\nThree.", {"d": item})


def test_reasoning_without_its_content_is_not_kept_for_sending() -> None:
    """The server stored nothing, so an id alone would be refused."""
    item = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": None}
    assert reply(item, MESSAGE).message.parts == (Thinking(""), Text("Hi"))


def test_only_what_may_be_sent_back_is_kept() -> None:
    """The API knows no status of reasoning in its input."""
    item = {"type": "reasoning", "id": "rs_1", "encrypted_content": "g", "status": None}
    (thinking, _) = reply(item, MESSAGE).message.parts
    assert isinstance(thinking, Thinking)
    assert thinking.replay == {
        "d": {"summary": [], "type": "reasoning", "id": "rs_1", "encrypted_content": "g"}
    }


def test_the_phase_of_a_text_is_kept() -> None:
    """It belongs to the text and goes back with it."""
    assert reply({**MESSAGE, "phase": "final_answer"}).message.parts == (
        Text("Hi", {"d": {"phase": "final_answer"}}),
    )


@pytest.mark.parametrize("raw", ["", "null", "{}"])
def test_a_call_without_arguments_has_none(raw: str) -> None:
    """However the model says it."""
    (call,) = reply({**CALL, "arguments": raw}).message.tool_calls
    assert (call.arguments, call.malformed) == ({}, None)


@pytest.mark.parametrize("raw", ["[1]", '{"q": "a', "NaN"])
def test_broken_arguments_are_kept_as_they_came(raw: str) -> None:
    """The model is told, and the loop goes on."""
    (call,) = reply({**CALL, "arguments": raw}).message.tool_calls
    assert (call.arguments, call.malformed) == ({}, raw)


def test_calls_with_one_id_are_told_apart() -> None:
    """Each needs a result of its own, whatever a server calls them."""
    ids = [c.id for c in reply(CALL, CALL, {**CALL, "call_id": None}).message.tool_calls]
    assert ids == ["c1", "c1_1", "call_2"]


def test_tokens_are_counted_the_same_way_as_everywhere() -> None:
    """Input includes what was cached, output includes reasoning."""
    usage = {
        "input_tokens": 100,
        "input_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 30},
        "output_tokens": 50,
        "output_tokens_details": {"reasoning_tokens": 40},
    }
    assert reply(MESSAGE, usage=usage).usage == Usage(100, 50, 60, 30, 40)


@pytest.mark.parametrize("usage", [None, {}, {"input_tokens": None, "input_tokens_details": None}])
def test_missing_usage_counts_nothing(usage: Any) -> None:
    """The answer is still one."""
    assert reply(MESSAGE, usage=usage).usage == Usage()


def test_the_model_that_answered_is_told() -> None:
    """As the server names it, else as it was asked for."""
    assert (reply(MESSAGE).model, reply(MESSAGE, model="m-2026").model) == ("m", "m-2026")


def test_a_refusal_is_an_outcome_with_its_reason() -> None:
    """What the model would not do is no text of an answer."""
    content = [{"type": "refusal", "refusal": "I will not."}]
    refused = reply({"type": "message", "content": content})
    assert (refused.finish_reason, refused.detail, refused.message.text) == (
        "refused",
        "I will not.",
        "",
    )


def test_a_reply_that_ended_early_says_why() -> None:
    """Cut off by its length, or blocked by a filter."""
    cut = incomplete("max_output_tokens", MESSAGE)
    blocked = incomplete("content_filter")
    assert (cut.finish_reason, cut.message.text, cut.detail) == ("length", "Hi", "")
    assert (blocked.finish_reason, blocked.detail) == ("blocked", "content_filter")


@pytest.mark.parametrize("text", ["", " \n"])
def test_a_reply_that_says_nothing_is_empty(text: str) -> None:
    """Reasoning alone is no answer either."""
    said = {"type": "message", "content": [{"type": "output_text", "text": text}]}
    assert reply(said).finish_reason == "empty"
    assert reply().finish_reason == "empty"


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
    made = parser()
    with pytest.raises(LlmError) as caught:
        if where == "body":
            made.take(json.dumps(failed).encode())
        elif where == "event":
            made.feed(json.dumps({"type": "error", "error": error}).encode())
        else:
            made.feed(json.dumps({"type": "response.failed", "response": failed}).encode())
            made.reply()
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
