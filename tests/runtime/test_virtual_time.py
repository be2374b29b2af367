"""The loop with a virtual clock: timers come at once and in order, threads are waited for."""

from __future__ import annotations

import asyncio
import threading

import pytest

pytestmark = pytest.mark.virtual_time


async def test_sleeping_for_a_day_takes_no_time() -> None:
    """The clock jumps to the next timer, by exactly as much as was asked for."""
    await asyncio.sleep(86_400)
    assert asyncio.get_running_loop().time() == 86_400


async def test_timers_fire_in_their_order() -> None:
    """Tasks that sleep for different times wake in the order of those times."""
    woken: list[float] = []

    async def sleeper(seconds: float) -> None:
        await asyncio.sleep(seconds)
        woken.append(seconds)

    await asyncio.gather(*map(sleeper, (30, 10, 20)))
    assert woken == [10, 20, 30]


async def test_a_deadline_of_a_minute_expires_at_once() -> None:
    """`asyncio.timeout` works on the virtual clock."""
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(60):
            await asyncio.Event().wait()
    assert asyncio.get_running_loop().time() == pytest.approx(60)


async def test_a_working_thread_is_waited_for() -> None:
    """While a thread works the clock does not jump: a long deadline does not expire under it."""
    may_end, loop = threading.Event(), asyncio.get_running_loop()
    done = asyncio.Event()

    def work() -> None:
        may_end.wait(30)
        loop.call_soon_threadsafe(done.set)

    worker = threading.Thread(target=work)
    worker.start()
    threading.Timer(0.0, may_end.set).start()
    async with asyncio.timeout(3_600):
        await done.wait()
    worker.join()
    assert loop.time() < 3_600
