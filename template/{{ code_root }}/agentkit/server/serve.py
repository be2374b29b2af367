"""`serve`: the application in a process of its own."""

from __future__ import annotations

import argparse
import asyncio
import socket
from collections.abc import Callable, Sequence
from dataclasses import fields
from pathlib import Path

import uvicorn

from ..agent.agent import Agent
from ..errors import ConfigError
from ..observability.logger import LEVELS, Logger
from ..observability.run_context import create_run_context
from .app import create_app
from .auth import LOCAL_HOSTS, is_local
from .connection import PromptConnection
from .settings import TOKEN, USER_TOKENS, ServerSettings, tokens_from_environment
from .turns import CLEANUP

# Seconds without a request, longer than the minute of common proxies, which must close first.
KEEP_ALIVE = 75
_LIMITS = {  # options that are named like the settings they set
    "max_body": "bytes of a request",
    "max_input": "characters of what a user says",
    "turns_per_minute": "of one user",
    "turns_at_once": "of all users",
    "wait": "seconds that a turn waits for its session",
    "grace": "seconds that turns may go on at shutdown",
}


def run(build_agent: Callable[..., Agent], prog: str, arguments: Sequence[str]) -> None:
    """Serve the agent until it is told to end.

    Raises `ConfigError` for what it cannot be built or served with.
    """
    options = _parse(prog, arguments)
    limits = {name: getattr(options, name) for name in _LIMITS}
    settings = ServerSettings(tokens_from_environment(), name=prog, **limits)
    if not settings.tokens and not is_local(options.host):
        raise ConfigError(
            f"set {TOKEN} or {USER_TOKENS} to listen on {options.host}; without a token the agent "
            f"is served to this machine only, on {LOCAL_HOSTS[0]}"
        )
    ctx = create_run_context(Logger.from_level_string(prog, options.log_level), options.debug_dir)
    app = create_app(lambda: build_agent(model=options.model, ctx=ctx), settings)
    with _listen(options.host, options.port) as listener:
        print(f"{prog} is served at {_url(options.host, listener)}", flush=True)
        server = uvicorn.Server(
            uvicorn.Config(
                app,
                http=PromptConnection,
                log_level="warning",
                server_header=False,
                lifespan="on",
                timeout_keep_alive=KEEP_ALIVE,
                timeout_graceful_shutdown=int(settings.grace + CLEANUP + 1),
            )
        )
        asyncio.run(server.serve(sockets=[listener]))


def _parse(prog: str, arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(f"{prog} serve", description="Serve the agent over HTTP.")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (%(default)s)")
    parser.add_argument("--port", type=int, default=8000, help="port, 0 for any (%(default)s)")
    parser.add_argument("--model", metavar="URI", help="model to use")
    parser.add_argument("--debug-dir", metavar="DIR", type=Path, default=Path("debug"))
    parser.add_argument("--log-level", choices=LEVELS, default="warn")
    defaults = {field.name: field.default for field in fields(ServerSettings)}
    for name, help in _LIMITS.items():
        default = defaults[name]
        kind = float if isinstance(default, float) else int
        option = f"--{name.replace('_', '-')}"
        parser.add_argument(
            option, metavar="N", type=kind, default=default, help=f"{help} (%(default)s)"
        )
    return parser.parse_args(arguments)


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=2048)
    except (OSError, OverflowError) as error:
        raise ConfigError(f"cannot listen on {host} port {port}: {error}") from None


def _url(host: str, listener: socket.socket) -> str:
    return f"http://{f'[{host}]' if ':' in host else host}:{listener.getsockname()[1]}"
