"""Deadlines bound the provider's time: they are real, and the consumer's time is its own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

import pytest

from ...errors import ConnectionFailed
from ...llm.deadline import complete_within, stream_within

pytestmark = pytest.mark.virtual_time


async def reply_after(seconds: float) -> str:
    await asyncio.sleep(seconds)
    return "reply"


async def events_every(seconds: float, count: int = 3) -> AsyncGenerator[int, None]:
    """Yield numbers, each after so many seconds."""
    for number in range(count):
        await asyncio.sleep(seconds)
        yield number


def now() -> float:
    return asyncio.get_running_loop().time()


async def drain(events: AsyncGenerator[int, None], pause: float = 0.0) -> list[int]:
    """Read all events, taking one's time after each."""
    seen = []
    async for event in events:
        seen.append(event)
        await asyncio.sleep(pause)
    return seen


async def test_a_reply_in_time_is_returned() -> None:
    """Nothing happens to it."""
    assert await complete_within(reply_after(0.9), 1.0) == "reply"


async def test_a_late_reply_is_a_failed_connection() -> None:
    """Exactly when the time is over, with the time in the message."""
    began = now()
    with pytest.raises(ConnectionFailed, match=r"no complete reply within 1\.5 s"):
        await complete_within(reply_after(60), 1.5)
    assert now() - began == pytest.approx(1.5)


async def test_a_providers_own_timeout_error_passes() -> None:
    """Only our deadline is turned into our error."""

    async def fail() -> None:
        raise TimeoutError("its own")

    with pytest.raises(TimeoutError, match="its own"):
        await complete_within(fail(), 1.0)


async def test_a_stream_in_time_is_yielded() -> None:
    """All of it, in order."""
    assert await drain(stream_within(events_every(0.3), 1.0)) == [0, 1, 2]


async def test_the_waits_of_a_stream_add_up() -> None:
    """Events that trickle do not extend the deadline: it is one for the whole stream."""
    began = now()
    with pytest.raises(ConnectionFailed, match="within 1 s"):
        await drain(stream_within(events_every(0.4, 100), 1.0))
    assert now() - began == pytest.approx(1.0)


async def test_the_consumers_time_does_not_count() -> None:
    """A consumer that thinks for minutes gets its whole stream."""
    assert await drain(stream_within(events_every(0.3), 1.0), pause=300.0) == [0, 1, 2]


async def test_a_slow_consumer_does_not_hide_a_slow_provider() -> None:
    """What the provider takes is summed up over the pauses."""
    began = now()
    with pytest.raises(ConnectionFailed):
        await drain(stream_within(events_every(0.4, 100), 1.0), pause=10.0)
    assert now() - began == pytest.approx(21.0)


async def test_a_stream_that_is_late_is_closed() -> None:
    """Its connection is freed before the error is raised."""
    closed = []

    async def events() -> AsyncGenerator[int, None]:
        try:
            yield 1
            await asyncio.sleep(60)
        finally:
            closed.append(True)

    with pytest.raises(ConnectionFailed):
        await drain(stream_within(events(), 1.0))
    assert closed == [True]


async def test_an_error_of_the_stream_passes() -> None:
    """It is raised as it is, and no timer is left behind."""

    async def events() -> AsyncGenerator[int, None]:
        yield 1
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        await drain(stream_within(events(), 1.0))
    await asyncio.sleep(5)


@pytest.mark.parametrize("streaming", [False, True])
async def test_a_cancellation_is_not_taken_for_the_deadline(streaming: bool) -> None:
    """It propagates at once."""

    async def work() -> object:
        if streaming:
            return await drain(stream_within(events_every(60), 1.0))
        return await complete_within(reply_after(60), 1.0)

    task = asyncio.create_task(work())
    await asyncio.sleep(0.5)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert now() == pytest.approx(0.5)


async def test_a_deadline_does_not_cancel_what_comes_after() -> None:
    """The task that was late goes on as if it had never been cancelled."""
    with pytest.raises(ConnectionFailed):
        await drain(stream_within(events_every(60), 1.0))
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0
    await asyncio.sleep(5)


async def test_a_deadline_works_while_a_cancellation_is_handled() -> None:
    """A clean-up that calls a model is bounded as well."""

    async def work() -> str:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            with pytest.raises(ConnectionFailed):
                await drain(stream_within(events_every(60), 1.0))
            return "cleaned up"
        return "not cancelled"

    task = asyncio.create_task(work())
    await asyncio.sleep(0.5)
    task.cancel()
    assert await task == "cleaned up"


async def test_an_abandoned_stream_leaves_no_timer() -> None:
    """Closing it is enough: nothing cancels the task later."""
    events = stream_within(events_every(0.1, 100), 1.0)
    assert await anext(events) == 0
    await events.aclose()
    await asyncio.sleep(5)
