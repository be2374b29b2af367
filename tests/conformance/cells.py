"""One cell of the table: a scenario against an adapter, and what is not as it should be."""

from __future__ import annotations

import contextlib
import io
import traceback
from collections.abc import Iterator

import pytest

from agentkit.errors import LlmError
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
    seen = Seen(api, [], [], [] if streaming else None)
    error: Exception | None = None
    async with requester([(f"{api.uri}&timeout={scenario.timeout}", fake)], waits) as llm:
        history: list[Message] = []
        try:
            for question in scenario.questions:
                if seen.deltas:
                    seen.deltas.clear()
                result = await ask(llm, [*history, question], TOOLS, scenario.schema, seen.deltas)
                seen.results.append(result)
                # As a session would: what is opaque must survive its way through the store.
                history = [Message.from_json(message.to_json()) for message in result.history]
        except Exception as failure:
            error = failure
    seen.bodies.extend(body.decode() for body in fake.bodies)
    observed = _outcome(seen, error, tuple(waits))
    found = [*_differences(observed, scenario.outcome)]
    if error is not None:
        shown = [] if observed.ends == scenario.outcome.ends else [str(error)]
        return [*found, *shown, *_leaks(error)]
    return [*found, *_delta_problems(seen), *scenario.check(seen)]


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


def _delta_problems(seen: Seen) -> Iterator[str]:
    text = seen.results[-1].text
    if seen.deltas is not None and "".join(seen.deltas) != text:
        yield f"deltas {seen.deltas}, expected {text!r}"
