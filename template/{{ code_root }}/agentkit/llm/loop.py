"""The loop of a run: call the model, run the tools it asks for, until there is an answer."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Any, NamedTuple

from ..errors import ContextTooLong, LlmError
from ..messages import Message, ToolCall
from ..observability.records import RunFinished, RunStarted
from ..session.compactor import HistoryCompactor, SimpleHistoryCompactor
from ..session.seal import is_empty
from ..tools.registry import ToolRegistry
from .answer import Answer
from .call import Ledger, Model, ModelCall
from .events import Appended, Event, Finished, Retrying
from .provider import Delta, Request
from .result import GenerateResult, Limits
from .schema import OutputSchema
from .spend import current_spend
from .tool_step import ToolStep


class RunOptions(NamedTuple):
    """What a run keeps to; see `LlmRequester.__call__`."""

    schema: OutputSchema | None
    tools: ToolRegistry
    max_steps: int
    limits: Limits | None
    compactor: HistoryCompactor | None
    settings: dict[str, Any]


class Run:
    """One run over a list of messages that can be sent as it is."""

    def __init__(
        self,
        models: Sequence[Model],
        history: list[Message],
        options: RunOptions,
        ledger: Ledger,
        tool_step: ToolStep,
    ) -> None:
        self._models = models
        self._model = 0  # falls back in order and stays there for the rest of the run
        self._options = options
        self._ledger = ledger
        self._tool_step = tool_step
        self._history = history
        self._result = GenerateResult()

    async def events(self, listen: bool) -> AsyncGenerator[Event, None]:
        """Yield what happens (deltas only if `listen`), last `Finished`.

        Raises `LlmError` that carries the usage, cost and messages of the run so far.
        """
        ctx, spend, parent = self._ledger.ctx, self._ledger.spend, current_spend.get()
        started, error = time.perf_counter(), None
        ctx.notify(
            RunStarted(spend.run, self._ledger.identifier, None if parent is None else parent.run)
        )
        try:
            async with aclosing(self._steps(listen)) as steps:
                async for event in steps:
                    yield event
        except BaseException as failure:
            error = failure
            if isinstance(failure, LlmError):
                failure.usage, failure.cost = spend.usage, spend.cost
                failure.messages = list(self._result.new_messages)
            raise
        finally:
            result, seconds = self._sum_up(), time.perf_counter() - started
            reason = None if error else result.finish_reason
            steps_taken = len(result.steps)
            ctx.notify(
                RunFinished(spend.run, reason, error, steps_taken, spend.usage, spend.cost, seconds)
            )
        yield Finished(result)

    async def _steps(self, listen: bool) -> AsyncGenerator[Event, None]:
        options, result = self._options, self._result
        for _ in range(options.max_steps):
            if self._ledger.spend.reaches(options.limits):
                result.finish_reason = "limit"
                return
            if options.compactor is not None:
                self._history = await self._compacted(options.compactor)
            async with aclosing(self._call(listen)) as events:
                async for event in events:
                    if isinstance(event, Answer):
                        calls = self._take(event)
                    else:
                        yield event
            if not is_empty(result.steps[-1].message):
                yield self._append(result.steps[-1].message)
            if not calls:
                return
            async with aclosing(self._tool_step.run(calls)) as happenings:
                async for happening in happenings:
                    if isinstance(happening, Message):
                        answers = happening
                    else:
                        yield happening
            result.tool_results += answers.tool_results
            yield self._append(answers)
        result.finish_reason = "max_steps"

    async def _call(self, listen: bool) -> AsyncGenerator[Delta | Retrying | Answer, None]:
        """Call the model. A context too long is halved once; then the next model is tried."""
        may_halve = True
        while True:
            model, options = self._models[self._model], self._options
            settings = {**model.uri.settings, **options.settings}
            settings = {name: value for name, value in settings.items() if value is not None}
            tools, warn = options.tools.schemas(), self._ledger.ctx.logger.warn
            request = Request(self._history, tools, options.schema, settings, warn)
            try:
                async with aclosing(ModelCall(model, request, self._ledger).events(listen)) as call:
                    async for event in call:
                        yield event
                return
            except LlmError as error:
                failure = error
            if may_halve and isinstance(failure, ContextTooLong):
                may_halve = False
                await self._halve()
            elif self._model + 1 < len(self._models):
                self._model += 1
            else:
                raise failure
            self._ledger.ctx.logger.warn(f"trying {self._models[self._model].name}: {failure}")
            yield Retrying(failure.attempts, str(failure), 0.0)

    async def _halve(self) -> None:
        """Compact to half of what was sent: the provider knows its limit, we do not."""
        half = max(1, sum(message.weight for message in self._history) // 2)
        compactor = self._options.compactor or SimpleHistoryCompactor(half, self._ledger.ctx.logger)
        self._history = await self._compacted(compactor, half)

    async def _compacted(
        self, compactor: HistoryCompactor, max_symbols: int | None = None
    ) -> list[Message]:
        """Compact; what a summary costs is this run's expense."""
        token = current_spend.set(self._ledger.spend)
        try:
            return await compactor.compact(self._history, max_symbols)
        finally:
            current_spend.reset(token)

    def _take(self, answer: Answer) -> list[ToolCall]:
        """Enter a reply into the result and return the calls it asks for."""
        reply, result = answer.reply, self._result
        result.steps.append(reply)
        result.text, result.raw_response = reply.message.text, None
        result.finish_reason = reply.finish_reason
        result.result = result.text if self._options.schema is None else answer.value
        result.model = self._models[self._model].name
        result.validation_error = answer.problem
        if answer.problem is not None:
            result.raw_response = reply.raw
            return []
        calls = reply.message.tool_calls
        result.tool_calls += calls
        return calls

    def _append(self, message: Message) -> Appended:
        self._history = [*self._history, message]  # requests and logs hold the list as it was
        self._result.new_messages.append(message)
        return Appended((message,))

    def _sum_up(self) -> GenerateResult:
        result, spend = self._result, self._ledger.spend
        result.history = self._history
        result.usage, result.estimated_cost = spend.usage, spend.cost
        return result
