"""One model call made reliable: a deadline, one layer of retries, and self-correction.

Transient errors are waited out and tried again; an answer that does not fit its schema goes back
to the model with what is wrong. Both share one budget of attempts (`maxRetries` + 1).
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Any, NamedTuple

from ..errors import LlmError, TransientError
from ..messages import Message, Reply, Usage
from ..observability.cost_tracker import CostTracker
from ..observability.prices import Prices
from ..observability.records import AttemptFinished, AttemptStarted, CallFinished, CallStarted
from ..observability.run_context import RunContext
from ..retry import Backoff
from .answer import Answer, corrected, judge
from .deadline import complete_within, stream_within
from .events import Retrying
from .model_uri import ModelURI
from .provider import Delta, Provider, Request
from .spend import Spend

Deltas = AsyncGenerator[Delta, None]


class Model:
    """A model that can be called. `name` is `provider/model`, `label` the URI without secrets."""

    def __init__(self, uri: ModelURI, provider: Provider) -> None:
        self.uri = uri
        self.provider = provider
        self.name = f"{uri.provider}/{uri.model}"
        self.label = str(uri)


class Ledger(NamedTuple):
    """Where calls book what they cost and tell what they do, under which names."""

    ctx: RunContext
    costs: CostTracker
    prices: Prices
    spend: Spend
    backoff: Backoff
    identifier: str
    stage: str


class ModelCall:
    """One call of one model, in as many attempts as it takes."""

    def __init__(self, model: Model, request: Request, ledger: Ledger) -> None:
        self._model = model
        self._request = request
        self._ledger = ledger
        self._id = ledger.ctx.next_id()
        self._attempts = 0
        self._usage = Usage()
        self._cost: float | None = 0.0
        self._reply: Reply | None = None  # of the current attempt
        self._answer: Answer | None = None

    async def events(self, listen: bool) -> AsyncGenerator[Delta | Retrying | Answer, None]:
        """Yield deltas (if `listen`) and retries, and last the answer.

        Raises `LlmError` at once if it is fatal or asks to wait for over a minute, else when the
        attempts are used up; its `attempts` says how many were made.
        """
        started, error = time.perf_counter(), None
        self._tell_start()
        try:
            async with aclosing(self._try(listen)) as events:
                async for event in events:
                    yield event
        except BaseException as failure:
            error = failure
            raise
        finally:
            reason = self._answer.reply.finish_reason if self._answer and not error else None
            seconds = time.perf_counter() - started
            self._ledger.ctx.notify(
                CallFinished(
                    self._id, reason, error, self._attempts, self._usage, self._cost, seconds
                )
            )

    async def _try(self, listen: bool) -> AsyncGenerator[Delta | Retrying | Answer, None]:
        budget = self._model.uri.max_retries + 1
        corrections: Sequence[Message] = ()
        backoff = self._ledger.backoff
        while True:
            self._attempts += 1
            try:
                async with aclosing(self._attempt(corrections, listen)) as deltas:
                    async for delta in deltas:
                        yield delta
            except LlmError as error:
                error.attempts = self._attempts
                delay = backoff.delay(self._attempts, error.retry_after)
                if self._attempts == budget or not _worth_waiting(error, delay, backoff):
                    raise
                reason = str(error)
            else:
                answer = self._answer
                assert answer is not None
                if not answer.corrections or self._attempts == budget:
                    yield answer
                    return
                corrections, delay = answer.corrections, 0.0
                reason = f"the answer does not fit: {answer.problem}"
            yield Retrying(self._attempts, reason, delay)
            if delay:
                await backoff.sleep(delay)

    async def _attempt(self, corrections: Sequence[Message], listen: bool) -> Deltas:
        """Make one request; its reply and what it is worth are left in `self`."""
        self._reply = self._answer = None
        self._ledger.ctx.notify(AttemptStarted(self._id, self._attempts, corrections))
        request = self._request
        if corrections:
            messages = corrected(request.messages, corrections)
            request = dataclasses.replace(request, messages=messages)
        started, error = time.perf_counter(), None
        provider, timeout = self._model.provider, self._model.uri.timeout
        try:
            if not listen:
                self._reply = await complete_within(provider.complete(request), timeout)
                return
            async with aclosing(stream_within(provider.stream(request), timeout)) as events:
                async for event in events:
                    if isinstance(event, Reply):
                        self._reply = event
                    else:
                        yield event
        except BaseException as failure:
            error = failure
            raise
        finally:
            self._settle(error, time.perf_counter() - started)

    def _settle(self, error: BaseException | None, seconds: float) -> None:
        """Book what the attempt cost, judge its reply and tell the observers."""
        reply, cost = self._reply, None
        if reply is not None and error is None:
            cost = self._book(reply)
            self._answer = judge(reply, self._request.schema, self._request.tools)
        problem = self._answer.problem if self._answer else None
        self._ledger.ctx.notify(
            AttemptFinished(self._id, self._attempts, reply, error, problem, cost, seconds)
        )

    def _book(self, reply: Reply) -> float | None:
        ledger, uri = self._ledger, self._model.uri
        cost = ledger.prices.estimate(uri.provider, uri.model, reply.usage)
        ledger.costs.add_cost(cost or 0.0)
        ledger.costs.add_tokens(reply.usage.input_tokens, reply.usage.output_tokens)
        ledger.spend.add(reply.usage, cost)
        self._usage += reply.usage
        self._cost = None if cost is None or self._cost is None else self._cost + cost
        return cost

    def _tell_start(self) -> None:
        ledger, request = self._ledger, self._request
        tools: list[Any] = [tool.name for tool in request.tools]
        ledger.ctx.notify(
            CallStarted(
                self._id,
                ledger.spend.run,
                ledger.identifier,
                ledger.stage,
                self._model.label,
                request.messages,
                request.settings,
                tools,
                request.schema.name if request.schema else None,
            )
        )


def _worth_waiting(error: LlmError, delay: float, backoff: Backoff) -> bool:
    return isinstance(error, TransientError) and delay <= backoff.longest
