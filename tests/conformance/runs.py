"""Runs of a requester over fake servers: no network, no waiting, nobody's keys."""

from __future__ import annotations

import asyncio
import io
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar, TypeVarTuple

import pytest

from agentkit.llm.call import Model
from agentkit.llm.events import Finished, Retrying, TextDelta, ToolFinished
from agentkit.llm.model_uri import ModelURI
from agentkit.llm.provider import create_provider
from agentkit.llm.requester import LlmRequester
from agentkit.llm.result import GenerateResult
from agentkit.messages import Message
from agentkit.observability import redact
from agentkit.observability.cost_tracker import CostTracker
from agentkit.observability.logger import Logger
from agentkit.observability.run_context import RunContext
from agentkit.retry import Backoff
from agentkit.tests.fake_server import FakeServer
from agentkit.tests.network_guard import guard
from agentkit.tests.virtual_time import VirtualTimeLoop
from agentkit.tools.registry import ToolRegistry
from agentkit.transport import HttpClients

STEPS = 30  # more than any scenario takes
T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class _OneThreadLoop(VirtualTimeLoop):
    """A loop whose executor is the loop itself: beside a thread, time could not jump."""

    def run_in_executor(
        self, executor: Executor | None, func: Callable[[*Ts], T], *args: *Ts
    ) -> asyncio.Future[T]:
        future = self.create_future()
        try:
            future.set_result(func(*args))
        except Exception as error:
            future.set_exception(error)
        return future


def run_alone(main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine on a virtual clock, without network, keys, or what others left behind."""
    with _isolation(), asyncio.Runner(loop_factory=_OneThreadLoop) as runner:
        return runner.run(main)


@contextmanager
def _isolation() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        guard(patch, loopback=False)
        for name in list(os.environ):
            if name.endswith(("_API_KEY", "_BASE_URL", "_API_BASE")):
                patch.delenv(name)
        patch.setattr(redact, "_forms", {})
        for sdk in ("openai", "anthropic"):  # they ask for the platform in a thread
            patch.setattr(f"{sdk}._base_client.asyncify", _awaitable, raising=False)
        yield


def _awaitable(function: Callable[[], Any]) -> Callable[[], Awaitable[Any]]:
    async def call() -> Any:
        return function()

    return call


@asynccontextmanager
async def requester(
    servers: Sequence[tuple[str, FakeServer]], waits: list[float]
) -> AsyncIterator[LlmRequester]:
    """Yield a requester over model URIs, each with a server; its waits are noted, in seconds."""

    async def sleep(seconds: float) -> None:
        waits.append(seconds)
        await asyncio.sleep(0)

    logger = Logger("conformance", "debug", io.StringIO())
    ctx = RunContext("conformance", Path(os.devnull), logger, datetime.now(UTC))
    clients = [HttpClients(fake.transport) for _, fake in servers]
    uris = [ModelURI.parse(uri) for uri, _ in servers]
    models = [Model(u, create_provider(u, c)) for u, c in zip(uris, clients, strict=True)]
    backoff = Backoff(sleep=sleep, random=lambda: 0.0)
    try:
        yield LlmRequester(models, logger, CostTracker(), ctx, clients[0], backoff)
    finally:
        for owned in clients:
            await owned.aclose()


async def ask(
    llm: LlmRequester,
    messages: Sequence[Message],
    tools: ToolRegistry,
    schema: Any = None,
    deltas: list[str] | None = None,
) -> GenerateResult:
    """Return a run's result; with `deltas` it is streamed, and they hold the last reply's texts."""
    if deltas is None:
        return await llm(messages, tools=tools, schema=schema, max_steps=STEPS)
    deltas.clear()
    async for event in llm.stream(messages, tools=tools, schema=schema, max_steps=STEPS):
        match event:
            case Retrying() | ToolFinished():
                deltas.clear()
            case TextDelta():
                deltas.append(event.text)
            case Finished():
                return event.result
    raise AssertionError("a stream ended without a result")
