"""The agent: it knows its prompt and its tools, and keeps each session's conversation."""

from __future__ import annotations

import inspect
from collections import OrderedDict
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Sequence
from contextlib import aclosing
from typing import Any

from ..errors import AgentError, ConfigError
from ..llm.events import Appended, Event, Finished
from ..llm.provider import Provider
from ..llm.requester import LlmRequester, create_llm_requester
from ..llm.result import GenerateResult, Limits
from ..messages import Message, Text
from ..observability.run_context import RunContext, create_run_context
from ..session.compactor import HistoryCompactor
from ..session.store import MemorySessionStore, Session, SessionStore, Turns
from ..tools.registry import Approve, ToolRegistry
from ..tools.tool import Tool, ToolContext, tool
from .conversation import Conversation, hold_turn
from .tool_sources import ToolSource, ToolSources

DEFAULT_SESSION = "default"
SESSIONS_KEPT = 1_000  # the rest is read from the store again when it is needed

Llm = LlmRequester | Provider | str | Sequence[str]
SystemPrompt = str | Callable[[ToolContext], str | Awaitable[str]]


class Agent:
    """Runs conversations over a requester; holds no history itself, sessions do.

    `llm` is a requester, one or more model URIs, or a provider such as `ScriptedProvider`; what
    the agent makes itself it also closes.
    `compactor`, `limits`, `approve` and `max_steps` are those of `LlmRequester`; `system_prompt`
    may be a function of the conversation's context. Many sessions run at once, each of them one
    turn at a time.
    """

    def __init__(
        self,
        llm: Llm,
        *,
        mcp_clients: Iterable[ToolSource] = (),
        ctx: RunContext | None = None,
        system_prompt: SystemPrompt | None = None,
        compactor: HistoryCompactor | None = None,
        tools: ToolRegistry | Iterable[Tool] = (),
        max_steps: int = 10,
        limits: Limits | None = None,
        approve: Approve | None = None,
        store: SessionStore | None = None,
    ) -> None:
        self._owns_llm = not isinstance(llm, LlmRequester)
        self.llm = llm if isinstance(llm, LlmRequester) else _requester(llm, ctx)
        self.ctx = ctx or self.llm.ctx
        self.tools = ToolRegistry(tools.schemas() if isinstance(tools, ToolRegistry) else tools)
        self.store = store or MemorySessionStore()
        self.approve = approve
        self._owns_store = store is None
        self._sources = ToolSources(mcp_clients, self.ctx.logger)
        self._all_tools: ToolRegistry | None = None  # with those of the sources, as last asked
        self._connecting = Turns()
        self._system_prompt = system_prompt
        self._system = Message.system(system_prompt) if isinstance(system_prompt, str) else None
        self._compactor = compactor
        self._max_steps = max_steps
        self._limits = limits
        self._sessions: OrderedDict[str, Session] = OrderedDict()

    def use(self, *tools: Tool) -> Agent:
        """Add tools; returns the agent."""
        for registry in (self.tools, self._all_tools):
            if registry is not None:
                registry.register_many(tools)
        return self

    async def run(
        self,
        input: str | Message,
        session: str | Session | None = None,
        schema: Any = None,
        ctx: RunContext | None = None,
    ) -> GenerateResult:
        """Answer, and return how it went; `session` is an id, or None for the agent's own.

        Raises `LlmError` when the provider fails; the conversation stays as far as it came. A turn
        without a first reply (failed, empty, refused without a word) leaves no trace in it.
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
        user_id: str | None = None,
        wait: float | None = None,
    ) -> AsyncGenerator[Event, None]:
        """Answer, and yield what happens on the way; the last event is `Finished`.

        `user_id` is whose session a new one becomes. Raises `StoreConflict` when the session is
        still busy with another turn after `wait` seconds; None waits as long as it takes.
        """
        user = user_message(input)
        await self.init()
        ctx = ctx or self.ctx
        current = self._session(session, user_id)
        async with hold_turn(self.store, current.id, wait):
            context = ToolContext(current.id, current.user_id, current.metadata, None, ctx)
            conversation = Conversation(current, self.store, user, current is session)
            messages = await conversation.open(await self._system_message(context))
            events = self.llm.stream(
                messages,
                identifier="chat",
                stage_name="agent",
                schema=schema,
                tools=self._all_tools or self.tools,
                max_steps=self._max_steps,
                limits=self._limits,
                compactor=self._compactor,
                approve=self.approve,
                ctx=ctx,
                tool_context=context,
                deltas=deltas,
                in_order=conversation.in_order,
            )
            async with aclosing(events):
                async for event in events:
                    if isinstance(event, Appended):
                        event = await conversation.keep(event)
                    elif isinstance(event, Finished):
                        await conversation.close(event.result, ctx.logger)
                    yield event

    def get_history(self, session: str | Session | None = None) -> list[Message]:
        """Return a session's conversation as this agent has seen it, without the system prompt."""
        return list(self._session(session).messages)

    def as_tool(self, name: str, description: str) -> Tool:
        """Return this agent as a tool: each call is a question in a session of its own.

        It runs within the context of the run that asks, and counts against that run's limits.
        """

        async def ask(question: str, ctx: ToolContext) -> str:
            session = Session.of((), ctx.user_id, dict(ctx.metadata))
            answer = await self.chat(question, session, ctx.run)
            if self._owns_store:  # nobody knows the id, so it would only take room
                await self.store.delete(session.id)
            return answer

        ask.__doc__ = description
        return tool(name=name, timeout=None)(ask)

    async def init(self) -> None:
        """Connect the tool sources and take over the tools they have now; each run does so, too.

        One that fails costs its tools and a warning, nothing else.
        """
        if self._sources:
            async with self._connecting("init"):
                self._all_tools = await self._sources.registry(self.tools.schemas())

    async def close(self) -> None:
        """Disconnect the tool sources, and close what the agent made itself."""
        await self._sources.disconnect()
        self._all_tools = None
        if self._owns_llm:
            await self.llm.aclose()
        if self._owns_store:
            await self.store.aclose()

    async def __aenter__(self) -> Agent:
        await self.init()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def _session(self, session: str | Session | None, user_id: str | None = None) -> Session:
        if isinstance(session, Session):
            return session
        key = session or DEFAULT_SESSION
        known = self._sessions.setdefault(key, Session(key, user_id))
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


def _requester(llm: Provider | str | Sequence[str], ctx: RunContext | None) -> LlmRequester:
    ctx = ctx or create_run_context()
    if isinstance(llm, (str, Sequence)):
        return create_llm_requester(llm, ctx.logger, None, ctx)
    return create_llm_requester("chat://offline/provider", ctx.logger, None, ctx, provider=llm)


def user_message(input: str | Message) -> Message:
    """Return the message of an input; raises `ConfigError` for one that says nothing."""
    message = Message.user(input) if isinstance(input, str) else input
    if not isinstance(message, Message) or message.role != "user":
        raise ConfigError("the input must be a text or a message of the user")
    if not message.text.strip() and all(isinstance(part, Text) for part in message.parts):
        raise ConfigError("the input is empty: it must say something")
    return message
