"""Repair of a conversation so that every provider accepts it: pairs, alternation, no empty turn."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from ..messages import Image, Message, Role, Text, ToolCall, ToolResult

INTERRUPTED = "interrupted, may have run"
OPENING = Message.user("(The conversation starts here.)")

# What may follow what. "calling" is an assistant turn with calls. A tool turn counts as the user's
# side; a user turn after it comes from a run that ended at a limit.
_FOLLOWERS = {
    "system": ("user", "system"),
    "user": ("assistant",),
    "assistant": ("user",),
    "calling": ("tool",),
    "tool": ("assistant", "user"),
}


def seal(messages: Sequence[Message]) -> list[Message]:
    """Return the messages as a list that can be sent as it is.

    Open calls get an error result, results without a call and empty turns are dropped, neighbours
    of one role are merged, system messages move to the front. Untouched messages stay the same
    objects.
    """
    return list(messages) if is_sendable(messages) else _repaired(messages)


def is_sendable(messages: Iterable[Message], before: Role = "system") -> bool:
    """Tell whether strict providers accept this order of roles, calls and results.

    `before` is the role of the message in front of them, which is in order itself.
    """
    last: str = before
    calls: list[str] = []
    for message in messages:
        role: str = message.role
        parts = message.parts
        if role not in _FOLLOWERS[last] or not parts:
            return False
        if role == "assistant":
            calls = [part.id for part in parts if type(part) is ToolCall]
            if calls:
                role = "calling"
            elif is_empty(message):
                return False
        elif role == "tool" and [p.call_id for p in parts if type(p) is ToolResult] != calls:
            return False
        last = role
    return last != "calling"


def is_empty(message: Message) -> bool:
    """Tell whether a message says nothing that a provider would accept as a turn."""
    if message.role != "assistant":
        return not message.parts
    for part in message.parts:
        if type(part) is Text:
            if part.text and not part.text.isspace():
                return False
        elif type(part) is ToolCall or type(part) is Image:
            return False
    return True


def _repaired(messages: Sequence[Message]) -> list[Message]:
    sealed = [message for message in messages if message.role == "system"]
    for assistant, replies in _exchanges(messages):
        if assistant:
            _add(sealed, assistant)
        if assistant and assistant.tool_calls:
            sealed.append(_answers(assistant, [m for m in replies if m.role == "tool"]))
        for message in replies:
            if message.role == "user":
                _add(sealed, message)
    return sealed


def _exchanges(messages: Sequence[Message]) -> Iterator[tuple[Message | None, list[Message]]]:
    """Yield each assistant turn with all that follows it up to the next one."""
    assistant: Message | None = None
    replies: list[Message] = []
    for message in messages:
        if message.role == "system" or is_empty(message):
            continue
        if message.role == "assistant":
            yield assistant, replies
            assistant, replies = message, []
        else:
            replies.append(message)
    yield assistant, replies


def _answers(assistant: Message, tools: list[Message]) -> Message:
    calls = assistant.tool_calls
    if len(tools) == 1 and [r.call_id for r in tools[0].tool_results] == [c.id for c in calls]:
        return tools[0]
    found: dict[str, list[ToolResult]] = {}
    for message in tools:
        for result in message.tool_results:
            found.setdefault(result.call_id, []).append(result)
    return Message("tool", tuple(_answer(call, found.get(call.id)) for call in calls))


def _answer(call: ToolCall, results: list[ToolResult] | None) -> ToolResult:
    if results:
        return results.pop(0)
    return ToolResult(call.id, call.name, (Text(INTERRUPTED),), is_error=True)


def _add(sealed: list[Message], message: Message) -> None:
    before = sealed[-1] if sealed else None
    if message.role == "assistant" and (before is None or before.role == "system"):
        sealed.append(OPENING)
    if before and before.role == message.role:
        sealed[-1] = replace(before, parts=before.parts + message.parts)
    else:
        sealed.append(message)
