"""Processes that share a session store in a file."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from agentkit.messages import Message
from agentkit.session.sqlite_store import SqliteSessionStore
from agentkit.tests.session.store_process import run_process


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "sessions.db"


async def never(seconds: float) -> None:
    """A sleep that does not end."""
    await asyncio.Event().wait()


async def no_wait(seconds: float) -> None:
    """A sleep that nobody may ask for."""
    pytest.fail(f"waited for {seconds} s")


async def take_turn(store: SqliteSessionStore) -> None:
    async with store.turn("s"):
        pass


async def texts(path: Path) -> list[str]:
    """Return the texts that the file holds of the session."""
    store = SqliteSessionStore(path)
    rows = await store.load("s")
    await store.aclose()
    return [row.text for row in rows if isinstance(row, Message)]


@pytest.mark.skipif(os.name != "posix", reason="process ids are checked on POSIX only")
async def test_the_turn_of_a_dead_process_is_taken_over_at_once(path: Path) -> None:
    """Nobody waits 15 seconds after a crash."""
    script = (
        "async def main():\n"
        "    async with store.turn('s'):\n"
        "        print('held', flush=True)\n"
        "        await asyncio.Event().wait()\n"
        "asyncio.run(main())\n"
    )
    process = run_process(script, path)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    waiting = SqliteSessionStore(path, sleep=never)
    task = asyncio.create_task(take_turn(waiting))
    await asyncio.sleep(0)
    await waiting.list()  # asked after the turn, so that was refused by now
    assert not task.done()
    task.cancel()
    process.kill()
    process.communicate()
    store = SqliteSessionStore(path, sleep=no_wait)
    await take_turn(store)
    await asyncio.gather(waiting.aclose(), store.aclose())


async def test_two_processes_take_turns(path: Path) -> None:
    """Read, answer, append: with turns no process ever meets a conflict."""
    script = (
        "async def main():\n"
        "    for number in range(3):\n"
        "        async with store.turn('s'):\n"
        "            rows = await store.load('s')\n"
        "            await store.append('s', [Message.user(str(os.getpid()))], len(rows))\n"
        "    await store.aclose()\n"
        "asyncio.run(main())\n"
    )
    processes = [run_process(script, path) for _ in range(2)]
    for process in processes:
        process.communicate()
    assert [process.returncode for process in processes] == [0, 0]
    assert sorted(await texts(path)) == sorted([str(process.pid) for process in processes] * 3)


async def test_an_open_store_keeps_no_process_alive(path: Path) -> None:
    """A script that forgets to close it ends all the same, with everything stored."""
    process = run_process("asyncio.run(store.append('s', [Message.user('q')], 0))", path)
    process.communicate(timeout=60)
    assert process.returncode == 0
    assert await texts(path) == ["q"]
