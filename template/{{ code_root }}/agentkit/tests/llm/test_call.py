"""One model call: corrections, their budget, and what is booked and told."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel

from ...errors import LlmError
from ...llm.events import Finished, Retrying, TextDelta
from ...messages import Message
from ..conftest import MODEL, MakeRequester
from ..fake_chat import (
    FakeChat,
    Rules,
    answer,
    calls,
    error_body,
    reset_before_headers,
    status,
    truncated,
)

HELLO = [Message.user("Give me a number")]
GOOD, BAD = '{"n": 7}', '{"n": "x"}'
STRICT = Rules(alternation=True)
GROQ = "groq/m?apiKey=gsk-0123456789"


class Number(BaseModel):
    """A schema with one field."""

    n: int


def sent(fake: FakeChat, number: int) -> list[dict[str, Any]]:
    """Return the messages of a request, counted from 0."""
    messages: list[dict[str, Any]] = fake.requests[number]["messages"]
    return messages


@pytest.mark.checklist("requester")
@pytest.mark.parametrize("deltas", [False, True])
async def test_a_wrong_answer_goes_back_with_what_is_wrong(
    deltas: bool, requester: MakeRequester
) -> None:
    """The next request holds the answer and the field's error; the run ends with the value."""
    with FakeChat([BAD, GOOD], rules=STRICT) as fake:
        stream = requester(fake).stream(HELLO, schema=Number, deltas=deltas)
        events = [event async for event in stream]
    assert isinstance(events[-1], Finished)
    assert events[-1].result.result == Number(n=7)
    question, said, told = sent(fake, 1)
    assert question == sent(fake, 0)[0]
    assert said == {"role": "assistant", "content": BAD}
    assert "n: Input should be a valid integer" in told["content"]


@pytest.mark.checklist("requester")
async def test_corrections_never_stay_in_the_history(requester: MakeRequester) -> None:
    """The conversation goes on as if the answer had been right at once."""
    with FakeChat([BAD, GOOD]) as fake:
        result = await requester(fake)(HELLO, schema=Number)
    assert result.new_messages == [Message.assistant(GOOD)]
    assert result.history == [*HELLO, Message.assistant(GOOD)]
    assert result.validation_error is None


async def test_only_the_last_mistake_is_sent(requester: MakeRequester) -> None:
    """Corrections do not pile up: a model learns little from its older mistakes."""
    with FakeChat(['{"n": "first"}', '{"n": "second"}', GOOD], rules=STRICT) as fake:
        await requester(fake)(HELLO, schema=Number)
    assert len(sent(fake, 2)) == 3
    assert "first" not in str(sent(fake, 2))


@pytest.mark.checklist("requester")
async def test_a_wrong_answer_given_as_a_call_is_corrected_by_its_result(
    requester: MakeRequester,
) -> None:
    """Where answers come as tool calls, a user turn after one would be refused."""
    replies = [calls(("answer_Number", {"n": "x"}), ids=["c1"]), calls(("answer_Number", {"n": 7}))]
    with FakeChat(replies, rules=STRICT) as fake:
        result = await requester(fake, GROQ)(HELLO, schema=Number)
    assert result.result == Number(n=7)
    assert sent(fake, 1)[2]["role"] == "tool"
    assert sent(fake, 1)[2]["tool_call_id"] == "c1"
    assert sent(fake, 1)[2]["content"].startswith("Error: ")
    assert result.history == [*HELLO, Message.assistant('{"n":7}')]


@pytest.mark.parametrize("content", ["", None, []])
@pytest.mark.parametrize("deltas", [False, True])
async def test_an_empty_answer_is_asked_for_again(
    content: Any, deltas: bool, requester: MakeRequester
) -> None:
    """No empty turn is sent or stored; the nudge is part of the user's turn."""
    with FakeChat([answer(content), GOOD], rules=STRICT) as fake:
        llm = requester(fake)
        events = [event async for event in llm.stream(HELLO, schema=Number, deltas=deltas)]
    assert isinstance(events[-1], Finished)
    assert events[-1].result.history == [*HELLO, Message.assistant(GOOD)]
    [only] = sent(fake, 1)
    assert "the answer was empty" in str(only["content"])


@pytest.mark.parametrize("content", ["", None, []])
async def test_an_empty_answer_is_fine_without_a_schema(
    content: Any, requester: MakeRequester
) -> None:
    """It is a result, not a failure, and leaves no empty turn behind."""
    with FakeChat([answer(content)]) as fake:
        result = await requester(fake)(HELLO)
    assert (result.text, result.finish_reason) == ("", "empty")
    assert result.history == HELLO
    assert result.new_messages == []


@pytest.mark.checklist("requester")
async def test_an_answer_that_never_fits_is_returned(requester: MakeRequester) -> None:
    """After the last attempt the caller gets the problem and the raw text, and no exception."""
    with FakeChat([BAD, BAD, '{"n": "last"}']) as fake:
        result = await requester(fake)(HELLO, schema=Number)
    assert (result.finish_reason, result.result) == ("invalid", None)
    assert result.validation_error is not None
    assert result.validation_error.startswith("n: ")
    assert result.raw_response == '{"n": "last"}'


@pytest.mark.parametrize(("given", "attempts"), [("0", 1), ("1", 2), ("4", 5)])
async def test_retries_and_corrections_share_one_budget(
    given: str, attempts: int, requester: MakeRequester
) -> None:
    """`maxRetries` counts both kinds: everything that repeats is bounded."""
    replies = [BAD if number % 2 else status(503) for number in range(1, attempts + 1)]
    with FakeChat(replies) as fake:
        llm = requester(fake, f"{MODEL}&maxRetries={given}")
        if attempts % 2:
            assert (await llm(HELLO, schema=Number)).finish_reason == "invalid"
        else:
            with pytest.raises(LlmError):
                await llm(HELLO, schema=Number)
    assert len(fake.bodies) == attempts


async def test_a_correction_is_not_waited_for(
    requester: MakeRequester, sleeps: list[float]
) -> None:
    """Waiting does not make an answer fit."""
    with FakeChat([BAD, GOOD]) as fake:
        await requester(fake)(HELLO, schema=Number)
    assert sleeps == []


@pytest.mark.checklist("requester")
async def test_a_transport_error_never_reaches_the_model(requester: MakeRequester) -> None:
    """A busy server between two answers leaves the correction as it was, and nothing else."""
    busy = status(429, body=error_body("quota pool west-7 busy", "rate_limit_error"))
    with FakeChat([BAD, busy, GOOD], rules=STRICT) as fake:
        result = await requester(fake)(HELLO, schema=Number)
    assert result.result == Number(n=7)
    assert sent(fake, 2) == sent(fake, 1)
    assert len(sent(fake, 2)) == 3
    assert b"west-7" not in b"".join(fake.bodies)


async def test_a_retry_sends_the_very_same_request(requester: MakeRequester) -> None:
    """No message is added for a failure of the transport."""
    with FakeChat([status(500), reset_before_headers, "hi"]) as fake:
        await requester(fake)(HELLO)
    assert fake.bodies[0] == fake.bodies[1] == fake.bodies[2]


async def test_a_refusal_is_returned_at_once(requester: MakeRequester) -> None:
    """One request, no correction: the reason is in the reply's detail."""
    with FakeChat([answer(None, extra={"refusal": "I will not"})]) as fake:
        result = await requester(fake)(HELLO, schema=Number)
    assert (result.finish_reason, result.result) == ("refused", None)
    assert result.steps[-1].detail == "I will not"
    assert result.history == HELLO


@pytest.mark.parametrize(
    ("finish_reason", "reason"), [("content_filter", "blocked"), ("length", "length")]
)
@pytest.mark.parametrize("schema", [None, Number])
async def test_a_blocked_or_cut_answer_costs_one_request(
    finish_reason: str, reason: str, schema: Any, requester: MakeRequester
) -> None:
    """It is returned as what it is."""
    with FakeChat([answer('{"n": ', finish_reason=finish_reason)]) as fake:
        result = await requester(fake)(HELLO, schema=schema)
    assert (result.finish_reason, len(fake.bodies)) == (reason, 1)
    assert result.result == (None if schema else '{"n": ')


async def test_text_of_a_broken_stream_is_voided(requester: MakeRequester) -> None:
    """The deltas after `Retrying` make up the whole answer: nothing is replayed in silence."""
    with FakeChat([truncated, "Hello there"]) as fake:
        events = [event async for event in requester(fake).stream(HELLO)]
    at = next(i for i, event in enumerate(events) if isinstance(event, Retrying))
    before = [event for event in events[:at] if isinstance(event, TextDelta)]
    after = [event.text for event in events[at:] if isinstance(event, TextDelta)]
    assert before
    assert "".join(after) == "Hello there"


async def test_arguments_of_a_broken_stream_are_forgotten(requester: MakeRequester) -> None:
    """Half a call of the first attempt does not run into the second one."""
    half = b'data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c1","function":{"name":"t",'
    half += b'"arguments":"{\\"q\\":"}}]}}]}\n\n'
    with FakeChat([half, answer("done")]) as fake:
        events = [event async for event in requester(fake).stream(HELLO)]
    assert isinstance(events[-1], Finished)
    assert (events[-1].result.text, events[-1].result.tool_calls) == ("done", [])
