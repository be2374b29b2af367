"""Keeping a conversation within a budget without breaking it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from operator import is_
from typing import Protocol

from ..errors import ConfigError
from ..messages import Message, Text, ToolResult
from ..observability.logger import Logger
from ..observability.redact import shorten
from .seal import OPENING, is_empty, is_sendable, seal

SHORTEST_RESULT = 200  # symbols: cutting a result below this saves nothing worth its loss
_MARKER = 50  # symbols that the marker of what was left out takes


class HistoryCompactor(Protocol):
    """Shortens conversations. Sizes are in symbols: characters, 6,000 for an image."""

    async def compact(
        self, messages: Sequence[Message], max_symbols: int | None = None
    ) -> list[Message]:
        """Return a sendable list of at most `max_symbols` (default: the compactor's own budget)."""
        ...

    def estimate_symbols(self, message: Message) -> int:
        """Return what a message counts for."""
        ...


class SimpleHistoryCompactor:
    """Drops the oldest turns. Over `max_symbols` it cuts to three quarters, so that the beginning
    of the conversation, which providers cache, then stays the same for many turns.

    The system prompt, the newest user turn and a tool step in progress always stay; a call moves
    with its results; a tool result that alone breaks the budget is shortened in its middle.
    """

    def __init__(self, max_symbols: int, logger: Logger | None = None) -> None:
        self._budget = check_budget("max_symbols", max_symbols)
        self._logger = logger or Logger("compactor")
        self._known: tuple[Message, ...] = ()
        self._known_size = 0

    async def compact(
        self, messages: Sequence[Message], max_symbols: int | None = None
    ) -> list[Message]:
        """Return the messages in at most `max_symbols`, sendable; warns if that is impossible."""
        budget = self._budget
        if max_symbols is not None:
            budget = check_budget("max_symbols", max_symbols)
        if self._has_only_grown(messages, budget):
            return list(messages)
        start = _window_start(messages, budget)
        if start:  # too long, so no more than this will be kept
            start = _window_start(messages, _goal(budget))
        window = seal([*_system(messages[:start]), *messages[start:]] if start else messages)
        size = symbols(window)
        if start or size > budget:
            window = trimmed(window, budget)
            size = symbols(window)
        if size > budget:
            self._logger.warn(
                f"history is {size} symbols, over its budget of {budget}: the system prompt, the "
                "newest user message and the step in progress are always kept"
            )
        self._known, self._known_size = tuple(window), size
        return window

    def estimate_symbols(self, message: Message) -> int:
        """Return the characters of text, arguments and results; an image counts 6,000."""
        return message.weight

    def _has_only_grown(self, messages: Sequence[Message], budget: int) -> bool:
        """Tell whether this is the last list with more at its end, in order and within the budget.

        Comparing identities costs a tenth of looking at every message again before each call.
        """
        known = self._known
        if not known or len(messages) < len(known) or not all(map(is_, known, messages)):
            return False
        new = messages[len(known) :]
        size = self._known_size + symbols(new)
        if size > budget or not is_sendable(new, known[-1].role):
            return False
        self._known, self._known_size = tuple(messages), size
        return True


def symbols(messages: Sequence[Message]) -> int:
    """Return the size of messages in symbols."""
    total = 0
    for message in messages:  # most lists are short: a step is two messages
        total += message.weight
    return total


def check_budget(name: str, value: int) -> int:
    """Return the value; raises `ConfigError` unless it is a whole number of at least 1."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ConfigError(f"{name} is {value!r}: use a whole number, at least 1")
    return value


def _goal(budget: int) -> int:
    return budget * 3 // 4  # what a list over its budget is cut to


def _system(messages: Sequence[Message]) -> list[Message]:
    return [message for message in messages if message.role == "system"]


def _window_start(messages: Sequence[Message], budget: int) -> int:
    """Return where the exchange begins that holds the last symbol the budget can pay for.

    What is older cannot be kept: it is not even looked at, which makes a long history cheap.
    """
    left, start = budget, 0
    for index in range(len(messages) - 1, -1, -1):
        message = messages[index]
        weight = message.weight
        if weight <= budget or message.role != "tool":  # an oversize result will be shortened
            left -= weight
        if left < 0:
            start = index
            break
    while start > 0 and not _opens_exchange(messages[start - 1], messages[start]):
        start -= 1
    return start


def _opens_exchange(before: Message, message: Message) -> bool:
    is_user = message.role == "user" and not is_empty(message)
    return is_user and before.role in ("assistant", "tool")


@dataclass(slots=True)
class _Exchange:
    """A user turn and the steps it led to: assistant turns, each with the results of its calls."""

    user: Message
    steps: list[list[Message]]

    def symbols(self) -> int:
        return self.user.weight + sum(map(symbols, self.steps))


def trimmed(window: list[Message], budget: int) -> list[Message]:
    """Return a sendable list cut to three quarters of the budget, or as near as can be."""
    system = _system(window)
    room = budget - symbols(system)
    target = room - (budget - _goal(budget))
    exchanges = _exchanges(window[len(system) :], room)
    if exchanges and target < exchanges[-1].symbols() <= room:
        kept = exchanges[-1:]
    else:
        kept = _newest_that_fit(exchanges, target)
    for exchange in kept:
        system.append(exchange.user)
        system.extend(chain.from_iterable(exchange.steps))
    return system


def _exchanges(messages: list[Message], room: int) -> list[_Exchange]:
    newest = next((m for m in reversed(messages) if m.role == "user"), OPENING)
    room -= newest.weight
    exchanges: list[_Exchange] = []
    for message in messages:
        if message.role == "user":
            exchanges.append(_Exchange(message, []))
        elif message.role == "assistant":
            exchanges[-1].steps.append([message])
        else:
            fits = message.weight <= room
            exchanges[-1].steps[-1].append(message if fits else _without_giants(message, room))
    return exchanges


def _newest_that_fit(exchanges: list[_Exchange], room: int) -> list[_Exchange]:
    """Return the newest exchanges, of the oldest one only the user turn and its newest steps."""
    kept: list[_Exchange] = []
    squeeze = True
    for exchange in reversed(exchanges):
        room -= exchange.user.weight
        steps, room = _newest_steps(exchange, room, squeeze, in_progress=not kept)
        if kept and not steps:
            break
        kept.append(_Exchange(exchange.user, steps))
        if len(steps) < len(exchange.steps):
            break
        squeeze = squeeze and not steps
    return kept[::-1]


def _newest_steps(
    exchange: _Exchange, room: int, squeeze: bool, in_progress: bool
) -> tuple[list[list[Message]], int]:
    """Return the newest steps that fit, and the room left. The first is squeezed if need be.

    A step in progress, whose results the model has not seen yet, is never given up.
    """
    kept: list[list[Message]] = []
    for step in reversed(exchange.steps):
        size = symbols(step)
        if size > room and squeeze and not kept:
            step = _squeezed(step, room)
            size = symbols(step)
        if size > room and (kept or not in_progress or len(step) == 1):
            break
        kept.append(step)
        room -= size
    return kept[::-1], room


def _squeezed(step: list[Message], room: int) -> list[Message]:
    """Return the step with its results cut to equal shares of the room."""
    assistant, *tools = step
    return [assistant, *(_cut(m, (room - assistant.weight) // len(m.parts)) for m in tools)]


def _without_giants(message: Message, room: int) -> Message:
    """Return the results with each one that alone exceeds the room cut to a quarter of it."""
    return _cut(message, room // 4, above=room)


def _cut(message: Message, longest: int, above: int = 0) -> Message:
    """Return the results with each one over `above` and `longest` cut to `longest` symbols."""
    longest = max(longest, SHORTEST_RESULT)
    parts = [_shortened(r, longest, max(above, longest)) for r in message.tool_results]
    if all(map(is_, parts, message.parts)):
        return message
    return Message("tool", tuple(parts))


def _shortened(result: ToolResult, longest: int, above: int) -> ToolResult:
    if Message("tool", (result,)).weight <= above:
        return result
    texts = [part.text if isinstance(part, Text) else "[image left out]" for part in result.content]
    return replace(result, content=(Text(shorten("\n".join(texts), longest - _MARKER)),))
