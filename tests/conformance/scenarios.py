"""What a scenario is: what the server says, what the user asks, and what must come of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from agentkit.llm.result import GenerateResult
from agentkit.messages import Message, Usage

from .apis import Api, Said

HELLO = Message.user("What does it mean?")
USAGE = Usage(100, 20)  # what every reply says, if a scenario does not say otherwise
WHOLE, STREAMED = (False,), (True,)
BOTH = (False, True)


class Outcome(NamedTuple):
    """What a run comes to, and what that took (`waits` in seconds).

    `ends` is the reason why the last reply ended, or the name of the error.
    """

    requests: int
    text: str = ""
    ends: str = "stop"
    usage: Usage = Usage()
    waits: tuple[float, ...] = ()


class Seen(NamedTuple):
    """What could be seen of a scenario: the bodies of its requests, and the result of each run.

    `deltas` are the texts of the last reply if it was streamed, `seconds` are virtual.
    """

    api: Api
    bodies: list[str]
    results: list[GenerateResult]
    deltas: list[str] | None
    seconds: float


Check = Callable[[Seen], Iterable[str]]


class Scenario(NamedTuple):
    """One scenario, the same for every API.

    `questions` are asked one after the other, each over the history before it. `ways` says whether
    it is run for whole replies, streamed, or both. `timeout` is in milliseconds per attempt.
    `check` yields what is wrong although the outcome is as expected.
    """

    title: str
    says: tuple[Said, ...]
    outcome: Outcome
    questions: tuple[Message, ...] = (HELLO,)
    schema: Any = None
    ways: tuple[bool, ...] = BOTH
    timeout: int = 60_000
    check: Check = lambda seen: ()


def taken(requests: int) -> Usage:
    """Return the usage of so many replies."""
    return Usage(requests * USAGE.input_tokens, requests * USAGE.output_tokens)
