"""What servers send instead of a reply: every shape becomes one error in one line."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ....errors import (
    AuthenticationFailed,
    BadRequest,
    ContextTooLong,
    LlmError,
    MalformedReply,
    Overloaded,
    QuotaExhausted,
    RateLimited,
)
from ....llm.providers.chat_reply import ReplyParser, reply_of
from ....llm.providers.failures import failure

DEEP = b"[" * 100_000


def take(event: bytes) -> object:
    """Feed one event of a stream."""
    return ReplyParser("openai", (), "m").feed(event)


def broken(body: bytes, *, streaming: bool = False) -> LlmError:
    """Return the error that a body, or an event, under status 200 is."""
    with pytest.raises(LlmError) as caught:
        ReplyParser("openai", (), "m").feed(body) if streaming else reply_of(
            body, "openai", (), "m"
        )
    assert "\n" not in str(caught.value)
    return caught.value


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b" ",
        b"null",
        b"{",
        b"<html><body>\n<h1>Bad Gateway</h1></body></html>",
        b"\xff\xfe",
        DEEP,
        b'{"a":' * 100_000,
    ],
)
def test_a_body_that_is_no_json_is_malformed(body: bytes) -> None:
    """The error shows how the body starts, and leaves no parser's error behind it."""
    error = broken(body)
    assert type(error) is MalformedReply
    assert "no JSON" in str(error)
    assert error.__context__ is None


@pytest.mark.parametrize(
    "body",
    [
        [],
        7,
        "text",
        {"choices": 7},
        {"choices": [7]},
        {"choices": {"a": 1}},
        {"choices": [{"message": 7}]},
        {"choices": [{"message": {"content": 7}}]},
        {"choices": [{"message": {"content": [7]}}]},
        {"choices": [{"message": {"content": [{"type": "text", "text": 7}]}}]},
        {"choices": [{"message": {"tool_calls": 7}}]},
        {"choices": [{"message": {"tool_calls": ["f"]}}]},
        {"choices": [{"message": {"tool_calls": [{"function": "f"}]}}]},
        {"choices": [{"message": {"refusal": 7}}]},
        {"choices": [{"message": {"content": "Hi"}, "finish_reason": ["stop"]}]},
        {"choices": [{"message": {"content": "Hi"}}], "usage": [1]},
        {"choices": [{"message": {"content": "Hi"}}], "usage": {"prompt_tokens": "many"}},
    ],
)
def test_json_of_another_shape_is_malformed(body: Any) -> None:
    """No TypeError or KeyError reaches the caller, nor stands behind the error."""
    error = broken(json.dumps(body).encode())
    assert type(error) is MalformedReply
    assert "unknown shape" in str(error)
    assert error.__context__ is None


def test_a_count_that_is_no_number_is_malformed() -> None:
    """JSON can hold numbers that no counter can."""
    body = b'{"choices":[{"message":{"content":"Hi"}}],"usage":{"prompt_tokens":1e999}}'
    assert "unknown shape" in str(broken(body))


@pytest.mark.parametrize("body", [{}, {"choices": []}, {"choices": None}, {"object": "list"}])
def test_a_body_without_choices_is_an_empty_response(body: Any) -> None:
    """There is nothing in it to be taken for an answer."""
    assert "empty response" in str(broken(json.dumps(body).encode()))


@pytest.mark.parametrize("event", [b"{", b'{"choices":[{"delta', b"{\xff}", b'{"a":' * 100_000])
def test_broken_json_in_a_stream_is_malformed(event: bytes) -> None:
    """One broken event makes the reply worthless."""
    with pytest.raises(MalformedReply, match="broken JSON") as caught:
        take(event)
    assert caught.value.__context__ is None


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"message": "Overloaded", "type": "overloaded_error"}, Overloaded),
        ({"message": "The server had an error", "type": "server_error"}, Overloaded),
        ({"message": "Rate limit reached", "type": "rate_limit_error"}, RateLimited),
        ({"message": "quota", "code": "insufficient_quota"}, QuotaExhausted),
        ({"message": "maximum context length is 8192 tokens"}, ContextTooLong),
        ({"message": "provider disconnected", "code": 502}, Overloaded),
        ({"message": "no luck", "code": 429}, RateLimited),
        ({"message": "bad key", "code": "401"}, AuthenticationFailed),
        ({"message": "max_tokens 1500 is fine", "code": None}, MalformedReply),
        ({"message": "step 500 of 502"}, MalformedReply),
        ("something broke", MalformedReply),
        (["odd"], MalformedReply),
    ],
)
@pytest.mark.parametrize("where", ["body", "choice", "stream"])
def test_an_error_under_status_200_is_told_apart(error: Any, kind: type, where: str) -> None:
    """By its code if it has one, else by its text, in a body, in a choice, or in a stream."""
    data: Any = {"error": error}
    if where == "choice":
        data = {"choices": [{"error": error, "finish_reason": "error"}]}
    raised = broken(json.dumps(data).encode(), streaming=where == "stream")
    assert type(raised) is kind
    assert raised.status == 200
    assert str(raised).startswith("openai failed: ")


@pytest.mark.parametrize("reason", ["error", "insufficient_system_resource"])
def test_a_provider_that_gave_up_is_overloaded(reason: str) -> None:
    """What came so far is no answer, whatever it says."""
    body = {"choices": [{"message": {"content": "Hel"}, "finish_reason": reason}]}
    assert type(broken(json.dumps(body).encode())) is Overloaded


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        (b'{"error":{"message":"No such\\nthing","param":null}}', "No such thing"),
        (b'{"error":{"message":"refused","param":"top_k"}}', "refused (parameter top_k)"),
        (b'{"error":"plain text"}', "plain text"),
        (b'{"message":"at the top"}', "at the top"),
        (b'{"detail":"elsewhere"}', "{'detail': 'elsewhere'}"),
        (b'["a list"]', "['a list']"),
        (b"Bad\n\nGateway", "Bad Gateway"),
        (b"", "no explanation"),
        (b"\xff", "\ufffd"),
        (DEEP, "[[[["),
    ],
)
def test_an_http_error_says_what_the_server_said(body: bytes, shown: str) -> None:
    """In one line, with the status and the parameter, whatever shape the body has."""
    error = failure("openai", 400, body, {})
    assert type(error) is BadRequest
    assert str(error).startswith(f"openai answered 400: {shown}")
    assert "\n" not in str(error)
    assert len(str(error)) < 500
