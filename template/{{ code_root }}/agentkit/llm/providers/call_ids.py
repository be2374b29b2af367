"""The ids of the tool calls in one reply: a result is paired by its call's id."""

from __future__ import annotations

from ...errors import MalformedReply

MOST_CALLS = 128  # in one reply: far more than any tool is meant to be called


class CallIds:
    """Gives each call of a reply an id of its own: the model's, unless it is missing or taken."""

    def __init__(self, provider: str) -> None:
        self._provider = provider
        self._taken: set[str] = set()

    def own(self, given: str) -> str:
        """Return the next call's id. Raises `MalformedReply` when there are more than 128."""
        number = len(self._taken)
        if number == MOST_CALLS:
            raise too_many_calls(self._provider)
        call_id = given or f"call_{number}"
        while call_id in self._taken:
            call_id = f"{given or 'call'}_{number}"
            number += 1
        self._taken.add(call_id)
        return call_id


def too_many_calls(provider: str) -> MalformedReply:
    """Return the error for a reply with more calls than are taken."""
    return MalformedReply(f"{provider} sent more than {MOST_CALLS} calls in one reply")
