"""Tools from elsewhere, such as MCP servers: connected together, failing alone."""

from __future__ import annotations

import asyncio
import io

import pytest

from ...agent.agent import Agent
from ...observability.logger import Logger
from ...observability.redact import add_secret
from ...tools.tool import Tool
from ..conftest import MakeRequester
from ..fake_chat import FakeChat, calls
from .words import LOOK_UP, STRICT, get_word


class Source:
    """A server's client in the eyes of an agent. `failing` maps a method's name to its failure."""

    def __init__(
        self, name: str, *tools: str, failing: dict[str, BaseException] | None = None
    ) -> None:
        self.name = name
        self.happened: list[str] = []
        self._connected = False
        self.failing = failing or {}
        self.offer(*tools)

    def offer(self, *tools: str) -> None:
        """Have these tools from now on."""
        self._tools = {tool: self._tool(tool) for tool in tools}

    async def connect(self) -> None:
        if not self._connected:
            await self._happen("connect")
            self._connected = True

    async def get_tools(self) -> dict[str, Tool]:
        await self._happen("get_tools")
        return self._tools

    async def disconnect(self) -> None:
        await self._happen("disconnect")
        self._connected = False

    async def _happen(self, what: str) -> None:
        self.happened.append(what)
        await asyncio.sleep(0)
        if what in self.failing:
            raise self.failing[what]

    def _tool(self, name: str) -> Tool:
        async def execute(arguments: object, ctx: object) -> str:
            return f"{self.name} ran {name}"

        return Tool(name, f"{name} of {self.name}", {"type": "object"}, execute)


def offered(fake: FakeChat, number: int = -1) -> list[str]:
    """Return the names of the tools that a request offers."""
    return [entry["function"]["name"] for entry in fake.requests[number].get("tools", [])]


async def test_tools_of_all_sources_and_of_the_agent_reach_the_call(
    requester: MakeRequester,
) -> None:
    """The agent's own come first, then those of the sources in order; each can be called."""
    sources = [Source("files", "read", "write"), Source("web", "search")]
    with FakeChat([calls(("search", {}), LOOK_UP), "ok"], rules=STRICT) as fake:
        async with Agent(requester(fake), mcp_clients=sources, tools=[get_word]) as agent:
            result = await agent.run("Look around")
    assert offered(fake) == ["get_word", "read", "write", "search"]
    assert result.tool_results[0].text == "web ran search"
    expected = ["connect", "get_tools", "get_tools", "disconnect"]
    assert [source.happened for source in sources] == [expected] * 2


@pytest.mark.parametrize("where", ["connect", "get_tools"])
@pytest.mark.parametrize(
    ("failure", "cause"),
    [
        (FileNotFoundError("no such command: mcp-web"), "no such command: mcp-web"),
        (
            ExceptionGroup(
                "unhandled errors in a TaskGroup",
                [ExceptionGroup("unhandled errors", [ConnectionError("connection refused")])],
            ),
            "ConnectionError: connection refused",
        ),
        (asyncio.CancelledError(), "cancelled from within"),
        (TimeoutError(), "TimeoutError"),
    ],
)
async def test_a_source_that_fails_costs_only_its_tools(
    requester: MakeRequester, log: io.StringIO, where: str, failure: BaseException, cause: str
) -> None:
    """One warning names the server and the root cause, and the others work."""
    sources = [Source("web", "search", failing={where: failure}), Source("files", "read")]
    with FakeChat(["ok"]) as fake:
        async with Agent(requester(fake), mcp_clients=sources, tools=[get_word]) as agent:
            await agent.run("Hi")
    assert offered(fake) == ["get_word", "read"]
    (warning,) = [line for line in log.getvalue().splitlines() if "WARN" in line]
    assert "web" in warning
    assert cause in warning
    assert "TaskGroup" not in warning


@pytest.mark.checklist("secrets")
async def test_the_warning_of_a_source_shows_no_secret(
    requester: MakeRequester, log: io.StringIO
) -> None:
    """A server's address may carry a key, and its error text the address."""
    add_secret("tvly-0123456789")
    error = ConnectionError("cannot reach https://mcp.example/?tavilyApiKey=tvly-0123456789")
    with FakeChat([]) as fake:
        agent = Agent(requester(fake), mcp_clients=[Source("web", failing={"connect": error})])
        await agent.init()
    assert "cannot reach https://mcp.example" in log.getvalue()
    assert "tvly-0123456789" not in log.getvalue()


async def test_a_tool_whose_name_is_taken_is_left_out(
    requester: MakeRequester, log: io.StringIO
) -> None:
    """The agent's own tool and the earlier source win, and a warning names the other."""
    sources = [Source("files", "get_word", "read"), Source("disk", "read", "stat")]
    with FakeChat([calls(LOOK_UP, ("read", {})), "ok"], rules=STRICT) as fake:
        async with Agent(requester(fake), mcp_clients=sources, tools=[get_word]) as agent:
            result = await agent.run("Look around")
    assert offered(fake) == ["get_word", "read", "stat"]
    assert "everywhere at once" in result.tool_results[0].text
    assert result.tool_results[1].text == "files ran read"
    warnings = [line for line in log.getvalue().splitlines() if "WARN" in line]
    assert len(warnings) == 2
    assert "files" in warnings[0]
    assert "'get_word'" in warnings[0]
    assert "disk" in warnings[1]
    assert "'read'" in warnings[1]


async def test_the_agents_own_tools_are_not_mixed_with_those_of_sources(
    requester: MakeRequester,
) -> None:
    """`agent.tools` holds what the user registered, before and after connecting."""
    with FakeChat([]) as fake:
        async with Agent(
            requester(fake), mcp_clients=[Source("web", "search")], tools=[get_word]
        ) as agent:
            assert agent.tools.schemas() == (get_word,)


async def test_sources_are_connected_once_by_the_first_run(requester: MakeRequester) -> None:
    """Without `async with`, runs that start together share one connection."""
    source = Source("web", "search")
    with FakeChat(["ok"] * 3) as fake:
        agent = Agent(requester(fake), mcp_clients=[source])
        await asyncio.gather(*(agent.run("Hi", f"s{number}") for number in range(3)))
        await agent.close()
    assert source.happened == ["connect", *["get_tools"] * 3, "disconnect"]
    assert offered(fake) == ["search"]


async def test_tools_that_changed_are_offered_by_the_next_run(requester: MakeRequester) -> None:
    """Sources are asked before each run; while nothing changes, nothing is made anew."""
    source = Source("web", "search")
    with FakeChat(["ok"] * 2) as fake:
        async with Agent(requester(fake), mcp_clients=[source]) as agent:
            before = agent._all_tools
            await agent.run("Hi")
            assert agent._all_tools is before
            source.offer("find", "open")
            await agent.run("Hi")
    assert [offered(fake, number) for number in range(2)] == [["search"], ["find", "open"]]


async def test_what_stays_wrong_is_warned_of_once(
    requester: MakeRequester, log: io.StringIO
) -> None:
    """A server that is away for many runs costs one warning, and another when it fails again."""
    source = Source("web", "search", failing={"get_tools": ConnectionError("away")})
    with FakeChat(["ok"] * 4) as fake:
        async with Agent(requester(fake), mcp_clients=[source]) as agent:
            for failing in (True, True, False, True):
                source.failing = {"get_tools": ConnectionError("away")} if failing else {}
                await agent.run("Hi")
    assert log.getvalue().count("WARN") == 2


async def test_use_adds_to_what_is_connected(requester: MakeRequester) -> None:
    """A tool that is added later is offered beside those of the sources."""
    with FakeChat(["ok"]) as fake:
        async with Agent(requester(fake), mcp_clients=[Source("web", "search")]) as agent:
            await agent.use(get_word).run("Hi")
    assert offered(fake) == ["get_word", "search"]


async def test_a_source_that_does_not_disconnect_holds_nothing_up(
    requester: MakeRequester, log: io.StringIO
) -> None:
    """The others are disconnected all the same, and a warning names it."""
    failure = ConnectionError("broken pipe")
    sources = [Source("web", failing={"disconnect": failure}), Source("files", "read")]
    with FakeChat([]) as fake:
        async with Agent(requester(fake), mcp_clients=sources):
            pass
    assert sources[1].happened[-1] == "disconnect"
    assert "web did not disconnect: ConnectionError: broken pipe" in log.getvalue()


async def test_an_agent_that_was_closed_connects_anew(requester: MakeRequester) -> None:
    """Closing is not the end: the next run connects again."""
    source = Source("web", "search")
    with FakeChat(["ok", "ok"]) as fake:
        agent = Agent(requester(fake), mcp_clients=[source])
        for _ in range(2):
            async with agent:
                await agent.run("Hi")
    assert source.happened == ["connect", "get_tools", "get_tools", "disconnect"] * 2
    assert offered(fake) == ["search"]


async def test_closing_can_be_cancelled(requester: MakeRequester) -> None:
    """A cancellation that is meant for the agent is not taken for a failing source."""

    class Stuck(Source):
        """A server that never lets go."""

        async def disconnect(self) -> None:
            await asyncio.Event().wait()

    with FakeChat([]) as fake:
        agent = Agent(requester(fake), mcp_clients=[Stuck("web")])
        await agent.init()
        closing = asyncio.create_task(agent.close())
        await asyncio.sleep(0)
        closing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await closing


async def test_an_interrupt_is_not_taken_for_a_source_that_fails(logger: Logger) -> None:
    """Ctrl-C while a server is being connected ends the program."""

    class Interrupted(BaseException):
        """Stands for KeyboardInterrupt, which would end the test run as well."""

    source = Source("web", failing={"connect": Interrupted()})
    agent = Agent("chat://offline/echo", mcp_clients=[source])
    with pytest.raises(Interrupted):
        await agent.init()
