"""The command line: `ask`, `chat`, `runs`, `tools`; `serve` and `mcp` where generated."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .conversation import BuildAgent


def run(build_agent: BuildAgent, prog: str) -> None:
    """Run the command line of the agent that `build_agent(model=…, ctx=…)` returns, then exit.

    `prog` is the command's name in help and messages. A user's mistake ends with one line on
    stderr and an exit code: 1, or 2 for a wrong use of the command line, 130 for Ctrl-C.
    """
    from typer import Exit

    from .app import create_app
    from .failures import reported

    try:
        with reported():
            create_app(build_agent, prog)(prog_name=prog)
    except Exit as ended:  # help that could not be written
        sys.exit(ended.exit_code)
