"""Workers that are killed in the middle of a durable run, by `kill -9`, at each of its places.

    python -m tests.services.crash_program URL FOLDER PLACE...

Two workers for each place: the first one to reach it dies, the other goes on. In `FOLDER/PLACE`
they leave a `ledger` of what the world saw (replies paid for, tools begun and done), the session,
and the `result`. In URL, `{place}` stands for that folder. One process imports all and forks.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
import traceback
from collections.abc import Sequence
from pathlib import Path

from agentkit.agent.agent import Agent
from agentkit.durable import DurableAgent, workers
from agentkit.durable.records import result_data
from agentkit.llm.provider import Request
from agentkit.llm.providers.offline import ScriptedProvider
from agentkit.messages import Message, Reply, ToolCall
from agentkit.observability.logger import Logger
from agentkit.observability.run_context import create_run_context
from agentkit.session.sqlite_store import SqliteSessionStore
from agentkit.session.store import Row
from agentkit.tools.tool import Tool, tool

LIMIT = 60  # seconds for one place
AT_ONCE = 12  # processes
MODEL = ["model 1", "model 2", "model 3"]
TOOLS = ["A", "B", "C"]
SCRIPT = [
    Message("assistant", (ToolCall("1", "work", {"name": "A"}),)),
    Message("assistant", tuple(ToolCall(name, "work", {"name": name}) for name in "BC")),
    Message.assistant("Done."),
]
ASKED = [f"{model} asked" for model in MODEL]
ANSWERED = [f"{model} answered" for model in MODEL]
BEGUN = [f"tool {name} begun" for name in TOOLS]
DONE = [f"tool {name} done" for name in TOOLS]
APPENDS = range(1, 6)  # question and reply; results; reply; results; answer
BEFORE = [f"before append {number}" for number in APPENDS]
AFTER = [f"after append {number}" for number in APPENDS]
NOWHERE = "nowhere"
SLOW = ", only slow"  # it goes on when the other has finished
SLOWED = [f"{place}{SLOW}" for place in (ANSWERED[1], DONE[0], AFTER[2])]
PLACES = [NOWHERE, *ASKED, *ANSWERED, *BEGUN, *DONE, *BEFORE, *AFTER, *SLOWED]


class World:
    """What is outside of the process: it remembers what happened, and kills at one place."""

    def __init__(self, folder: Path, place: str) -> None:
        self._folder = folder
        self._place = place.removesuffix(SLOW)
        self._dies = not place.endswith(SLOW)

    def note(self, event: str) -> None:
        """Write an event to the ledger, where it outlives the process."""
        with open(self._folder / "ledger", "a", encoding="utf-8") as file:
            file.write(f"{event}\n")

    def reach(self, place: str) -> None:
        """Die, or wait and give no sign of life, if this is the place and the other did not."""
        if place != self._place:
            return
        try:
            os.unlink(self._folder / "armed")
        except FileNotFoundError:
            return
        if self._dies:
            os.kill(os.getpid(), signal.SIGKILL)
        # Not SIGSTOP: a thread that holds a lock of SQLite's would hold it for good.
        workers.Workers.beat = lambda self: None  # type: ignore[method-assign]
        while not (self._folder / "go on").exists():
            time.sleep(0.05)


class Model(ScriptedProvider):
    """Answers by how far the conversation is, and is paid for each reply."""

    def __init__(self, world: World) -> None:
        super().__init__(())
        self._world = world

    async def complete(self, request: Request) -> Reply:
        number = sum(message.role == "assistant" for message in request.messages)
        self._world.reach(ASKED[number])
        reply = await ScriptedProvider([SCRIPT[number]]).complete(request)
        self._world.note(MODEL[number])
        self._world.reach(ANSWERED[number])
        return reply


class Store(SqliteSessionStore):
    """A store in which the process may die before an append and after it."""

    def __init__(self, path: Path, world: World) -> None:
        super().__init__(path)
        self._world = world

    async def append(
        self, id: str, rows: Sequence[Row], at: int, user_id: str | None = None
    ) -> None:
        number = {0: 1, 2: 2, 3: 3, 4: 4, 5: 5}[at]
        self._world.reach(f"before append {number}")
        await super().append(id, rows, at, user_id)
        self._world.reach(f"after append {number}")


def work_tool(world: World) -> Tool:
    """Return a tool with an effect that can be counted."""

    @tool
    async def work(name: str) -> str:
        """Work."""
        world.note(f"begun {name}")
        world.reach(f"tool {name} begun")
        world.note(f"done {name}")
        world.reach(f"tool {name} done")
        return f"worked on {name}"

    return work


async def work(url: str, folder: Path, place: str) -> None:
    """Do the run, or see it done by the other worker; leave its result."""
    world = World(folder, place)
    with (folder / "log").open("a", encoding="utf-8") as log:
        ctx = create_run_context(Logger("worker", "warn", log), folder / "debug")
        store = Store(folder / "sessions.db", world)
        agent = Agent(Model(world), ctx=ctx, tools=[work_tool(world)], store=store)
        name = f"crash-{folder.name}".replace(",", "").replace(" ", "-").lower()
        async with agent, DurableAgent(agent, url, name=name, poll=0.1) as runs:
            result = await runs.run("run", "Do all of it", "s")
        await store.aclose()
        (folder / "result").write_text(json.dumps(result_data(result)), encoding="utf-8")


def worker(url: str, folder: Path, place: str) -> int:
    """Fork a worker; returns its process id."""
    child = os.fork()
    if child:
        return child
    workers.BEAT = 0.3  # seconds; so that a death is noticed while the test waits
    if place.endswith(SLOW):
        workers.LEASE = 4.0
    signal.alarm(LIMIT)
    code = 1
    try:
        asyncio.run(work(url.format(place=folder), folder, place))
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def main(url: str, folder: Path, places: Sequence[str]) -> None:
    """Have two workers for each place; exit with a message if they do not end as they should."""
    waiting = list(places)
    running: dict[int, str] = {}
    ends: dict[str, list[int]] = {place: [] for place in places}
    while waiting or running:
        while waiting and len(running) < AT_ONCE:
            place = waiting.pop(0)
            (folder / place).mkdir()
            (folder / place / "armed").touch()
            running |= {worker(url, folder / place, place): place for _ in range(2)}
        process, status = os.wait()  # a dead process is there until somebody has asked for its end
        place = running.pop(process)
        ends[place].append(status)
        if place.endswith(SLOW) and len(ends[place]) == 1:
            (folder / place / "go on").touch()
    for place, found in ends.items():
        both_live = place == NOWHERE or place.endswith(SLOW)
        if sorted(found) != ([0, 0] if both_live else [0, signal.SIGKILL]):
            sys.exit(f"{place}: the workers ended with {found}")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3:])
