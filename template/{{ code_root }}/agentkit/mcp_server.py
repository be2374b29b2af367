"""The agent as an MCP server with one tool, `ask`: for editors and other agents.

A client's questions are one conversation: over stdio those of the process, over HTTP those of the
client's session. Where the protocol has no sessions, each answer names one to go on with.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import functools
import hashlib
import hmac
import os
import re
import secrets
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .agent.agent import Agent
from .errors import AgentError, AgentkitError, ConfigError
from .llm.events import Finished, ToolStarted
from .llm.result import GenerateResult
from .observability.logger import LEVELS, Logger
from .observability.redact import add_secret, exception_text, mask
from .observability.run_context import RunContext, create_run_context
from .tools.thread import run_in_thread

if TYPE_CHECKING:
    from mcp.server import Server
    from mcp.types import CallToolRequestParams, CallToolResult, ListToolsResult

TOKEN_VARIABLE = "AGENT_MCP_TOKEN"  # what clients over HTTP have to send, if it is set
CONTEXTS_KEPT = 1_000
_LOCAL = ("127.0.0.1", "::1", "localhost")
_SESSION = re.compile(r"mcp-[0-9a-f]{32}")  # long enough that nobody guesses another's
_CUT_SHORT = {
    "length": "The answer is cut off.",
    "max_steps": "The agent stopped before it had a final answer.",
    "limit": "The agent reached its limit of cost or tokens.",
}
_SCHEMA = {
    "type": "object",
    "properties": {
        "question": {"type": "string", "description": "What to ask, with all that it takes."},
        "session": {"type": "string", "description": "A conversation to go on with, as told."},
    },
    "required": ["question"],
    "additionalProperties": False,
}


def run(build_agent: Callable[..., Agent], prog: str, arguments: Sequence[str]) -> None:
    """Serve the agent over stdio, or with `--http` over HTTP, until its client or Ctrl-C ends it.

    Raises `ConfigError` for what it cannot be built or served with.
    """
    options = _parse(prog, arguments)
    ctx = create_run_context(Logger.from_level_string(prog, options.log_level), options.debug_dir)
    with contextlib.redirect_stdout(sys.stderr):  # over stdio, stdout belongs to the protocol
        agent = build_agent(model=options.model, ctx=ctx)
        if options.http:
            asyncio.run(_serve_http(agent, prog, options.host, options.port))
        else:
            asyncio.run(_serve_stdio(agent, prog))


def _parse(prog: str, arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(f"{prog} mcp", description="Offer the agent over MCP.")
    parser.add_argument("--http", action="store_true", help="over HTTP instead of stdio")
    parser.add_argument("--host", default=_LOCAL[0], help="address to listen on (%(default)s)")
    parser.add_argument("--port", type=int, default=8000, help="port, 0 for any (%(default)s)")
    parser.add_argument("--model", metavar="URI", help="model to use")
    parser.add_argument("--debug-dir", metavar="DIR", type=Path, default=Path("debug"))
    parser.add_argument("--log-level", choices=LEVELS, default="warn")
    return parser.parse_args(arguments)


def create_server(agent: Agent, prog: str, session: str | None = None) -> Server[Any]:
    """Return the SDK's server for an agent; with `session` all clients share that conversation."""
    from mcp.server import Server

    desk = _Desk(agent, prog, session)
    return Server(prog, version="1", on_list_tools=desk.list_tools, on_call_tool=desk.call_tool)


class _Desk:
    """Takes questions and hands out answers."""

    def __init__(self, agent: Agent, prog: str, session: str | None) -> None:
        self._agent = agent
        self._prog = prog
        self._session = session
        # Costs and logs are those of one conversation.
        self._context = functools.lru_cache(CONTEXTS_KEPT)(self._new_context)

    async def list_tools(self, request: Any, params: Any) -> ListToolsResult:
        """Answer `tools/list`."""
        from mcp.types import ListToolsResult, Tool

        about = f"Ask the agent {self._prog}. It answers in text and remembers the conversation."
        return ListToolsResult(tools=[Tool(name="ask", description=about, input_schema=_SCHEMA)])

    async def call_tool(self, request: Any, params: CallToolRequestParams) -> CallToolResult:
        """Answer `tools/call`; whatever fails is an error that the client's model can read."""
        from mcp.types import CallToolResult, TextContent

        try:
            question, asked = _read_arguments(params)
            session, is_new = self._session_of(asked, request)
            texts = [await self._answer(question, session, request.session.report_progress)]
            if is_new:
                texts.append(f"To go on with this conversation, give session: {session}")
            failed = False
        except AgentkitError as error:
            texts, failed = [mask(str(error))], True
        except Exception as error:
            self._agent.ctx.logger.error("a question failed", error)
            texts, failed = [exception_text(error)], True
        content = [TextContent(text=text) for text in texts]
        return CallToolResult(content=list(content), is_error=failed)

    async def _answer(
        self, question: str, session: str, report: Callable[..., Awaitable[None]]
    ) -> str:
        events = self._agent.stream(question, session, ctx=self._context(session), deltas=False)
        tools = 0
        async with contextlib.aclosing(events):
            async for event in events:
                if isinstance(event, ToolStarted):
                    tools += 1
                    await report(float(tools), message=f"tool {event.call.name}")
        assert isinstance(event, Finished)
        return _text(event.result)

    def _session_of(self, asked: str | None, request: Any) -> tuple[str, bool]:
        """Return the conversation of a request, and whether the client must be told its id."""
        if asked is not None:
            if not _SESSION.fullmatch(asked):
                raise ConfigError("there is no such session; leave `session` out for a new one")
            return asked, False
        if self._session is not None:
            return self._session, False
        if own := getattr(request.request, "headers", {}).get("mcp-session-id"):
            return f"mcp-{hashlib.sha256(own.encode()).hexdigest()[:32]}", False
        return _new_session(), True

    def _new_context(self, session: str) -> RunContext:
        return self._agent.ctx.another()


def _new_session() -> str:
    return f"mcp-{secrets.token_hex(16)}"


def _read_arguments(params: CallToolRequestParams) -> tuple[str, str | None]:
    arguments = params.arguments or {}
    question, session = arguments.get("question"), arguments.get("session")
    if params.name != "ask":
        raise ConfigError(f"there is no tool named {params.name!r}; there is only 'ask'")
    if not isinstance(question, str) or not isinstance(session, str | None):
        raise ConfigError("`question` must be a text, `session` too if it is given")
    return question, session or None


def _text(result: GenerateResult) -> str:
    if result.finish_reason in ("refused", "blocked", "invalid", "empty"):
        detail = result.steps[-1].detail if result.steps else ""
        raise AgentError(f"no answer, it was {result.finish_reason}: {detail or 'no reason given'}")
    note = _CUT_SHORT.get(result.finish_reason)
    return result.text if note is None else f"{result.text}\n\n({note})".lstrip()


async def _serve_stdio(agent: Agent, prog: str) -> None:
    import anyio
    from mcp.server.stdio import stdio_server

    server = create_server(agent, prog, _new_session())
    source, target = os.dup(0), os.dup(1)  # what is printed or read elsewhere must not meet them
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    questions: Any = _lines(source)
    answers = anyio.wrap_file(os.fdopen(target, "w", encoding="utf-8", newline="\n"))
    async with _open(agent), stdio_server(questions, answers) as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


async def _lines(source: int) -> AsyncIterator[str]:
    """Yield lines; read in daemon threads, so that Ctrl-C need not wait for the next line."""
    rest = b""
    while chunk := await run_in_thread(functools.partial(os.read, source, 65_536)):
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            yield line.decode("utf-8", "replace")


async def _serve_http(agent: Agent, prog: str, host: str, port: int) -> None:
    import uvicorn

    token = os.environ.get(TOKEN_VARIABLE, "").strip()
    add_secret(token)
    if not token and host not in _LOCAL:
        raise ConfigError(f"set {TOKEN_VARIABLE} to listen on {host}; clients must send it")
    app = create_server(agent, prog).streamable_http_app(host=host)
    config = uvicorn.Config(_guarded(app, token), log_level="warning", lifespan="on")
    with _listen(host, port) as listener:
        where = f"http://{host}:{listener.getsockname()[1]}/mcp"
        print(f"{prog} is an MCP server at {where}", file=sys.stderr)
        async with _open(agent):
            await uvicorn.Server(config).serve(sockets=[listener])


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except (OSError, OverflowError) as error:
        raise ConfigError(f"cannot listen on {host} port {port}: {error}") from None


def _guarded(app: Any, token: str) -> Any:
    """Let only those in who send the token, if there is one."""
    expected = f"Bearer {token}".encode()

    async def guard(scope: Any, receive: Any, send: Any) -> None:
        given = dict(scope.get("headers") or ()).get(b"authorization", b"")
        if token and scope["type"] == "http" and not hmac.compare_digest(given, expected):
            headers = [(b"www-authenticate", b"Bearer"), (b"content-length", b"0")]
            await send({"type": "http.response.start", "status": 401, "headers": headers})
            await send({"type": "http.response.body"})
            return
        await app(scope, receive, send)

    return guard


@contextlib.asynccontextmanager
async def _open(agent: Agent) -> AsyncIterator[None]:
    """Connect what the agent uses, and close all of it: it was built for this server."""
    try:
        async with agent:
            yield
    finally:
        await agent.llm.aclose()
        await agent.store.aclose()
