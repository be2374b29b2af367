"""The conversation that a command holds: the agent, the run it is logged as, and the session."""

from __future__ import annotations

import secrets
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from ..agent.agent import Agent
from ..errors import ConfigError
from ..llm.events import Finished
from ..llm.result import GenerateResult
from ..observability.logger import LEVELS, Logger
from ..observability.run_context import RunContext, create_run_context
from .live_view import LiveView


class BuildAgent(Protocol):
    """Builds the agent for a model URI (None: the agent's own) and the context of its runs."""

    def __call__(self, model: str | None = None, ctx: RunContext | None = None) -> Agent: ...


@dataclass(frozen=True, slots=True)
class Setup:
    """Whose command line this is, and what its options ask for."""

    build_agent: BuildAgent
    prog: str
    model: str | None = None
    debug_dir: Path = Path("debug")
    log_level: str = "warn"


@dataclass(slots=True)
class Conversation:
    """An agent, the context that all its turns share, and the id of the session they belong to."""

    agent: Agent
    ctx: RunContext
    session: str


def open_conversation(setup: Setup, session: str | None, view: LiveView) -> Conversation:
    """Build the agent; without `session` the conversation is a new one.

    Raises `ConfigError` for what the agent cannot be built with.
    """
    level = next(level for level in LEVELS if level == setup.log_level)
    logger = Logger(setup.prog, level, view.log)
    ctx = create_run_context(logger, setup.debug_dir)
    agent = setup.build_agent(model=setup.model, ctx=ctx)
    if not isinstance(agent, Agent):
        raise ConfigError(f"build_agent returned {type(agent).__name__}; it must return the Agent")
    return Conversation(agent, ctx, session or new_session_id())


def new_session_id() -> str:
    """Return an id that nobody has yet, short enough to be typed."""
    return secrets.token_hex(6)


async def take_turn(conversation: Conversation, text: str, view: LiveView) -> GenerateResult:
    """Say something to the agent, show what happens, and return how it went."""
    agent, ctx = conversation.agent, conversation.ctx
    stream = agent.stream(text, conversation.session, ctx=ctx)
    async with aclosing(stream) as events:
        async for event in events:
            view.show(event)
    assert isinstance(event, Finished)
    return event.result


async def close_agent(agent: Agent) -> None:
    """Close all that the agent uses: what the command line had built is its own."""
    await agent.close()
    await agent.llm.aclose()
    await agent.store.aclose()
