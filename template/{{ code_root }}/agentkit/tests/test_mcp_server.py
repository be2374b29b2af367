"""The agent as an MCP server: its tool, its conversations, and what it lets out."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from ..agent.agent import Agent
from ..errors import ConfigError
from ..mcp_server import _guarded, _serve_http, create_server, run
from ..observability.redact import add_secret
from ..observability.run_context import RunContext
from .conftest import MakeRequester
from .fake_chat import FakeChat, calls, error_body, status

SAFE = Path(__file__).parents[1]


@asynccontextmanager
async def serving(agent: Agent, session: str | None = "mcp-" + "0" * 32) -> AsyncIterator[Client]:
    """Yield the SDK's client of a server in this process."""
    async with Client(create_server(agent, "tutor", session)) as client:
        yield client


async def ask(client: Client, question: Any, **more: Any) -> list[str]:
    """Return the texts of an answer, the first one marked if it is an error."""
    result = await client.call_tool("ask", {"question": question, **more})
    texts = [part.text for part in result.content if part.type == "text"]
    return [f"error: {texts[0]}", *texts[1:]] if result.is_error else texts


async def test_the_agent_is_one_tool(requester: MakeRequester) -> None:
    """It takes a question and gives the answer."""
    with FakeChat(["It means quick."]) as fake:
        async with serving(Agent(requester(fake))) as client:
            (tool,) = (await client.list_tools()).tools
            assert (tool.name, tool.input_schema["required"]) == ("ask", ["question"])
            assert await ask(client, "What does brisk mean?") == ["It means quick."]


async def test_a_client_has_one_conversation(requester: MakeRequester) -> None:
    """The second question knows the first; a new client starts anew."""
    agent_fake = FakeChat(["one", "two", "three"])
    with agent_fake as fake:
        agent = Agent(requester(fake))
        async with serving(agent, "mcp-" + "a" * 32) as client:
            await ask(client, "First")
            await ask(client, "Second")
        async with serving(agent, "mcp-" + "b" * 32) as client:
            await ask(client, "Third")
    assert [len(request["messages"]) for request in fake.requests] == [1, 3, 1]


async def test_where_there_are_no_sessions_the_answer_names_one(requester: MakeRequester) -> None:
    """Given back, it goes on with the conversation; nobody can guess it."""
    with FakeChat(["one", "two", "three"]) as fake:
        async with serving(Agent(requester(fake)), None) as client:
            answer, hint = await ask(client, "First")
            session = hint.split()[-1]
            assert await ask(client, "Second", session=session) == ["two"]
            _, other = await ask(client, "Third")
    assert answer == "one"
    assert len(session) == len("mcp-") + 32
    assert other != hint
    assert [len(request["messages"]) for request in fake.requests] == [1, 3, 1]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({}, "`question` must be a text"),
        ({"question": 5}, "`question` must be a text"),
        ({"question": " "}, "the input is empty"),
        ({"question": "Hi", "session": "default"}, "there is no such session"),
        ({"question": "Hi", "session": "../mcp"}, "there is no such session"),
    ],
)
async def test_a_question_that_cannot_be_asked_is_an_error(
    arguments: dict[str, Any], problem: str, requester: MakeRequester
) -> None:
    """The client's model reads why; conversations that are not of this server stay closed."""
    with FakeChat([]) as fake:
        async with serving(Agent(requester(fake))) as client:
            result = await client.call_tool("ask", arguments)
    assert result.is_error
    assert problem in result.content[0].text  # type: ignore[union-attr]


@pytest.mark.checklist("secrets")
async def test_a_failure_of_the_model_is_an_error_without_secrets(
    requester: MakeRequester,
) -> None:
    """The client learns what went wrong, not with which key."""
    add_secret("canary-123456")
    with FakeChat(
        [status(401, body=error_body("bad key canary-123456", "invalid_api_key"))]
    ) as fake:
        async with serving(Agent(requester(fake))) as client:
            (answer,) = await ask(client, "Hi")
    assert answer.startswith("error: ")
    assert "bad key ***" in answer


async def test_tools_that_the_agent_runs_are_progress(requester: MakeRequester) -> None:
    """A client that waits sees that something happens."""
    steps: list[str | None] = []

    async def report(progress: float, total: float | None, message: str | None) -> None:
        steps.append(message)

    with FakeChat([calls(("nothing", {})), "done"]) as fake:
        async with serving(Agent(requester(fake))) as client:
            await client.call_tool("ask", {"question": "Hi"}, progress_callback=report)
    assert steps == ["tool nothing"]


async def test_without_a_token_nobody_else_is_served(
    ctx: RunContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An agent that the network can reach must know who asks."""
    agent = Agent("chat://offline/echo", ctx=ctx)
    with pytest.raises(ConfigError, match="set AGENT_MCP_TOKEN to listen on"):
        await _serve_http(agent, "tutor", "0.0.0.0", 0)


@pytest.mark.parametrize(
    ("given", "allowed"), [(b"Bearer right", True), (b"Bearer wrong", False), (b"", False)]
)
async def test_over_http_the_token_is_asked_for(given: bytes, allowed: bool) -> None:
    """The right one passes, anything else is answered with 401."""
    sent: list[dict[str, Any]] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"status": 200})

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    scope = {"type": "http", "headers": [(b"authorization", given)]}
    await _guarded(app, "right")(scope, None, send)
    assert sent[0]["status"] == (200 if allowed else 401)


def test_a_wrong_option_is_a_wrong_use(capsys: pytest.CaptureFixture[str]) -> None:
    """As with the other commands, the exit code is 2."""
    with pytest.raises(SystemExit) as caught:
        run(lambda **_: None, "tutor", ["--nope"])  # type: ignore[arg-type]
    assert caught.value.code == 2
    assert "tutor mcp" in capsys.readouterr().err


PROGRAM = """
from {package} import Agent, Message, ScriptedProvider, ToolCall, tool
from {package}.mcp_server import run
@tool
async def shout() -> str:
    "Shout."
    print("from a tool")
    return "done"
def build_agent(model=None, ctx=None):
    print("from the builder")
    call = Message(role="assistant", parts=(ToolCall("1", "shout"),))
    return Agent(ScriptedProvider([call, "ready"]), ctx=ctx, tools=[shout])
run(build_agent, "tutor", [])
"""


def test_over_stdio_stdout_holds_nothing_but_messages(tmp_path: Path) -> None:
    """Whatever the user's code prints goes to stderr; when the input ends, so does the server."""
    package = __package__.rpartition(".")[0]
    root = SAFE.joinpath(*[".."] * len(package.split("."))).resolve()
    params = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "c", "version": "1"},
    }
    messages: Sequence[dict[str, Any]] = (
        {"id": 1, "method": "initialize", "params": params},
        {"method": "notifications/initialized"},
        {
            "id": 2,
            "method": "tools/call",
            "params": {"name": "ask", "arguments": {"question": "?"}},
        },
    )
    program = subprocess.Popen(
        [sys.executable, "-c", PROGRAM.format(package=package)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env={"PYTHONPATH": str(root), "PATH": "/usr/bin:/bin"},
    )
    assert program.stdin is not None
    assert program.stdout is not None
    for message in messages:
        program.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    program.stdin.flush()
    replies = [json.loads(program.stdout.readline()) for _ in range(2)]
    rest, errors = program.communicate()
    assert replies[1]["result"]["content"][0]["text"] == "ready"
    assert rest == ""
    assert "from the builder" in errors
    assert "from a tool" in errors
    assert program.returncode == 0
