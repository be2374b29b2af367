"""Deadlines for a provider's time: they bound the network, never the consumer of a stream."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable
from contextlib import aclosing
from typing import TypeVar

from ..errors import ConnectionFailed

T = TypeVar("T")


async def complete_within(reply: Awaitable[T], seconds: float) -> T:
    """Await a reply; raises `ConnectionFailed` when it takes longer than `seconds`."""
    try:
        async with asyncio.timeout(seconds) as scope:
            return await reply
    except TimeoutError:
        if scope.expired():
            raise ConnectionFailed(_late(seconds)) from None
        raise


async def stream_within(events: AsyncGenerator[T, None], seconds: float) -> AsyncGenerator[T, None]:
    """Yield the events; raises `ConnectionFailed` when waiting for them takes `seconds` in all.

    The time between two requests for an event is the consumer's and does not count. One timer
    serves the whole stream, since a timeout scope per event would cost more than the event.
    """
    clock = _Clock(seconds)
    async with aclosing(events):
        try:
            while True:
                clock.start()
                try:
                    event = await anext(events)
                except StopAsyncIteration:
                    return
                except asyncio.CancelledError:
                    if clock.fired():
                        break
                    raise
                finally:
                    clock.stop()
                yield event
        finally:
            clock.close()
    raise ConnectionFailed(_late(seconds))


def _late(seconds: float) -> str:
    return f"no complete reply within {seconds:g} s"


class _Clock:
    """Counts the time between `start` and `stop`; cancels the waiting task when it is used up."""

    def __init__(self, seconds: float) -> None:
        self._loop = asyncio.get_running_loop()
        self._end = self._stopped = self._loop.time()
        self._end += seconds
        self._task: asyncio.Task[object] | None = None
        self._cancelling = 0  # cancellations of the task that were there before
        self._timer: asyncio.TimerHandle | None = None
        self._fired = False

    def start(self) -> None:
        self._end += self._loop.time() - self._stopped
        self._task = asyncio.current_task()
        self._cancelling = self._task.cancelling() if self._task else 0
        if self._timer is None:
            self._timer = self._loop.call_at(self._end, self._check)

    def stop(self) -> None:
        self._stopped = self._loop.time()
        self._task = None

    def fired(self) -> bool:
        """Tell whether a cancellation was this clock's, and take it back if so."""
        task = asyncio.current_task()
        return self._fired and task is not None and task.uncancel() <= self._cancelling

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _check(self) -> None:
        self._timer = None
        if self._task is None:
            return  # the consumer is busy; `start` sets the timer again
        if self._loop.time() < self._end:
            self._timer = self._loop.call_at(self._end, self._check)
        else:
            self._fired = True
            self._task.cancel()
