"""Hearing of a shutdown when it begins, not when the last connection has gone."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def on_shutdown(call: Callable[[], object]) -> Iterator[None]:
    """Call something in this event loop as soon as the HTTP server is told to end.

    The server's own handlers, which stand when its application starts, are called as before.
    Where the application does not run in the main thread, nothing is heard.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()
    before: dict[int, Any] = {number: signal.getsignal(number) for number in _SIGNALS}

    def heard(number: int, frame: FrameType | None) -> None:
        loop.call_soon_threadsafe(call)
        if callable(before[number]):
            before[number](number, frame)

    chained = {number: handler for number, handler in before.items() if callable(handler)}
    for number in chained:
        signal.signal(number, heard)
    try:
        yield
    finally:
        for number, handler in chained.items():
            signal.signal(number, handler)
