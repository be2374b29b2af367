"""One cell of the table: a scenario against an adapter, and what is not as it should be."""

from __future__ import annotations

import asyncio
import contextlib
import io
import traceback
from collections.abc import Iterator

import pytest

from agentkit.errors import LlmError
from agentkit.llm.result import GenerateResult
from agentkit.messages import Message, Usage
from agentkit.tests.fake_server import FakeServer

from .apis import KEY, Api
from .conversations import TOOLS
from .runs import ask, requester, run_alone
from .scenarios import Outcome, Scenario, Seen


def problems(api: Api, scenario: Scenario) -> list[str]:
    """Return what is wrong with a scenario on an API, in each of its ways; nothing if all holds."""
    found = []
    for streaming in scenario.ways:
        way = "streamed" if streaming else "whole"
        found += [f"{way}: {problem}" for problem in _problems(api, scenario, streaming)]
    return found


def _problems(api: Api, scenario: Scenario, streaming: bool) -> list[str]:
    found: list[str] = []
    printed = io.StringIO()
    try:
        with (
            contextlib.redirect_stdout(printed),
            contextlib.redirect_stderr(printed),
            api.fake([api.spell(said) for said in scenario.says]) as fake,
        ):
            found = run_alone(_run(api, scenario, fake, streaming))
    except pytest.fail.Exception as failure:  # what the fake says, or who reached for the network
        found = [*found, str(failure)]
    if printed.getvalue():
        found = [*found, f"printed {printed.getvalue()!r}"]
    return found


async def _run(api: Api, scenario: Scenario, fake: FakeServer, streaming: bool) -> list[str]:
    waits: list[float] = []
    results: list[GenerateResult] = []
    deltas: list[str] | None = [] if streaming else None
    history: list[Message] = []
    error: Exception | None = None
    async with requester([(f"{api.uri}&timeout={scenario.timeout}", fake)], waits) as llm:
        try:
            for question in scenario.questions:
                result = await ask(llm, [*history, question], TOOLS, scenario.schema, deltas)
                results.append(result)
                # As a session would: what is opaque must survive its way through the store.
                history = [Message.from_json(message.to_json()) for message in result.history]
        except Exception as failure:
            error = failure
    bodies = [body.decode() for body in fake.bodies]
    seen = Seen(api, bodies, results, deltas, asyncio.get_running_loop().time())
    return [*_faults(scenario, seen, error, tuple(waits))]


def _faults(
    scenario: Scenario, seen: Seen, error: Exception | None, waits: tuple[float, ...]
) -> Iterator[str]:
    observed = _outcome(seen, error, waits)
    differences = [*_differences(observed, scenario.outcome)]
    yield from differences or scenario.check(seen)
    if error is not None:
        yield from _leaks(error)
        if observed.ends != scenario.outcome.ends:
            yield str(error)
    elif seen.deltas is not None and "".join(seen.deltas) != observed.text:
        yield f"deltas {seen.deltas}, expected {observed.text!r}"


def _outcome(seen: Seen, error: Exception | None, waits: tuple[float, ...]) -> Outcome:
    requests = len(seen.bodies)
    if error is not None:
        usage = error.usage if isinstance(error, LlmError) else Usage()
        return Outcome(requests, ends=type(error).__name__, usage=usage, waits=waits)
    last = seen.results[-1]
    return Outcome(requests, last.text, last.finish_reason, last.usage, waits)


def _differences(observed: Outcome, expected: Outcome) -> Iterator[str]:
    for name, value, wanted in zip(Outcome._fields, observed, expected, strict=True):
        if value != wanted:
            yield f"{name} {value!r}, expected {wanted!r}"


def _leaks(error: Exception) -> Iterator[str]:
    """Yield what an error must not show: the key, in itself or in what is chained to it."""
    if KEY in "".join(traceback.format_exception(error)):
        yield "the error shows the key"
    if "\n" in str(error):
        yield f"the error has several lines: {error}"
