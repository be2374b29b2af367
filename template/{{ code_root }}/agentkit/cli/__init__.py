"""The command line: `ask`, `chat`, `runs`, `tools`; `serve` and `mcp` where generated."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .conversation import BuildAgent


def run(build_agent: BuildAgent, prog: str) -> None:
    """Run the command line of the agent that `build_agent(model=…, ctx=…)` returns, then exit.

    `prog` is the command's name in help and messages. A user's mistake ends with one line on
    stderr and an exit code: 1, or 2 for a wrong use of the command line, 130 for Ctrl-C.
    """
    from .app import create_app

    create_app(build_agent, prog)(prog_name=prog)
