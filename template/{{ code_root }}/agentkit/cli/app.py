"""The commands and their options; what each does is imported when it is run."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Annotated

import typer

from ..observability.logger import LEVELS
from .conversation import BuildAgent, Setup
from .environment import load_environment
from .failures import reported
from .optional import is_generated, run_module
from .terminal import prepare_streams

DEBUG_DIR = Path("debug")


def _level(text: str) -> str:
    if text not in LEVELS:
        raise typer.BadParameter(f"{text!r} is none of {', '.join(LEVELS)}")
    return text


def _session(text: str | None) -> str | None:
    if text is not None and not text.strip():
        raise typer.BadParameter("the id is empty; leave the option out for a new session")
    return text


Question = Annotated[
    str, typer.Argument(metavar="QUESTION", help="What to ask; - reads it from standard input.")
]
ModelUri = Annotated[
    str | None,
    typer.Option(
        "--model",
        metavar="URI",
        help="Model to use, such as chat://openai/gpt-5-mini?timeout=60000",
    ),
]
SessionId = Annotated[
    str | None,
    typer.Option("--session", metavar="ID", callback=_session, help="Session to go on with."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]
DebugDir = Annotated[
    Path, typer.Option("--debug-dir", metavar="DIR", help="Where runs are logged.")
]
ShowDebugDir = Annotated[
    Path | None, typer.Option("--debug-dir", metavar="DIR", help="Where runs are logged.")
]
LogLevel = Annotated[
    str,
    typer.Option("--log-level", metavar="LEVEL", callback=_level, help=f"{', '.join(LEVELS)}."),
]
Limit = Annotated[int, typer.Option("--limit", metavar="N", min=1, help="How many to list.")]
RunName = Annotated[
    str | None, typer.Argument(metavar="[RUN]", help="Run id, or its beginning or end.")
]


def create_app(build_agent: BuildAgent, prog: str) -> typer.Typer:
    """Return the command line as a typer app."""
    app = typer.Typer(
        name=prog,
        help="Talk to the agent, and look at what it did.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )

    @app.callback()
    def start(context: typer.Context) -> None:
        prepare_streams()
        with reported():
            load_environment()
        context.obj = Setup(build_agent, prog)

    app.command()(ask)
    app.command()(chat)
    app.add_typer(_runs_app(), name="runs")
    app.command()(tools)
    arguments = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []}
    for command, module in ((serve, "server"), (mcp, "mcp_server")):
        app.command(context_settings=arguments, hidden=not is_generated(module))(command)
    return app


def _runs_app() -> typer.Typer:
    app = typer.Typer(
        help="List the runs, or show one.", add_completion=False, rich_markup_mode=None
    )
    app.callback(invoke_without_command=True)(runs)
    app.command("list")(list_)
    app.command()(show)
    return app


def ask(
    context: typer.Context,
    question: Question,
    model: ModelUri = None,
    session: SessionId = None,
    as_json: AsJson = False,
    debug_dir: DebugDir = DEBUG_DIR,
    log_level: LogLevel = "warn",
) -> None:
    """Ask one question and print the answer."""
    from .ask import ask as run

    setup = _setup(context, model, debug_dir, log_level)
    with reported(log_level):
        code = run(setup, question, session, as_json)
    raise typer.Exit(code)


def chat(
    context: typer.Context,
    model: ModelUri = None,
    session: SessionId = None,
    debug_dir: DebugDir = DEBUG_DIR,
    log_level: LogLevel = "warn",
) -> None:
    """Talk with the agent; Ctrl-C cancels an answer, Ctrl-D ends."""
    from .chat import chat as run

    setup = _setup(context, model, debug_dir, log_level)
    with reported(log_level):
        run(setup, session)


def _setup(context: typer.Context, model: str | None, debug_dir: Path, log_level: str) -> Setup:
    given: Setup = context.obj
    return dataclasses.replace(given, model=model, debug_dir=debug_dir, log_level=log_level)


def runs(context: typer.Context, limit: Limit = 20, debug_dir: DebugDir = DEBUG_DIR) -> None:
    """List the runs, newest first; `runs show` prints one."""
    if context.invoked_subcommand is not None:
        context.obj = dataclasses.replace(context.obj, debug_dir=debug_dir)
        return
    from .runs import list_runs

    with reported():
        list_runs(debug_dir, limit, context.obj.prog)


def list_(context: typer.Context, limit: Limit = 20, debug_dir: ShowDebugDir = None) -> None:
    """List the runs, newest first: the same as `runs` alone."""
    from .runs import list_runs

    with reported():
        list_runs(debug_dir or context.obj.debug_dir, limit, context.obj.prog)


def show(context: typer.Context, run: RunName = None, debug_dir: ShowDebugDir = None) -> None:
    """Print the conversation of a run (default: the newest) as it was logged."""
    from .show import show_run

    with reported():
        show_run(debug_dir or context.obj.debug_dir, run, context.obj.prog)


def tools(context: typer.Context) -> None:
    """List the tools that the agent has, and what failed to load."""
    from .tools import list_tools

    with reported():
        list_tools(context.obj)


def serve(context: typer.Context) -> None:
    """Serve the agent over HTTP (module `server`)."""
    _run_module(context, "server", "server")


def mcp(context: typer.Context) -> None:
    """Offer the agent as an MCP server (module `mcp`)."""
    _run_module(context, "mcp_server", "mcp")


def _run_module(context: typer.Context, name: str, module: str) -> None:
    with reported():
        run_module(context.obj, name, module, context.args)
