"""The generated default project, as every user has it: call log, redaction, history checks on."""

import itertools
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from agentkit import (
    Agent,
    CostTracker,
    Logger,
    MemorySessionStore,
    Message,
    RunContext,
    Session,
    SessionStore,
    SimpleHistoryCompactor,
    SqliteSessionStore,
    TextDelta,
    ToolCall,
    ToolResult,
    create_llm_requester,
    create_run_context,
    tool,
)
from agentkit import Text as TextPart

from ..adapter import Json, T
from ..floor import MODEL, SYSTEM

TITLE = "agentkit"
IMPORT = "import agentkit"
PROJECT: dict[str, str] = {}
MAX_STEPS = 50
UNLIMITED = 10_000_000  # symbols: the compactor looks at every history but cuts none
numbers = itertools.count()


@tool
async def echo(text: str) -> str:
    """Echo the text back."""
    return text


class AgentkitAgents:
    """One agent without tools and one with the tool, on one requester, as a server would hold.

    The key comes from the environment, as in a generated project.
    """

    def __init__(self, uri: str) -> None:
        self.ctx = new_context()
        self.llm = create_llm_requester(uri, self.ctx.logger, CostTracker(), self.ctx)
        self.plain = self.agent()
        self.with_tools = self.agent(tools=[echo])

    def agent(self, tools: Any = (), store: SessionStore | None = None) -> Agent:
        """Build an agent."""
        return Agent(
            self.llm,
            ctx=self.ctx,
            system_prompt=SYSTEM,
            tools=tools,
            compactor=SimpleHistoryCompactor(UNLIMITED),
            max_steps=MAX_STEPS,
            store=store or MemorySessionStore(),
        )

    async def one_turn(self, prompt: str) -> str:
        """Make one model call without tools, as a new conversation; return its text."""
        return (await self.plain.run(prompt, session=Session.of([]))).text

    async def tool_run(self, prompt: str) -> tuple[str, int]:
        """Run a new conversation with the tool; return the text and the calls executed."""
        result = await self.with_tools.run(prompt, session=Session.of([]))
        return result.text, len(result.tool_results)

    async def typed(self, prompt: str, schema: type[T]) -> T:
        """Answer as an instance of the schema, or raise."""
        result = await self.plain.run(prompt, session=Session.of([]), schema=schema)
        if result.validation_error is not None:
            raise ValueError(f"{result.finish_reason}: {result.validation_error}")
        answer: T = result.result
        return answer

    async def stream(self, prompt: str) -> AsyncIterator[str]:
        """Yield the pieces of one answer."""
        async for event in self.plain.stream(prompt, session=Session.of([])):
            if isinstance(event, TextDelta):
                yield event.text

    def conversation(self) -> "AgentkitConversation":
        """Start a conversation."""
        return AgentkitConversation(self.agent(tools=[echo]))

    def sessions(self, database: Path | None) -> "AgentkitSessions":
        """Open the SQLite store in that file, or a store in memory."""
        store = SqliteSessionStore(database) if database else MemorySessionStore()
        return AgentkitSessions(self.agent(store=store), store)

    async def aclose(self) -> None:
        """Close the clients."""
        await self.llm.aclose()


class AgentkitConversation:
    """One session of an agent, with a run context of its own."""

    def __init__(self, agent: Agent) -> None:
        self.agent, self.ctx = agent, new_context()
        self.session = f"conversation-{next(numbers)}"

    async def turn(self, prompt: str) -> str:
        """Add one turn and return its text."""
        return (await self.agent.run(prompt, session=self.session, ctx=self.ctx)).text


class AgentkitSessions:
    """Many sessions of one agent, each with a run context of its own, as in a server."""

    def __init__(self, agent: Agent, store: SessionStore) -> None:
        self.agent, self.store = agent, store
        self.contexts: dict[str, RunContext] = {}

    async def turn(self, session: str, prompt: str) -> str:
        """Add one turn to a session and return its text."""
        if session not in self.contexts:
            self.contexts[session] = new_context()
        return (await self.agent.run(prompt, session=session, ctx=self.contexts[session])).text

    async def aclose(self) -> None:
        """Close the store."""
        await self.store.aclose()


class SimpleCompaction:
    """Agentkit's own compactor, which keeps the newest turns and whole tool steps."""

    def __init__(self) -> None:
        self.compactor = SimpleHistoryCompactor(UNLIMITED)

    def load(self, messages: list[Json]) -> list[Any]:
        """Return the messages as agentkit's own, none of them weighed yet."""
        return [_message(message) for message in messages]

    async def compact(self, history: list[Any], max_symbols: int) -> list[Any]:
        """Return the shortened history."""
        return await self.compactor.compact(history, max_symbols)


COMPACTORS = {"SimpleHistoryCompactor": SimpleCompaction()}


def new_context() -> RunContext:
    """Return a run context that logs below the debug folder."""
    return create_run_context(Logger("bench", level="warn"), os.environ["BENCH_DEBUG_DIR"])


def _message(wire: Json) -> Message:
    if wire["role"] == "user":
        return Message.user(wire["content"])
    if wire["role"] == "tool":
        result = ToolResult(wire["tool_call_id"], "echo", (TextPart(wire["content"]),))
        return Message("tool", (result,))
    calls = wire.get("tool_calls") or []
    parts = [ToolCall(call["id"], "echo", {"text": "lookup"}) for call in calls]
    return Message("assistant", tuple(parts) or (TextPart(wire["content"]),))


def make(base: str) -> AgentkitAgents:
    """Build the agents."""
    return AgentkitAgents(f"chat://openai/{MODEL}?baseURL={base}/v1")


def make_with_timeout(base: str, timeout: float) -> AgentkitAgents:
    """Build the agents with a timeout in seconds per model call."""
    return AgentkitAgents(f"chat://openai/{MODEL}?baseURL={base}/v1&timeout={timeout * 1000:.0f}")
