"""Functions in threads of their own: what they raise, return, and leave behind."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import subprocess
import sys
import threading
from typing import Any

import pytest

from ...tools.thread import run_in_thread
from ..test_structure import ROOT


async def test_a_thread_sees_the_context_variables() -> None:
    """What a request set is known in its tools."""
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable")
    variable.set("of the request")
    assert await run_in_thread(variable.get) == "of the request"


@pytest.mark.parametrize(
    ("error", "raised"),
    [
        (ValueError("x"), ValueError),
        *((kind("x"), RuntimeError) for kind in (StopIteration, SystemExit, KeyboardInterrupt)),
        *((kind("x"), RuntimeError) for kind in (GeneratorExit, asyncio.CancelledError)),
    ],
)
async def test_what_a_thread_raises_is_raised_here(error: BaseException, raised: Any) -> None:
    """What would end this task or the process comes as an error: it was not meant for them."""

    def fail() -> None:
        raise error

    with pytest.raises(raised, match="x"):
        await run_in_thread(fail)


async def test_a_cancelled_thread_is_left_behind() -> None:
    """The wait ends at once; what the thread returns later is dropped."""
    go, done = threading.Event(), threading.Event()

    def work() -> str:
        go.wait(5)
        done.set()
        return "late"

    task = asyncio.create_task(run_in_thread(work))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not done.is_set()
    go.set()
    assert done.wait(5)
    await asyncio.sleep(0)


async def test_a_coroutine_that_nobody_waits_for_is_closed() -> None:
    """Python would warn about it."""
    go, threads = threading.Event(), []

    async def late() -> None: ...

    coroutine = late()

    def work() -> object:
        threads.append(threading.current_thread())
        go.wait(5)
        return coroutine

    task = asyncio.create_task(run_in_thread(work))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task])
    go.set()
    threads[0].join(5)
    await asyncio.sleep(0)
    assert inspect.getcoroutinestate(coroutine) == inspect.CORO_CLOSED


def test_a_thread_that_never_ends_does_not_keep_the_process() -> None:
    """A hanging tool must not hang the exit."""
    program = (
        "import asyncio, sys, time; sys.path.append(sys.argv[1])\n"
        "from agentkit.tools.thread import run_in_thread\n"
        "async def main():\n"
        "    task = asyncio.create_task(run_in_thread(lambda: time.sleep(60)))\n"
        "    await asyncio.sleep(0.05); task.cancel()\n"
        "asyncio.run(main())"
    )
    command = [sys.executable, "-c", program, str(ROOT.parent)]
    assert subprocess.run(command, timeout=20, check=False).returncode == 0
