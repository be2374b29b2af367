"""The agent: it knows its prompt and its tools, and keeps each session's conversation."""

from __future__ import annotations

import asyncio
import inspect
from collections import OrderedDict
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Sequence
from contextlib import aclosing
from types import TracebackType
from typing import Any, Protocol

from ..errors import AgentError, ConfigError
from ..llm.events import Appended, Event, Finished
from ..llm.requester import LlmRequester, create_llm_requester
from ..llm.result import GenerateResult, Limits
from ..messages import Message
from ..observability.redact import exception_text
from ..observability.run_context import RunContext, create_run_context
from ..session.compactor import HistoryCompactor
from ..session.store import MemorySessionStore, Session, SessionStore
from ..tools.registry import Approve, ToolRegistry
from ..tools.tool import Tool, ToolContext, tool
from .conversation import Conversation

DEFAULT_SESSION = "default"
SESSIONS_KEPT = 1_000  # the rest is read from the store again when it is needed

SystemPrompt = str | Callable[[ToolContext], str | Awaitable[str]]


class ToolSource(Protocol):
    """Where tools come from that are not the agent's own, such as an MCP server."""

    name: str

    async def connect(self) -> None:
        """Connect; connecting twice does nothing."""
        ...

    async def disconnect(self) -> None:
        """Disconnect; disconnecting twice does nothing."""
        ...

    async def get_tools(self) -> dict[str, Tool]:
        """Return the tools by name."""
        ...


class Agent:
    """Runs conversations over a requester; holds no history itself, sessions do.

    `llm` is a requester, or one or more model URIs; what the agent makes itself it also closes.
    `compactor`, `limits`, `approve` and `max_steps` are those of `LlmRequester`; `system_prompt`
    may be a function of the conversation's context. Many sessions run at once, each of them one
    turn at a time.
    """

    def __init__(
        self,
        llm: LlmRequester | str | Sequence[str],
        *,
        mcp_clients: Iterable[ToolSource] = (),
        ctx: RunContext | None = None,
        system_prompt: SystemPrompt | None = None,
        compactor: HistoryCompactor | None = None,
        tools: Iterable[Tool] = (),
        max_steps: int = 10,
        limits: Limits | None = None,
        approve: Approve | None = None,
        store: SessionStore | None = None,
    ) -> None:
        self._owns_llm = not isinstance(llm, LlmRequester)
        if not isinstance(llm, LlmRequester):
            ctx = ctx or create_run_context()
            llm = create_llm_requester(llm, ctx.logger, None, ctx)
        self.llm = llm
        self.ctx = ctx or llm.ctx
        self.tools = ToolRegistry(tools)
        self.store = store or MemorySessionStore()
        self.approve = approve
        self._owns_store = store is None
        self._sources = list(mcp_clients)
        self._connected: list[ToolSource] | None = None
        self._connecting = asyncio.Lock()
        self._all_tools = self.tools
        self._system_prompt = system_prompt
        self._system = Message.system(system_prompt) if isinstance(system_prompt, str) else None
        self._compactor = compactor
        self._max_steps = max_steps
        self._limits = limits
        self._sessions: OrderedDict[str, Session] = OrderedDict()

    def use(self, *tools: Tool) -> Agent:
        """Add tools; returns the agent."""
        self.tools.register_many(tools)
        return self

    async def run(
        self,
        input: str | Message,
        session: str | Session | None = None,
        schema: Any = None,
        ctx: RunContext | None = None,
    ) -> GenerateResult:
        """Answer, and return how it went; `session` is an id, or None for the agent's own.

        Raises `LlmError` when the provider fails; the conversation stays as far as it came.
        """
        events = self.stream(input, session, schema, ctx, deltas=False)
        async for event in events:
            last = event
        assert isinstance(last, Finished)
        return last.result

    async def chat(
        self,
        input: str | Message,
        session: str | Session | None = None,
        ctx: RunContext | None = None,
    ) -> str:
        """Answer with text. Raises `AgentError` when the model refused or was blocked."""
        result = await self.run(input, session, None, ctx)
        if result.finish_reason in ("refused", "blocked", "invalid"):
            detail = result.steps[-1].detail or result.text or "no reason given"
            raise AgentError(f"no answer, the model {result.finish_reason}: {detail}", result)
        return result.text

    async def stream(
        self,
        input: str | Message,
        session: str | Session | None = None,
        schema: Any = None,
        ctx: RunContext | None = None,
        *,
        deltas: bool = True,
    ) -> AsyncGenerator[Event, None]:
        """Answer, and yield what happens on the way; the last event is `Finished`."""
        await self.init()
        ctx = ctx or self.ctx
        current = self._session(session)
        async with self.store.turn(current.id):
            context = ToolContext(current.id, current.user_id, current.metadata, None, ctx)
            conversation = Conversation(current, self.store, _message(input))
            messages = await conversation.open(await self._system_message(context))
            events = self.llm.stream(
                messages,
                identifier="chat",
                stage_name="agent",
                schema=schema,
                tools=self._all_tools,
                max_steps=self._max_steps,
                limits=self._limits,
                compactor=self._compactor,
                approve=self.approve,
                ctx=ctx,
                tool_context=context,
                deltas=deltas,
            )
            async with aclosing(events):
                async for event in events:
                    if isinstance(event, Appended):
                        event = await conversation.keep(event)
                    elif isinstance(event, Finished):
                        await conversation.close(event.result)
                    yield event

    def get_history(self, session: str | Session | None = None) -> list[Message]:
        """Return a session's conversation as this agent has seen it, without the system prompt."""
        return list(self._session(session).messages)

    def as_tool(self, name: str, description: str) -> Tool:
        """Return this agent as a tool: each call is a question in a session of its own."""

        async def ask(question: str) -> str:
            return await self.chat(question, Session.of())

        ask.__doc__ = description
        return tool(name=name, timeout=None)(ask)

    async def init(self) -> None:
        """Connect the tool sources. One that fails costs its tools and a warning, nothing else."""
        if self._connected is not None:
            return
        async with self._connecting:
            if self._connected is not None:
                return
            registry = self.tools
            if self._sources:
                registry = ToolRegistry(self.tools.schemas())
            found = await asyncio.gather(*(self._connect(source) for source in self._sources))
            for source, tools in zip(self._sources, found, strict=True):
                self._add(registry, source, tools)
            self._all_tools = registry
            self._connected = list(self._sources)

    async def close(self) -> None:
        """Disconnect the tool sources, and close what the agent made itself."""
        for source in self._connected or ():
            await source.disconnect()
        self._connected = None
        if self._owns_llm:
            await self.llm.aclose()
        if self._owns_store:
            await self.store.aclose()

    async def __aenter__(self) -> Agent:
        await self.init()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def _connect(self, source: ToolSource) -> dict[str, Tool]:
        try:
            await source.connect()
            return await source.get_tools()
        except Exception as error:
            problem = exception_text(error)
            self.ctx.logger.warn(f"tools of {source.name} are not available: {problem}")
            return {}

    def _add(self, registry: ToolRegistry, source: ToolSource, tools: dict[str, Tool]) -> None:
        for found in tools.values():
            try:
                registry.register(found)
            except ConfigError as error:
                self.ctx.logger.warn(f"a tool of {source.name} is left out: {error}")

    def _session(self, session: str | Session | None) -> Session:
        if isinstance(session, Session):
            return session
        key = session or DEFAULT_SESSION
        known = self._sessions.setdefault(key, Session(key))
        self._sessions.move_to_end(key)
        if len(self._sessions) > SESSIONS_KEPT:
            self._sessions.popitem(last=False)
        return known

    async def _system_message(self, context: ToolContext) -> Message | None:
        if self._system is not None or self._system_prompt is None:
            return self._system
        assert callable(self._system_prompt)
        text = self._system_prompt(context)
        return Message.system(await text if inspect.isawaitable(text) else text)


def _message(input: str | Message) -> Message:
    return Message.user(input) if isinstance(input, str) else input
