"""The tools of an MCP server over HTTP, in both eras of the protocol."""

from __future__ import annotations

import asyncio
import io
from typing import Any

import httpx2
import pytest

from ...errors import ToolError
from ...messages import ToolCall
from ...observability.logger import Logger
from ...retry import Backoff
from ...tools.mcp_client import McpClient, McpServerError
from ...tools.registry import ToolRegistry
from ...tools.tool import Tool, ToolContext
from .fake_mcp import NEW, OLD, URL, FakeMcp, described, hanging, text

pytestmark = pytest.mark.virtual_time
ERAS = pytest.mark.parametrize("era", [OLD, NEW])


def client(fake: FakeMcp, logger: Logger, **options: Any) -> McpClient:
    """Return a client whose requests go to the fake."""
    config = {"type": "http", "url": URL, "headers": {"Authorization": "Bearer canary-123456"}}
    return McpClient(config, logger, "srv", transport=fake.transport, **options)


async def connected(fake: FakeMcp, logger: Logger, **options: Any) -> dict[str, Tool]:
    """Return the tools of the fake; what is connected ends with the test's loop."""
    mcp = client(fake, logger, **options)
    await mcp.connect()
    return await mcp.get_tools()


async def call(tool: Tool, **arguments: Any) -> str:
    """Run a tool the way a run does and return what the model reads."""
    result = await ToolRegistry([tool]).execute(ToolCall("1", tool.name, arguments))
    return ("error: " if result.is_error else "") + result.text


@ERAS
async def test_tools_are_listed_called_and_left(era: str, logger: Logger) -> None:
    """The whole way, from the handshake to the end of the session."""
    fake = FakeMcp(era, echo=lambda arguments: text(f"got {arguments}"))
    mcp = client(fake, logger)
    await mcp.connect()
    tool = (await mcp.get_tools())["srv__echo"]
    assert tool.description == "Does echo."
    assert "got {'q': 1}" in await call(tool, q=1)
    await mcp.disconnect()
    assert fake.calls == [("echo", {"q": 1})]
    assert fake.sessions == set()


async def test_the_keys_of_a_server_reach_it(logger: Logger) -> None:
    """Headers go with every request."""
    fake, seen = FakeMcp(echo=lambda _: text("hi")), []
    fake.fault = lambda request: seen.append(request.headers.get("authorization"))
    await call((await connected(fake, logger))["srv__echo"])
    assert len(seen) >= 4
    assert set(seen) == {"Bearer canary-123456"}


@pytest.mark.parametrize("schema", [{}, {"type": "object"}, {"additionalProperties": False}])
async def test_a_tool_without_parameters_can_be_called(schema: Any, logger: Logger) -> None:
    """Its schema gets what providers want to see, and the server an empty object."""
    fake = FakeMcp(now=lambda _: text("12:00"))
    fake.pages = [{"tools": [described("now", inputSchema=schema)]}]
    tool = (await connected(fake, logger))["srv__now"]
    assert tool.parameters == {"type": "object", "properties": {}, **schema}
    assert "12:00" in await call(tool)
    assert fake.calls == [("now", {})]


async def test_a_schema_arrives_as_the_server_has_it(logger: Logger) -> None:
    """Types and what is required are what the model is told."""
    schema = {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}
    fake = FakeMcp()
    fake.pages = [{"tools": [described("find", inputSchema=schema)]}]
    assert (await connected(fake, logger))["srv__find"].parameters == schema


async def test_a_tool_that_lies_about_its_schema_is_left_out(
    logger: Logger, log: io.StringIO
) -> None:
    """It costs one warning and itself: a provider would refuse the whole request."""
    bad: list[Any] = [{"type": "string"}, {"properties": [1]}, {"required": "q"}, None]
    tools = [described(f"t{number}", inputSchema=schema) for number, schema in enumerate(bad)]
    fake = FakeMcp()
    fake.pages = [{"tools": [*tools, {"nome": "x"}, described("good", annotations=7)]}]
    assert list(await connected(fake, logger)) == ["srv__good"]
    (warning,) = [line for line in log.getvalue().splitlines() if "WARN" in line]
    assert "[test:srv] 5 of its tools are left out, such as {'name': 't0'" in warning


async def test_all_pages_are_read(logger: Logger) -> None:
    """A list may come in pieces."""
    fake = FakeMcp()
    fake.pages = [
        {"tools": [described("a")], "nextCursor": "1"},
        {"tools": [described("b")], "nextCursor": "2"},
        {"tools": [described("c")]},
    ]
    assert list(await connected(fake, logger)) == ["srv__a", "srv__b", "srv__c"]


async def test_a_list_without_an_end_is_left(logger: Logger, log: io.StringIO) -> None:
    """Pages that lead in a circle are read once, and a warning says so."""
    fake = FakeMcp()
    fake.pages = [
        {"tools": [described("a")], "nextCursor": "1"},
        {"tools": [described("b")], "nextCursor": "0"},
    ]
    assert list(await connected(fake, logger)) == ["srv__a", "srv__b"]
    assert fake.seen.count("tools/list") <= 4
    assert log.getvalue().count("list of tools has no end") == 1


@ERAS
async def test_tools_that_change_are_there_when_asked_again(era: str, logger: Logger) -> None:
    """The server tells it; what stayed is the same tool, and nothing is asked twice."""
    fake = FakeMcp(era, a=lambda _: text("a"), b=lambda _: text("b"))
    mcp = client(fake, logger)
    await mcp.connect()
    before = await mcp.get_tools()
    await asyncio.sleep(1)
    await mcp.get_tools()
    fake.change(b=lambda _: text("b"), c=lambda _: text("c"))
    await asyncio.sleep(1)
    after = await mcp.get_tools()
    asked = fake.seen.count("tools/list")
    assert list(after) == ["srv__b", "srv__c"]
    assert after["srv__b"] is before["srv__b"]
    await mcp.get_tools()
    assert fake.seen.count("tools/list") == asked
    await mcp.disconnect()


@ERAS
async def test_an_error_of_a_tool_is_an_error_for_the_model(era: str, logger: Logger) -> None:
    """Whether the tool or the protocol says it, the words arrive, marked as untrusted."""
    fake = FakeMcp(era, boom=lambda _: text("disk full", isError=True))
    fake.pages = [{"tools": [described("boom"), described("gone")]}]
    tools = await connected(fake, logger)
    failed, unknown = await call(tools["srv__boom"]), await call(tools["srv__gone"])
    assert failed.startswith("error: <untrusted-")
    assert "disk full" in failed
    assert unknown.startswith("error: <untrusted-")
    assert "Unknown tool: gone" in unknown


async def test_an_answer_that_breaks_the_protocol_says_that_the_tool_ran(logger: Logger) -> None:
    """The model must not take it for a call that did not happen."""
    fake = FakeMcp(odd=lambda _: {"content": [{"type": "poem"}]})
    answer = await call((await connected(fake, logger))["srv__odd"])
    assert "It ran, but its answer breaks the protocol" in answer


async def test_a_result_that_breaks_the_tools_own_output_schema_is_told(logger: Logger) -> None:
    """The model reads what came: it is not the agent who needs that schema."""
    fake = FakeMcp(sum=lambda _: text("4", structuredContent={"sum": "four"}))
    schema = {"type": "object", "properties": {"sum": {"type": "integer"}}}
    fake.pages = [{"tools": [described("sum", outputSchema=schema)]}]
    assert "four" in await call((await connected(fake, logger))["srv__sum"])


async def test_a_call_has_a_limit_and_leaves_the_session_usable(logger: Logger) -> None:
    """The server is told to stop, and the next call works."""
    fake = FakeMcp(NEW, slow=hanging, quick=lambda _: text("hi"))
    tools = await connected(fake, logger, call_timeout=5.0)
    assert "No answer within 5 s; the call may have run." in await call(tools["srv__slow"])
    assert "hi" in await call(tools["srv__quick"])
    assert fake.seen.count("server/discover") == 1


async def test_a_call_can_be_cancelled_and_leaves_the_session_usable(logger: Logger) -> None:
    """In the old era a notification tells the server."""
    fake = FakeMcp(OLD, slow=hanging, quick=lambda _: text("hi"))
    tools = await connected(fake, logger)
    running = asyncio.create_task(call(tools["srv__slow"]))
    await asyncio.sleep(1)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert "hi" in await call(tools["srv__quick"])
    assert fake.cancelled == 1
    assert fake.seen.count("initialize") == 1


async def test_a_session_that_expired_is_begun_anew_and_the_call_sent_once_more(
    logger: Logger,
) -> None:
    """A server that does not know the session cannot have run the call."""
    fake = FakeMcp(OLD, add=lambda _: text("added"))
    tools = await connected(fake, logger)
    fake.sessions.clear()
    assert "added" in await call(tools["srv__add"])
    assert fake.calls == [("add", {})]
    assert fake.seen.count("initialize") == 2


@ERAS
async def test_a_call_that_was_not_taken_is_sent_again(
    era: str, logger: Logger, backoff: Backoff, sleeps: list[float]
) -> None:
    """A server that restarts refuses connections for a moment."""
    fake, refused = FakeMcp(era, add=lambda _: text("added")), [2]
    tools = await connected(fake, logger, backoff=backoff)

    def refuse(request: httpx2.Request) -> None:
        if b"tools/call" in request.content and refused[0]:
            refused[0] -= 1
            raise httpx2.ConnectError("connection refused")

    fake.fault = refuse
    assert "added" in await call(tools["srv__add"])
    assert fake.calls == [("add", {})]
    assert sleeps[-2:] == [1.0, 2.0]


@ERAS
async def test_a_call_that_may_have_run_is_never_sent_again(era: str, logger: Logger) -> None:
    """The connection breaks after the server took it: the model is told, and decides."""
    fake = FakeMcp(era, pay=lambda _: httpx2.ReadError("connection reset"))
    tools = await connected(fake, logger)
    answer = await call(tools["srv__pay"])
    assert answer.startswith("error: ")
    assert "connection reset" in answer
    assert fake.calls == [("pay", {})]


async def test_progress_is_passed_on(logger: Logger) -> None:
    """Who watches the run hears how far the tool is."""
    steps: list[tuple[float, float | None, str]] = []
    fake = FakeMcp(NEW, work=lambda _: text("done"))
    fake.progress["work"] = [{"progress": 1, "total": 2, "message": "half"}, {"progress": 2}]
    tool = (await connected(fake, logger))["srv__work"]
    ctx = ToolContext(on_progress=lambda *step: steps.append(step))
    await tool.execute({}, ctx)
    assert steps == [(1.0, 2.0, "half"), (2.0, None, "")]


async def test_tools_are_not_to_be_had_before_connecting(logger: Logger) -> None:
    """Neither before nor after: the error says what to do. Disconnecting is always fine."""
    mcp = client(FakeMcp(echo=lambda _: text("hi")), logger)
    await mcp.disconnect()
    with pytest.raises(McpServerError, match=r"MCP server srv is not connected; call connect"):
        await mcp.get_tools()
    await mcp.connect()
    tool = (await mcp.get_tools())["srv__echo"]
    await mcp.disconnect()
    await mcp.disconnect()
    with pytest.raises(ToolError, match="MCP server srv is not connected"):
        await tool.execute({}, ToolContext())
