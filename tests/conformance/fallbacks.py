"""Every pair of adapters as a fallback: the first fails in the middle of a run, the second ends it.

The first thinks and calls a tool, then fails for good. The second goes on from there with a call of
its own, so that staying with it can be seen.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from itertools import permutations
from typing import NamedTuple

import pytest

from agentkit.llm.result import GenerateResult
from agentkit.tests.chat_replies import truncated, truncated_sse
from agentkit.tests.fake_server import FakeServer

from .apis import APIS, Api, ApiError, HttpError, Said, Thought
from .conversations import TOOLS, look_up
from .runs import ask, requester, run_alone
from .scenarios import HELLO, taken


class Failure(NamedTuple):
    """How the first model fails, after how many requests the next one is tried, and in which way.

    What happens in the middle of a stream is streamed, so that it can be seen to be void.
    """

    error: str
    said: Said
    requests: int
    streaming: bool = False


FAILURES = (
    Failure("RateLimited", HttpError(429), 3),
    Failure("Overloaded", ApiError("overloaded in the reply"), 3, True),
    Failure("ConnectionFailed", truncated, 3, True),
    Failure("MalformedReply", truncated_sse, 3, True),
    Failure("AuthenticationFailed", HttpError(401), 1),
    Failure("QuotaExhausted", ApiError("quota"), 1),
    Failure("UnknownModel", ApiError("unknown model"), 1),
    Failure("BadRequest", HttpError(400), 1, True),
    Failure("ContextTooLong", ApiError("too long"), 2),
)
PAIRS = tuple(permutations(APIS, 2))


class Ended(NamedTuple):
    """What came of a run over two models: its result, what was sent to each, and the last texts."""

    result: GenerateResult
    first: list[str]
    second: list[str]
    deltas: list[str] | None


def problems(first: Api, second: Api, failure: Failure) -> list[str]:
    """Return what is wrong with a fallback; nothing if all holds."""
    try:
        ended = run_alone(_run(first, second, failure))
    except (Exception, pytest.fail.Exception) as error:
        return [f"{failure.error}: {type(error).__name__}: {error}"]
    faults = [*_faults(ended, first, second, failure), *_mixed_up(ended, first)]
    return [f"{failure.error}: {fault}" for fault in faults]


async def _run(first: Api, second: Api, failure: Failure) -> Ended:
    thought = first.spell(Thought(look_up("a"), "about a"))
    fails = [first.spell(failure.said)] * failure.requests
    deltas: list[str] | None = [] if failure.streaming else None
    with ExitStack() as stack:
        one = stack.enter_context(first.fake([thought, *fails]))
        other = stack.enter_context(second.fake([look_up("b"), "Done."]))
        async with requester([(first.uri, one), (second.uri, other)], []) as llm:
            result = await ask(llm, [HELLO], TOOLS, deltas=deltas)
    return Ended(result, _bodies(one), _bodies(other), deltas)


def _bodies(fake: FakeServer) -> list[str]:
    return [body.decode() for body in fake.bodies]


def _faults(ended: Ended, first: Api, second: Api, failure: Failure) -> Iterator[str]:
    counts = (len(ended.first), len(ended.second))
    if counts != (1 + failure.requests, 2):
        yield f"{counts[0]} and {counts[1]} requests"
    name = second.uri.partition("?")[0].removeprefix("responses://")
    if ended.result.model != name:
        yield f"answered by {ended.result.model}"
    if ended.result.text != "Done.":
        yield f"text {ended.result.text!r}"
    if ended.result.usage != taken(3):
        yield f"usage {ended.result.usage}"
    if ended.deltas is not None and "".join(ended.deltas) != "Done.":
        yield f"deltas {ended.deltas}"


def _mixed_up(ended: Ended, first: Api) -> Iterator[str]:
    opaque = first.opaque(1, "about a")
    if opaque not in ended.first[1]:
        yield "the thinking did not go back to the model that had it"
    if any(opaque in body for body in ended.second):
        yield "the second model got the thinking of the first"
    if any("a means everywhere" not in body for body in ended.second):
        yield "the second model did not get the results so far"
