"""MCP servers that are child processes: started, used, lost, and never left behind."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from ...messages import ToolCall
from ...observability.logger import Logger
from ...tools import mcp_stdio
from ...tools.mcp_client import McpClient, McpServerError
from ...tools.registry import ToolRegistry

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="process groups are of POSIX")
CHILD = Path(__file__).with_name("mcp_child.py")


class Server:
    """A client of a child that behaves as told, and the ledger that the child keeps."""

    def __init__(self, logger: Logger, how: str = "well", **config: Any) -> None:
        self.ledger = Path("ledger.txt").resolve()
        options = json.dumps({"how": how, "ledger": str(self.ledger)})
        command = {"command": sys.executable, "args": ["-I", "-S", str(CHILD), options]}
        self.client = McpClient({**command, **config}, logger, "srv")

    async def call(self, name: str, **arguments: Any) -> str:
        """Call a tool as a run does and return what the model reads."""
        registry = ToolRegistry((await self.client.get_tools()).values())
        result = await registry.execute(ToolCall("1", f"srv__{name}", arguments))
        return ("error: " if result.is_error else "") + result.text

    def lines(self) -> list[str]:
        """Return what happened, in order."""
        return self.ledger.read_text().split()


@asynccontextmanager
async def serving(logger: Logger, how: str = "well", **config: Any) -> AsyncIterator[Server]:
    """Connect for as long as the block takes."""
    server = Server(logger, how, **config)
    await server.client.connect()
    try:
        yield server
    finally:
        await server.client.disconnect()


async def until(happened: Callable[[], bool]) -> None:
    """Wait for what another process does."""
    for _ in range(1_000):
        if happened():
            return
        await asyncio.sleep(0.01)
    pytest.fail("it did not happen within 10 s")


def is_gone(pid: int) -> bool:
    """Tell whether a process has ended; one that nobody has asked for its exit code has."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        if Path("/proc/self").exists():
            return True
        return subprocess.run(["ps", "-p", str(pid)], capture_output=True).returncode != 0
    return state == "Z"


def pid_in(text: str) -> int:
    """Return the number of the process that an answer names."""
    found = re.search(r">\n(\d+)", text)
    assert found is not None
    return int(found[1])


async def test_a_child_is_started_called_and_ended(logger: Logger) -> None:
    """No process is left when `disconnect()` returns."""
    async with serving(logger) as server:
        answer = await server.call("echo", q=1)
        assert 'got {"q": 1}' in answer
        assert not is_gone(pid_in(answer))
    assert is_gone(pid_in(answer))
    assert server.lines() == ["start", "echo"]


async def test_a_child_gets_only_the_environment_it_is_given(
    logger: Logger, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Keys of this process are none of its business; it starts in the directory it is told."""
    monkeypatch.setenv("OPENAI_API_KEY", "canary-123456")
    folder = tmp_path / "here"
    folder.mkdir()
    async with serving(logger, env={"MINE": "1"}, cwd=str(folder)) as server:
        answer = await server.call("env")
    environment, where = json.loads(answer.split("\n")[1])
    assert environment["MINE"] == "1"
    assert "OPENAI_API_KEY" not in environment
    assert set(environment) <= {
        "MINE",
        "HOME",
        "LOGNAME",
        "PATH",
        "SHELL",
        "TERM",
        "USER",
        "LC_CTYPE",
    }
    assert where == str(folder.resolve())


async def test_a_call_that_kills_its_server_is_not_sent_again(logger: Logger) -> None:
    """It may have run. The next call finds a new server."""
    async with serving(logger) as server:
        died = await server.call("die")
        assert died.startswith("error: MCP server srv: the connection broke during the call")
        assert "may have run and is not sent again: it was ended by signal 9" in died
        assert "got {}" in await server.call("echo")
    assert server.lines() == ["start", "die", "start", "echo"]


async def test_a_server_that_was_killed_in_between_is_started_again(logger: Logger) -> None:
    """That it is gone is known before the call, so the call is sent, once."""
    async with serving(logger) as server:
        os.killpg(pid_in(await server.call("echo")), signal.SIGKILL)
        await until(lambda: server.client._lives[-1].over)
        assert "got {}" in await server.call("echo")
    assert server.lines().count("echo") == 2


async def test_what_is_no_message_on_stdout_is_passed_over(logger: Logger) -> None:
    """Servers print greetings."""
    async with serving(logger) as server:
        assert "got {}" in await server.call("print")


async def test_a_call_can_be_cancelled(logger: Logger, monkeypatch: pytest.MonkeyPatch) -> None:
    """The connection stays, though this server cannot stop what it does."""
    monkeypatch.setattr(mcp_stdio, "LEAVE", 0.1)
    async with serving(logger) as server:
        slow = asyncio.create_task(server.call("slow"))
        await until(lambda: "slow" in server.lines())
        slow.cancel()
        with pytest.raises(asyncio.CancelledError):
            await slow
        assert len(server.client._lives) == 1
        assert not server.client._lives[0].over


async def test_a_server_that_only_knows_the_old_handshake_is_asked_in_its_way(
    logger: Logger,
) -> None:
    """Some end when the first message is a question they do not know."""
    async with serving(logger, "strict") as server:
        assert "got {}" in await server.call("echo")
    assert server.lines() == ["start", "start", "echo"]


@pytest.mark.parametrize(
    ("config", "cause"),
    [
        ({"command": "no-such-command"}, "there is no command 'no-such-command'; install it"),
        ({"command": "/"}, "'/' cannot be started: Permission denied"),
        ({"cwd": "/no/such"}, "there is no directory '/no/such' to start it in"),
        ({"how": "exit"}, "it exited with code 1: ModuleNotFoundError: No module named 'numpy'"),
        ({"how": "long"}, "it sent a message of more than 0 MB"),
    ],
)
async def test_a_server_that_cannot_be_used_says_why(
    config: Any, cause: str, logger: Logger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The root cause, in a line; nothing is left of it."""
    monkeypatch.setattr(mcp_stdio, "LONGEST_LINE", 10_000)
    server = Server(logger, **config)
    with pytest.raises(McpServerError) as caught:
        await server.client.connect()
    assert str(caught.value).startswith(f"MCP server srv: {cause}")
    await server.client.disconnect()


@pytest.mark.parametrize("how", ["well", "stays"])
async def test_nothing_of_a_server_survives(
    how: str, logger: Logger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither one that stays when its input ends, nor a child of it that will not be told."""
    monkeypatch.setattr(mcp_stdio, "LEAVE", 0.2)
    monkeypatch.setattr(mcp_stdio, "END", 0.2)
    async with serving(logger, how) as server:
        pids = [pid_in(await server.call(tool)) for tool in ("echo", "grandchild")]
    assert all(map(is_gone, pids))


async def test_a_stubborn_server_is_ended_while_it_is_connected(
    logger: Logger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Giving up on one that never answers and ignores every request to leave ends it."""
    monkeypatch.setattr(mcp_stdio, "LEAVE", 0.1)
    monkeypatch.setattr(mcp_stdio, "END", 0.1)
    server = Server(logger, "stubborn")
    waiting = asyncio.create_task(server.client.connect())
    await until(server.ledger.exists)
    await server.client.disconnect()
    with pytest.raises(McpServerError):
        await waiting


def test_a_client_can_be_used_in_one_event_loop_after_the_other(logger: Logger) -> None:
    """A loop that ends takes its connection along; the next one gets its own."""
    server = Server(logger)
    pids = []

    async def use() -> None:
        await server.client.connect()
        pids.append(pid_in(await server.call("echo")))

    asyncio.run(use())
    asyncio.run(use())
    assert all(map(is_gone, pids))
    asyncio.run(server.client.disconnect())
    assert server.lines() == ["start", "echo"] * 2


def test_a_server_ends_with_a_process_that_is_killed(tmp_path: Path) -> None:
    """A killed agent can clean nothing up, so a watcher does, even where the server would stay."""
    package = __package__.rpartition(".tests.")[0]
    program = f"""
import asyncio
from {package}.observability.logger import Logger
from {package}.tools.mcp_client import McpClient
async def main():
    options = '{{"how": "stays", "ledger": "ledger.txt"}}'
    config = {{"command": {sys.executable!r}, "args": ["-I", "-S", {str(CHILD)!r}, options]}}
    client = McpClient(config, Logger("x"), "srv")
    await client.connect()
    tools = await client.get_tools()
    print((await tools["srv__echo"].execute({{}}, None))[0].text, flush=True)
    await asyncio.sleep(60)
asyncio.run(main())
"""
    root = Path(__file__).parents[3 + package.count(".")]
    with subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(root)},
    ) as agent:
        assert agent.stdout is not None
        pid = pid_in(agent.stdout.readline() + agent.stdout.readline())
        agent.kill()
    for _ in range(500):
        if is_gone(pid):
            break
        time.sleep(0.01)
    assert is_gone(pid)
