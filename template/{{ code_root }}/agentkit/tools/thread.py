"""Plain functions beside the event loop: each call in a daemon thread of its own."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import threading
from collections.abc import Callable
from typing import Any

from ..observability.redact import exception_text


async def run_in_thread(function: Callable[[], Any]) -> Any:
    """Run a function in a daemon thread of its own and return what it returns.

    When the wait is cancelled the thread runs on and its result is dropped: a thread cannot be
    stopped, but as a daemon it never keeps the process alive. What is no `Exception`, such as an
    interrupt raised in there, comes out as a `RuntimeError`: it is not meant for this thread.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()
    context = contextvars.copy_context()

    def settle(value: Any, error: BaseException | None) -> None:
        if future.cancelled():
            drop(value)
        elif error is None:
            future.set_result(value)
        else:
            future.set_exception(error)

    def work() -> None:
        value: Any = None
        failure: BaseException | None = None
        try:
            value = context.run(function)
        except BaseException as error:
            failure = error
            if isinstance(error, StopIteration) or not isinstance(error, Exception):
                failure = RuntimeError(exception_text(error))
        try:
            loop.call_soon_threadsafe(settle, value, failure)
        except RuntimeError:
            drop(value)  # the loop is closed: nobody waits any more

    threading.Thread(target=work, name="tool", daemon=True).start()
    return await future


def drop(value: Any) -> None:
    """Let go of a value; a coroutine is closed, so that Python does not complain about it."""
    if inspect.iscoroutine(value):
        value.close()
