"""The requester: from messages to a result, over one model or several that stand in for it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from typing import Any

import httpx2

from ..errors import ConfigError
from ..messages import Message
from ..observability.cost_tracker import CostTracker
from ..observability.logger import Logger
from ..observability.prices import Prices
from ..observability.run_context import RunContext, create_run_context
from ..retry import Backoff
from ..session.compactor import HistoryCompactor
from ..session.seal import seal
from ..tools.registry import Approve, ToolRegistry
from ..tools.tool import Tool, ToolContext
from ..transport import HttpClients
from .call import Ledger, Model
from .events import Event, Finished
from .loop import Run, RunOptions
from .model_uri import SETTINGS, ModelURI
from .provider import Provider, create_provider
from .result import GenerateResult, Limits
from .schema import output_schema
from .spend import Spend, current_spend
from .tool_step import AroundTool, ToolStep

NO_TOOLS = ToolRegistry()


class LlmRequester:
    """Calls models and their tools until there is an answer.

    Use it as a context manager, or call `aclose()`: it owns its HTTP clients. One requester serves
    many runs at once. `logger`, `costs` and `ctx` are those of runs that bring none of their own.
    `around_tool(call, run)` may be set: it stands between each call and its tool, which `run` runs.
    """

    def __init__(
        self,
        models: Sequence[Model],
        logger: Logger,
        costs: CostTracker,
        ctx: RunContext,
        clients: HttpClients,
        backoff: Backoff,
    ) -> None:
        self.models = models
        self.logger = logger
        self.costs = costs
        self.ctx = ctx
        self.around_tool: AroundTool | None = None
        self._clients = clients
        self._backoff = backoff
        self._prices = Prices(logger)

    async def __call__(
        self,
        messages: Sequence[Message],
        *,
        identifier: str = "call",
        stage_name: str = "llm",
        schema: Any = None,
        tools: ToolRegistry | Iterable[Tool] | None = None,
        max_steps: int = 10,
        limits: Limits | None = None,
        compactor: HistoryCompactor | None = None,
        approve: Approve | None = None,
        settings: Mapping[str, Any] | None = None,
        ctx: RunContext | None = None,
        tool_context: ToolContext | None = None,
    ) -> GenerateResult:
        """Run over the messages, which are not changed, and return the outcome.

        `schema` is the answer's type; `max_steps` counts model calls; `settings` override the
        URI's (max_tokens, temperature, top_p, top_k, stop, seed, reasoning). Refused, blocked, cut
        off, invalid or limited runs are returned and say so in `finish_reason`; a provider's
        failure raises `LlmError`, a wrong argument `ConfigError`.
        """
        events = self.stream(
            messages, identifier=identifier, stage_name=stage_name, schema=schema, tools=tools,
            max_steps=max_steps, limits=limits, compactor=compactor, approve=approve,
            settings=settings, ctx=ctx, tool_context=tool_context, deltas=False,
        )  # fmt: skip
        async for event in events:
            last = event
        assert isinstance(last, Finished)
        return last.result

    def stream(
        self,
        messages: Sequence[Message],
        *,
        identifier: str = "call",
        stage_name: str = "llm",
        schema: Any = None,
        tools: ToolRegistry | Iterable[Tool] | None = None,
        max_steps: int = 10,
        limits: Limits | None = None,
        compactor: HistoryCompactor | None = None,
        approve: Approve | None = None,
        settings: Mapping[str, Any] | None = None,
        ctx: RunContext | None = None,
        tool_context: ToolContext | None = None,
        deltas: bool = True,
        in_order: bool = False,
    ) -> AsyncGenerator[Event, None]:
        """Do the same, and yield what happens; the last event is `Finished` with the result.

        Without `deltas` the model is asked for one whole reply instead of a stream. `in_order`
        says that the messages are known to be sendable, else they are repaired where need be.
        """
        _check(messages, max_steps, settings)
        ctx = ctx or self.ctx
        if not isinstance(tools, ToolRegistry):
            tools = ToolRegistry(tools) if tools else NO_TOOLS
        spend = Spend(ctx.next_id(), current_spend.get())
        ledger = Ledger(ctx, self.costs, self._prices, spend, self._backoff, identifier, stage_name)
        options = RunOptions(
            None if schema is None else output_schema(schema),
            tools,
            max_steps,
            limits,
            compactor,
            dict(settings or {}),
        )
        step = ToolStep(
            tools, tool_context or ToolContext(run=ctx), approve, ctx, spend, self.around_tool
        )
        history = list(messages) if in_order else seal(messages)
        return Run(self.models, history, options, ledger, step).events(deltas)

    async def aclose(self) -> None:
        """Close the HTTP clients of the running event loop."""
        await self._clients.aclose()

    async def __aenter__(self) -> LlmRequester:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


def create_llm_requester(
    model_uri: str | Sequence[str],
    logger: Logger | None = None,
    costs: CostTracker | None = None,
    ctx: RunContext | None = None,
    provider: Provider | None = None,
    transport: httpx2.AsyncBaseTransport | None = None,
    backoff: Backoff | None = None,
) -> LlmRequester:
    """Return a requester for a model URI, or for several: the first is used, the rest stand in.

    `provider` answers instead of the URI's own; `transport` and `backoff` are there for tests.
    Raises `ConfigError` for a bad URI, an unknown provider or a missing key.
    """
    uris = [model_uri] if isinstance(model_uri, str) else list(model_uri)
    if not uris:
        raise ConfigError("no model URI given")
    logger = logger or Logger("agent")
    clients = HttpClients(transport)
    models = []
    for text in uris:
        uri = ModelURI.parse(text)
        models.append(Model(uri, provider or create_provider(uri, clients)))
    return LlmRequester(
        models,
        logger,
        costs or CostTracker(),
        ctx or create_run_context(logger),
        clients,
        backoff or Backoff(),
    )


def _check(messages: Sequence[Message], max_steps: int, settings: Mapping[str, Any] | None) -> None:
    if not any(message.role != "system" for message in messages):
        raise ConfigError("nothing to answer: `messages` holds no user message")
    if max_steps < 1:
        raise ConfigError("max_steps must be at least 1")
    unknown = [name for name in settings or () if name not in SETTINGS]
    if unknown:
        raise ConfigError(f"unknown setting {unknown[0]!r}; known: {', '.join(SETTINGS)}")
