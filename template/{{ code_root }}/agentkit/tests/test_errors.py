"""The error tree, and what statuses and stream errors mean."""

from __future__ import annotations

import re

import pytest

from .. import errors
from ..errors import (
    AgentError,
    AgentkitError,
    AuthenticationFailed,
    BadRequest,
    ConfigError,
    ConnectionFailed,
    ContextTooLong,
    FatalError,
    FetchError,
    LlmError,
    MalformedReply,
    Overloaded,
    QuotaExhausted,
    RateLimited,
    StoreConflict,
    ToolError,
    TransientError,
    UnknownModel,
    error_class,
    stream_error_class,
)
from ..messages import Message, Usage


@pytest.mark.parametrize(
    ("parent", "children"),
    [
        (AgentkitError, [ConfigError, ToolError, AgentError, StoreConflict, FetchError, LlmError]),
        (LlmError, [TransientError, FatalError]),
        (TransientError, [RateLimited, Overloaded, ConnectionFailed, MalformedReply]),
        (FatalError, [AuthenticationFailed, QuotaExhausted, UnknownModel, BadRequest]),
        (BadRequest, [ContextTooLong]),
    ],
)
def test_each_error_hangs_where_the_tree_says(
    parent: type[Exception], children: list[type[Exception]]
) -> None:
    """Whoever catches a branch catches its leaves."""
    assert all(child.__base__ is parent for child in children)


def test_the_drawing_of_the_tree_is_complete() -> None:
    """Every public error of the module stands in its docstring."""
    drawn = set(re.findall(r"[A-Z]\w+", str(errors.__doc__)))
    public = {
        name
        for name, value in vars(errors).items()
        if isinstance(value, type) and issubclass(value, AgentkitError)
    }
    assert public <= drawn


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, BadRequest),
        (401, AuthenticationFailed),
        (402, QuotaExhausted),
        (403, AuthenticationFailed),
        (404, UnknownModel),
        (405, BadRequest),
        (408, Overloaded),
        (409, Overloaded),
        (413, BadRequest),
        (422, BadRequest),
        (425, Overloaded),
        (429, RateLimited),
        (500, Overloaded),
        (502, Overloaded),
        (503, Overloaded),
        (504, Overloaded),
        (529, Overloaded),
    ],
)
def test_the_status_decides(status: int, error: type[LlmError]) -> None:
    """Without a telling text each status has one meaning."""
    assert error_class(status, "") is error


@pytest.mark.parametrize("status", [400, 413, 422])
@pytest.mark.parametrize(
    "text",
    [
        "This model's maximum context length is 8192 tokens",
        '{"error":{"code":"context_length_exceeded"}}',
        "prompt is too long: 210000 tokens > 200000 maximum",
        "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000",
        "The input token count (1200000) exceeds the maximum number of tokens allowed",
        "Input is too long for requested model.",
        "the request exceeds the available context size (4096 tokens)",
        "Please reduce the length of the messages",
    ],
)
def test_a_refusal_may_mean_that_the_context_is_too_long(status: int, text: str) -> None:
    """Providers say it in many ways, all with a status of the request's own fault."""
    assert error_class(status, text) is ContextTooLong


@pytest.mark.parametrize(
    ("status", "text"),
    [
        (429, "insufficient_quota"),
        (429, "Your credit balance is too low"),
        (429, "check your billing details"),
        (429, '{"details":{"error_code":"enforced_spend_limit_reached"}}'),
        (400, "Your credit balance is too low to access the API"),
        (400, "You have reached your specified API usage limits"),
    ],
)
def test_a_refusal_may_mean_that_there_is_no_credit(status: int, text: str) -> None:
    """An empty account answers 429 or 400 too, and waiting does not fill it."""
    assert error_class(status, text) is QuotaExhausted


@pytest.mark.parametrize(
    "text",
    [
        '{"error":{"message":"The requested model \'x\' does not exist","code":"model_not_found"}}',
        "Model Not Exist",
        "openai/x is not a valid model ID",
    ],
)
def test_a_refusal_may_mean_that_there_is_no_such_model(text: str) -> None:
    """Not every provider answers 404."""
    assert error_class(400, text) is UnknownModel


@pytest.mark.parametrize(
    ("status", "text", "error"),
    [
        (500, "maximum context length", Overloaded),
        (401, "insufficient_quota", AuthenticationFailed),
        (400, "billing", BadRequest),
        (404, "rate limit", UnknownModel),
        (429, "overloaded", RateLimited),
    ],
)
def test_a_text_never_overrules_a_status(status: int, text: str, error: type[LlmError]) -> None:
    """The text only tells kinds of 400, 413, 422 and 429 apart."""
    assert error_class(status, text) is error


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("insufficient_quota", QuotaExhausted),
        ("context_length_exceeded", ContextTooLong),
        ("Rate limit reached", RateLimited),
        ("RESOURCE_EXHAUSTED", RateLimited),
        ("overloaded_error", Overloaded),
        ("The server had an internal error", Overloaded),
        ("something else", MalformedReply),
        ("", MalformedReply),
    ],
)
def test_an_error_inside_a_stream_is_told_by_its_text(text: str, error: type[LlmError]) -> None:
    """Its status was 200, so only the text is left."""
    assert stream_error_class(text) is error


def test_a_model_error_starts_without_expense() -> None:
    """Status and hint are given; attempts, usage, cost and messages are filled in later."""
    error = RateLimited("too fast", status=429, retry_after=7.0)
    assert (str(error), error.status, error.retry_after) == ("too fast", 429, 7.0)
    assert (error.attempts, error.usage, error.cost, error.messages) == (1, Usage(), 0.0, [])


def test_errors_do_not_share_their_messages() -> None:
    """What one error collects is not seen in another."""
    first, second = Overloaded("a"), Overloaded("b")
    first.messages.append(Message.user("hi"))
    assert second.messages == []


def test_an_agent_error_carries_its_result() -> None:
    """The result says how the run ended."""
    result = object()
    assert AgentError("refused", result).result is result


def test_a_fetch_error_carries_its_status() -> None:
    """The status is None where there was no response."""
    assert (FetchError("gone", 410).status, FetchError("no route").status) == (410, None)
