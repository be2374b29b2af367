"""A key travels through a whole conversation, and is seen in none of what it leaves behind."""

from __future__ import annotations

import io
import os
import traceback
from pathlib import Path

import pytest

from ...agent.agent import Agent
from ...errors import AuthenticationFailed
from ...llm.requester import create_llm_requester
from ...observability.logger import Logger
from ...observability.run_context import create_run_context
from ...tools.tool import tool
from ..fake_chat import FakeChat, calls, error_body, status

KEY = "canary-0123/456+789 abc".replace(" ", "=")
OTHER = "BSA-canary-9876543210"

pytestmark = pytest.mark.checklist("secrets")


def left_behind(log: io.StringIO, folder: Path) -> str:
    """Return all that was written: the log and every file, with folded lines joined."""
    files = [path.read_text(encoding="utf-8") for path in folder.rglob("*") if path.is_file()]
    text = "\n".join([log.getvalue(), *files])
    return text + "".join(line.strip() for line in text.splitlines())


def talkative_agent(fake: FakeChat, logger: Logger, folder: Path) -> Agent:
    """Return an agent with tools that give keys away."""

    @tool
    async def environment() -> dict[str, str]:
        """Show the environment."""
        return {"BRAVE_API_KEY": os.environ["BRAVE_API_KEY"], "url": f"https://x.test/?q={KEY}"}

    @tool
    async def fail() -> None:
        """Fail."""
        raise RuntimeError(f"401 for https://user:{KEY}@x.test/?token={OTHER}")

    ctx = create_run_context(logger, debug_dir=folder)
    llm = create_llm_requester("openai/gpt-5-mini", logger, ctx=ctx, transport=fake.transport)
    return Agent(llm, ctx=ctx, tools=[environment, fail])


async def test_no_key_is_left_in_logs_artifacts_or_errors(
    logger: Logger, log: io.StringIO, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither the provider's key nor another one, whoever says it: tools, errors, the server."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("BRAVE_API_KEY", OTHER)
    wanted = calls(("environment", {}), ("fail", {}))
    refused = status(401, body=error_body(f"Incorrect API key provided: {KEY}"))
    with FakeChat([wanted, f"Your key is {OTHER}.", refused]) as fake:
        agent = talkative_agent(fake, logger, tmp_path / "debug")
        await agent.run(f"My key is {KEY}")
        with pytest.raises(AuthenticationFailed) as raised:
            await agent.run("Again")
    logger.error("it failed", raised.value)
    error = "".join(traceback.format_exception(raised.value)) + repr(raised.value)
    for text in (left_behind(log, tmp_path / "debug"), error, repr(agent.llm.models), repr(agent)):
        assert KEY not in text
        assert OTHER not in text
    assert "My key is ***" in left_behind(log, tmp_path / "debug")


async def test_the_model_gets_what_was_said_as_it_was_said(
    logger: Logger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Masking is for what is written down: the conversation itself is the user's own."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with FakeChat(["ok"]) as fake:
        await talkative_agent(fake, logger, tmp_path / "debug").run(f"Use {KEY} for it")
    assert fake.requests[0]["messages"][-1]["content"] == f"Use {KEY} for it"
