"""`kill -9` at any point of a run: what was stored is whole, and the next run goes on with it."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from agentkit.agent.agent import Agent
from agentkit.messages import Message
from agentkit.session.sqlite_store import SqliteSessionStore
from agentkit.session.store import Compaction
from agentkit.tests.conftest import MakeRequester
from agentkit.tests.fake_chat import FakeChat, Rules

from . import crash_program

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="nothing can be forked and killed")

FIRST = ["user", "assistant"]
CALLED = [*FIRST, "user", "assistant", "tool"]  # an open call gets a result when it is read
DONE = ["user", "assistant", "tool", "assistant"]  # without the first turn, which was dropped
LEFT: dict[str, list[list[str]]] = {  # what the next run finds, by the place where the process died
    "call 1": [[]],
    "during append 1": [[], FIRST],
    "after append 1": [FIRST],
    "call 2": [FIRST],
    "during append 2": [FIRST, CALLED],
    "after append 2": [CALLED],
    "tool": [CALLED],
    "tool finished": [CALLED],
    "during append 3": [CALLED],
    "after append 3": [CALLED],
    "call 3": [CALLED],
    "during append 4": [CALLED, [*CALLED, "assistant"]],
    "after append 4": [[*CALLED, "assistant"]],
    "during append 5": [[*CALLED, "assistant"], DONE],
    "after append 5": [DONE],
}


@pytest.fixture(scope="module")
def deaths(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with what the killed processes left."""
    folder = tmp_path_factory.mktemp("deaths")
    command = [sys.executable, "-m", crash_program.__name__, str(folder), *LEFT]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run(command, env=environment, cwd=folder, check=True, timeout=60)
    return folder


@pytest.fixture
def left(deaths: Path, place: str, tmp_path: Path) -> Path:
    """A copy of what the process that died at `place` left."""
    return shutil.copytree(deaths / place, tmp_path / "left")


async def without_waiting(seconds: float) -> None:
    """Sleep, but not for the turn of a process that is dead."""
    assert seconds > 1, "the turn of a dead process is still taken"
    await asyncio.sleep(seconds)


@pytest.mark.parametrize("place", LEFT)
async def test_the_next_run_goes_on_with_what_was_stored(
    requester: MakeRequester, left: Path, place: str
) -> None:
    """Every append is there whole or not at all, every call is answered, nobody waits."""
    store = SqliteSessionStore(left / "sessions.db", sleep=without_waiting)
    with FakeChat(["Here I am."], rules=Rules(alternation=True)) as fake:
        await Agent(requester(fake), store=store).run("next", "s")
        await store.aclose()
    roles = [message["role"] for message in fake.requests[0]["messages"]]
    assert roles in [[*stored, "user"] for stored in LEFT[place]]


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("after append 2", "Error: interrupted, may have run"),
        ("tool finished", "Error: interrupted, may have run"),
        ("after append 3", "worked on x"),
    ],
)
async def test_a_result_that_was_lost_is_not_made_up(
    requester: MakeRequester, left: Path, said: str
) -> None:
    """The model learns that the tool may have run; a result that was stored is kept."""
    store = SqliteSessionStore(left / "sessions.db")
    with FakeChat(["Here I am."]) as fake:
        await Agent(requester(fake), store=store).run("next", "s")
        await store.aclose()
    assert fake.requests[0]["messages"][4]["content"] == said


@pytest.mark.parametrize("place", ["after append 5"])
async def test_a_compaction_is_one_row_like_any_other(left: Path) -> None:
    """All messages are still there, and the marker follows them."""
    store = SqliteSessionStore(left / "sessions.db")
    rows = await store.load("s")
    await store.aclose()
    *messages, marker = rows
    assert len([row for row in messages if isinstance(row, Message)]) == len(messages) == 6
    assert isinstance(marker, Compaction)


@pytest.mark.parametrize(
    ("place", "calls"), [("call 1", 1), ("call 2", 2), ("tool", 2), ("call 3", 3)]
)
def test_the_call_log_of_a_killed_process_can_be_read(left: Path, calls: int) -> None:
    """Each file is YAML up to its end, and the call that was under way has one, too."""
    import yaml

    files = sorted((left / "debug" / "run").glob("agent/*.yaml"))
    logged = [yaml.safe_load(path.read_text(encoding="utf-8")) for path in files]
    assert [call["call"] for call in logged] == list(range(1, calls + 1))
    assert logged[0]["messages"]
