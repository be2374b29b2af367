"""An MCP server as a child process: a JSON message per line over its pipes, nothing left behind.

The server leads a process group of its own, which is ended with the connection, and by a watcher
if this process should die first.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

from ..errors import ConfigError
from ..observability.redact import mask
from ..texts import clean
from .mcp_config import StdioServer

LONGEST_LINE = 16 * 1024 * 1024  # bytes of one message
LAST_WORDS = 2_000  # characters of stderr that are kept to tell why a server ended
LEAVE = 2.0  # seconds to end by itself once its input is closed
END = 1.0  # seconds from SIGTERM to SIGKILL
POLL = 0.01

# Waits for the end of its input, which comes when this process ends in whatever way.
_WATCH = 'read -r _; kill -TERM -"$0"; sleep 1; kill -KILL -"$0"'


@asynccontextmanager
async def stdio_transport(
    server: StdioServer, lost: Callable[[str], None], debug: Callable[[str], None]
) -> AsyncIterator[Any]:
    """Start the server and yield the SDK's pair of message streams; end it on the way out.

    `lost(reason)` is called when it ends by itself, `debug(line)` with what it writes to stderr.
    Raises `ConfigError` for a command that cannot be started.
    """
    import anyio

    process = await _start(server)
    child = _Child(process, lost, debug)
    watcher = _watch(process.pid)
    to_session, incoming = anyio.create_memory_object_stream[Any](0)
    outgoing, from_session = anyio.create_memory_object_stream[Any](0)
    tasks = [
        asyncio.create_task(child.read(to_session)),
        asyncio.create_task(child.write(from_session)),
        asyncio.create_task(child.listen()),
    ]
    try:
        yield incoming, outgoing
    finally:
        try:
            await _end(process)
        finally:
            for task in tasks:
                task.cancel()
            for stream in (to_session, incoming, outgoing, from_session):
                stream.close()
            _release(process, watcher)
            await asyncio.gather(*tasks, return_exceptions=True)


async def _start(server: StdioServer) -> Process:
    from mcp.client.stdio import get_default_environment

    env = {**get_default_environment(), **server.env}
    command = server.command
    if sys.platform == "win32":  # finds npx.cmd for npx
        command = shutil.which(command, path=env.get("PATH")) or command
    try:
        return await asyncio.create_subprocess_exec(
            command,
            *server.args,
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            env=env,
            cwd=server.cwd,
            limit=LONGEST_LINE,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        raise ConfigError(_why_not_started(server, error)) from None


def _why_not_started(server: StdioServer, error: Exception) -> str:
    if server.cwd is not None and not os.path.isdir(server.cwd):
        return f"there is no directory {server.cwd!r} to start it in; correct `cwd`"
    if isinstance(error, FileNotFoundError):
        return f"there is no command {server.command!r}; install it or correct `command`"
    reason = error.strerror if isinstance(error, OSError) else error
    return mask(f"{server.command!r} cannot be started: {reason}")


class _Child:
    """A running server: its pipes as streams of messages."""

    def __init__(
        self, process: Process, lost: Callable[[str], None], debug: Callable[[str], None]
    ) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        self._process = process
        self._stdin, self._stdout = process.stdin, process.stdout
        self._stderr = process.stderr
        self._lost = lost
        self._debug = debug
        self._last_words = ""

    async def read(self, to_session: Any) -> None:
        """Pass on what the server says until it ends, then say why."""
        try:
            with to_session:
                while line := await self._stdout.readline():
                    await self._deliver(line, to_session)
                self._lost(await self._reason())
        except ValueError:
            self._lost(f"it sent a message of more than {LONGEST_LINE // 1024**2} MB")
        except OSError as error:
            self._lost(f"its output broke off: {error}")

    async def _deliver(self, line: bytes, to_session: Any) -> None:
        from anyio import BrokenResourceError, ClosedResourceError
        from mcp.shared.message import SessionMessage
        from mcp.types import jsonrpc_message_adapter

        try:
            message = jsonrpc_message_adapter.validate_json(line, by_name=False)
        except ValueError:  # a greeting, a print: not for us
            text = line.decode(errors="replace").strip()
            return self._debug(f"no message on stdout: {text[:200]}")
        # Once the session is over the rest is only drained, so that the server can leave.
        with suppress(BrokenResourceError, ClosedResourceError):
            await to_session.send(SessionMessage(message))

    async def write(self, from_session: Any) -> None:
        """Pass on what the session says."""
        try:
            async for message in from_session:
                text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                self._stdin.write(text.encode() + b"\n")
                await self._stdin.drain()
        except OSError:
            return  # it no longer reads; that it ended is what `read` finds out

    async def listen(self) -> None:
        """Keep the server's last words."""
        while chunk := await self._stderr.read(4096):
            text = clean(chunk.decode(errors="replace"))
            self._last_words = (self._last_words + text)[-LAST_WORDS:]
            self._debug(f"stderr: {text.rstrip()}")

    async def _reason(self) -> str:
        code = await _exit_code(self._process, END)
        if code is None:
            return "it closed its output"
        if code < 0:
            return f"it was ended by signal {-code}"
        await asyncio.sleep(POLL)  # for what is still in the pipe of stderr
        lines = self._last_words.strip().splitlines()
        last = f": {lines[-1].strip()[:300]}" if lines else ""
        return mask(f"it exited with code {code}{last}")


async def _exit_code(process: Process, seconds: float) -> int | None:
    """Wait for the end. `process.wait()` also waits for pipes that a grandchild may hold."""
    for _ in range(int(seconds / POLL)):
        if process.returncode is not None:
            break
        await asyncio.sleep(POLL)
    return process.returncode


async def _end(process: Process) -> None:
    """Close the server's input, give it time to leave, then end what is left of its group."""
    assert process.stdin is not None
    try:
        process.stdin.close()
        await _exit_code(process, LEAVE)
        for name in ("SIGTERM", "SIGKILL"):
            polls = int(END / POLL) if _signal(process.pid, name) else 0
            while polls and _signal(process.pid, None):
                polls -= 1
                await asyncio.sleep(POLL)
    finally:  # also when this is cancelled
        _signal(process.pid, "SIGKILL")


def _signal(group: int, name: str | None) -> bool:
    """Signal all processes of the group (None: only look); tell whether there are any."""
    if sys.platform == "win32":
        command = ["taskkill", "/F", "/T", "/PID", str(group)]
        return name is not None and subprocess.run(command, capture_output=True).returncode == 0
    try:
        os.killpg(group, signal.Signals[name] if name else 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # macOS: nothing but zombies is left
        return True
    return True


def _watch(group: int) -> subprocess.Popen[bytes] | None:
    if sys.platform == "win32":
        return None
    try:
        return subprocess.Popen(
            ["/bin/sh", "-c", _WATCH, str(group)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError:  # a container without a shell
        return None


def _release(process: Process, watcher: subprocess.Popen[bytes] | None) -> None:
    if watcher is not None:
        watcher.kill()
        watcher.wait()
        assert watcher.stdin is not None
        watcher.stdin.close()
    # A process that left the group may hold the pipes: the transport would wait for it for ever.
    transport = getattr(process, "_transport", None)
    if transport is not None:
        with suppress(OSError):
            transport.close()
