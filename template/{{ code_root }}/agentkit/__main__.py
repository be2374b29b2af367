"""`python -m <package>.agentkit`: the command line with a plain agent, which has no tools."""

from __future__ import annotations

import os

from .agent.agent import Agent
from .cli import run
from .errors import ConfigError
from .observability.run_context import RunContext
from .session.sqlite_store import SqliteSessionStore


def build_agent(model: str | None = None, ctx: RunContext | None = None) -> Agent:
    """Build the agent for a model URI: `model`, else $AGENT_MODEL; raises `ConfigError` if none."""
    model = model or os.environ.get("AGENT_MODEL")
    if not model:
        raise ConfigError(
            "no model: give --model or set AGENT_MODEL (in .env, too); "
            "--model chat://offline/echo needs no key"
        )
    return Agent(model, ctx=ctx, store=SqliteSessionStore(".agentkit/sessions.db"))


if __name__ == "__main__":
    run(build_agent, prog="agentkit")
