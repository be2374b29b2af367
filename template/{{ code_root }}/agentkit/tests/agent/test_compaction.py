"""Conversations that get too long while an agent holds them."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

from ...agent.agent import Agent
from ...messages import Message
from ...observability.logger import Logger
from ...session.compactor import SimpleHistoryCompactor
from ...session.sqlite_store import SqliteSessionStore
from ...session.store import Compaction, MemorySessionStore
from ...session.summary import LlmSummaryGenerator, SummarizingHistoryCompactor
from ...tools.tool import tool
from ..conftest import MakeRequester
from ..fake_chat import FakeChat, calls, error_body, status
from .unreliable_store import UnreliableStore
from .words import STRICT, sent, sent_roles, texts

LONG = "x" * 400


async def fill(agent: Agent, turns: int) -> None:
    """Say something long a few times, in the session "s"."""
    for number in range(turns):
        await agent.run(f"{number}{LONG}", "s")


async def test_a_compaction_is_stored_as_one_marker_row(requester: MakeRequester) -> None:
    """The store keeps every message, and the marker says what the conversation goes on with."""
    store = MemorySessionStore()
    with FakeChat(["ok"] * 3, rules=STRICT) as fake:
        compactor = SimpleHistoryCompactor(1_000)
        agent = Agent(requester(fake), store=store, compactor=compactor, system_prompt="Brief.")
        await fill(agent, 3)
    rows = await store.load("s")
    kinds = [type(row) for row in rows]
    assert kinds == [Message] * 6 + [Compaction]
    assert isinstance(rows[-1], Compaction)
    assert list(rows[-1].messages) == agent.get_history("s")
    assert len(agent.get_history("s")) < 6


async def test_a_restarted_process_goes_on_with_the_compacted_history(
    requester: MakeRequester, tmp_path: Path
) -> None:
    """What was dropped stays dropped, without compacting again."""
    with FakeChat(["ok"] * 4, rules=STRICT) as fake:
        store = SqliteSessionStore(tmp_path / "s.db")
        agent = Agent(requester(fake), store=store, compactor=SimpleHistoryCompactor(1_000))
        await fill(agent, 3)
        after = Agent(requester(fake), store=SqliteSessionStore(tmp_path / "s.db"))
        await after.run("next", "s")
        await after.store.aclose()
        await store.aclose()
    assert after.get_history("s")[:-2] == agent.get_history("s")
    assert texts(fake)[:-2] == texts(fake, 2)


async def test_results_are_shortened_between_the_steps_of_a_run(requester: MakeRequester) -> None:
    """A result that alone breaks the budget is cut before the next call, and stays cut."""

    @tool
    def read() -> str:
        """Read the file."""
        return "y" * 50_000

    with FakeChat([calls(("read", {})), "ok", "ok"], rules=STRICT) as fake:
        compactor = SimpleHistoryCompactor(2_000)
        agent = Agent(requester(fake), tools=[read], compactor=compactor)
        await agent.run("Read it")
        await agent.run("go on")
    assert sent_roles(fake) == ["user", "assistant", "tool", "assistant", "user"]
    assert len(sent(fake, 1)[2]["content"]) < 2_000
    assert sent(fake, 2)[2] == sent(fake, 1)[2]


async def test_a_summary_takes_the_place_of_what_it_summarises(requester: MakeRequester) -> None:
    """The model's own summary opens the conversation; the system prompt is not part of it."""
    script = ["ok", "ok", "They said x many times.", "ok", "ok"]
    with FakeChat(script, rules=STRICT) as fake:
        llm = requester(fake)
        compactor = SummarizingHistoryCompactor(10_000, 250, LlmSummaryGenerator(llm))
        agent = Agent(llm, compactor=compactor, system_prompt="Be brief.")
        await fill(agent, 3)
        await agent.run("next", "s")
    assert "Be brief." not in texts(fake, 2)[-1]
    assert texts(fake, 3)[0] == "Be brief."
    assert "They said x many times." in texts(fake, 3)[1]
    assert sent(fake, 4)[:4] == sent(fake, 3)[:4]


async def test_any_async_function_can_write_the_summary(requester: MakeRequester) -> None:
    """It gets the messages, and what it returns has a `text`."""

    async def write(messages: list[Message]) -> Message:
        assert messages[-1].role == "user"
        return Message.assistant("They said x twice.")

    with FakeChat(["ok"] * 3, rules=STRICT) as fake:
        compactor = SummarizingHistoryCompactor(10_000, 250, LlmSummaryGenerator(write))
        await fill(Agent(requester(fake), compactor=compactor), 3)
    assert "They said x twice." in texts(fake)[0]


async def test_a_context_that_is_too_long_for_the_model_stays_halved(
    requester: MakeRequester,
) -> None:
    """What had to be dropped to get an answer is dropped for the turns to come, too."""
    too_long = status(400, body=error_body("maximum context length", code="context_length"))
    script: list[Any] = ["ok", "ok", "ok", too_long, "ok", "ok"]
    with FakeChat(script, rules=STRICT) as fake:
        agent = Agent(requester(fake))
        await fill(agent, 4)
        await agent.run("next", "s")
    assert len(sent(fake, 3)) == 7
    assert len(sent(fake, 4)) < 5
    assert texts(fake, 5)[:-2] == texts(fake, 4)


async def test_a_marker_that_cannot_be_stored_costs_a_warning(
    requester: MakeRequester, logger: Logger, log: io.StringIO
) -> None:
    """The answer is stored by then and is returned; the next turn compacts again."""
    store = UnreliableStore()
    with FakeChat(["ok"] * 4, rules=STRICT) as fake:
        compactor = SimpleHistoryCompactor(1_000, logger)
        agent = Agent(requester(fake), store=store, compactor=compactor)
        await fill(agent, 2)
        store.failing = "compaction"
        result = await agent.run(f"2{LONG}", "s")
        store.failing = ""
        await agent.run("next", "s")
    assert result.text == "ok"
    assert "a compaction was not stored: StoreError: the disk is full" in log.getvalue()
    assert log.getvalue().count("WARN") == 1
