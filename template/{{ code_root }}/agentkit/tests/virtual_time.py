"""An event loop whose clock jumps to the next timer, so that a deadline of a minute costs nothing.

Mark a test (or a module, by `pytestmark`) with `@pytest.mark.virtual_time` to run it on this loop.
The clock jumps only while nothing but a timer can wake the loop. While a thread that was started
under the loop is alive (a sync tool, an idle executor), or a socket is waited for, time passes as
usual: right, but slow. Only `loop.time()` and what is built on it (sleeps, timeouts) is virtual.
"""

from __future__ import annotations

import asyncio
import selectors
import threading
import time


class _JumpingSelector(selectors.DefaultSelector):
    now = 0.0

    def __init__(self) -> None:
        super().__init__()
        self._threads = frozenset(threading.enumerate())

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None or timeout <= 0 or self._may_be_woken():
            return self._wait(timeout)
        events = super().select(0)
        if not events:
            self.now += timeout
        return events

    def _may_be_woken(self) -> bool:
        only_own_pipe = len(self.get_map()) <= 1
        return not only_own_pipe or not self._threads.issuperset(threading.enumerate())

    def _wait(self, timeout: float | None) -> list[tuple[selectors.SelectorKey, int]]:
        began = time.monotonic()
        events = super().select(timeout)
        if timeout != 0:
            self.now += time.monotonic() - began
        return events


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """An asyncio loop with a clock of its own: seconds, from 0."""

    def __init__(self) -> None:
        self._clock = _JumpingSelector()
        super().__init__(self._clock)

    def time(self) -> float:
        return self._clock.now
