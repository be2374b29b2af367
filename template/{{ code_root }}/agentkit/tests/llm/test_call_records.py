"""What a model call books and tells: every reply costs, every attempt is recorded."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel

from ...errors import AuthenticationFailed, RateLimited
from ...llm.events import Retrying
from ...messages import Message, Usage
from ...observability.cost_tracker import CostTracker
from ...observability.records import AttemptFinished, AttemptStarted, CallFinished, CallStarted
from ...observability.run_context import RunContext
from ..conftest import MakeRequester
from ..fake_chat import FakeChat, answer, status, truncated, usage

HELLO = [Message.user("Give me a number")]
GOOD, BAD = '{"n": 7}', '{"n": "x"}'


class Number(BaseModel):
    """A schema with one field."""

    n: int


@pytest.mark.checklist("costs")
async def test_every_reply_is_paid_for(requester: MakeRequester, costs: CostTracker) -> None:
    """A wrong answer costs as much as a right one; a failure without usage costs nothing."""
    bad, good = answer(BAD, usage=usage(100, 50)), answer(GOOD, usage=usage(120, 60))
    with FakeChat([bad, status(500), good]) as fake:
        result = await requester(fake)(HELLO, schema=Number)
    assert result.usage == Usage(220, 110)
    assert result.estimated_cost == pytest.approx((220 * 0.25 + 110 * 2) / 1e6)
    report = costs.get_report()
    assert (report["request_count"], report["total_tokens"]) == (2, 330)
    assert report["total_cost"] == pytest.approx(result.estimated_cost)


@pytest.mark.checklist("costs")
async def test_an_error_tells_what_was_spent(requester: MakeRequester) -> None:
    """Attempts that were answered are paid, also when the run fails."""
    with FakeChat([answer(BAD, usage=usage(100, 50)), status(401)]) as fake:
        llm = requester(fake)
        with pytest.raises(AuthenticationFailed) as caught:
            await llm(HELLO, schema=Number)
    assert (caught.value.attempts, caught.value.status) == (2, 401)
    assert caught.value.usage == Usage(100, 50)
    assert caught.value.cost == pytest.approx((100 * 0.25 + 50 * 2) / 1e6)
    assert caught.value.messages == []


async def test_observers_are_told_of_every_attempt(
    requester: MakeRequester, ctx: RunContext
) -> None:
    """The start and the end of the call and of each attempt, with what went wrong."""
    records: list[Any] = []
    ctx.observers.append(records.append)
    with FakeChat([status(429), BAD, GOOD]) as fake:
        await requester(fake)(HELLO, schema=Number, identifier="count", stage_name="stage")
    [started] = [record for record in records if isinstance(record, CallStarted)]
    assert (started.identifier, started.stage, started.schema) == ("count", "stage", "Number")
    attempts = [record for record in records if isinstance(record, AttemptFinished)]
    assert isinstance(attempts[0].error, RateLimited)
    assert attempts[1].problem is not None
    assert (attempts[2].error, attempts[2].problem) == (None, None)
    begun = [record for record in records if isinstance(record, AttemptStarted)]
    assert [len(record.corrections) for record in begun] == [0, 0, 2]
    [ended] = [record for record in records if isinstance(record, CallFinished)]
    assert (ended.attempts, ended.finish_reason, ended.usage) == (3, "stop", Usage(200, 40))


async def test_each_retry_is_told(requester: MakeRequester) -> None:
    """Who listens learns the attempt, the reason and the wait before it begins."""
    with FakeChat([status(503, {"retry-after": "2"}), truncated, "hi"]) as fake:
        events = [event async for event in requester(fake).stream(HELLO)]
    first, second = (event for event in events if isinstance(event, Retrying))
    assert (first.attempt, first.delay) == (1, 2.0)
    assert "openai answered 503" in first.reason
    assert (second.attempt, second.delay) == (2, 2.0)
    assert "no reply from" in second.reason
