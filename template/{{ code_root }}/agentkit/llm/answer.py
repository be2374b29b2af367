"""What a reply is worth: an answer, a request for tools, or something to be corrected."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, NamedTuple

from ..messages import Message, Reply, Text, ToolCall, ToolResult
from ..session.seal import is_empty
from ..tools.tool import Tool
from .schema import InvalidAnswer, OutputSchema


class Answer(NamedTuple):
    """A reply and its worth.

    `value` is the validated answer where a schema was asked for; `problem` says what does not fit,
    and `corrections` are the messages that tell the model so, for its next attempt only.
    """

    reply: Reply
    value: Any = None
    problem: str | None = None
    corrections: Sequence[Message] = ()


def judge(reply: Reply, schema: OutputSchema | None, tools: Sequence[Tool]) -> Answer:
    """Validate a reply that should be an answer; one that asks for tools is taken as it is."""
    if schema is None or reply.finish_reason in ("refused", "blocked"):
        return Answer(reply)
    text = _answer_text(reply, tools)
    if text is None:
        return Answer(reply)
    try:
        return Answer(_as_text(reply, text), schema.parse(text))
    except InvalidAnswer as error:
        problem = str(error) if text.strip() else "the answer was empty"
    if reply.finish_reason == "length":  # asking again would be cut off again
        return Answer(_as_text(reply, text), None, f"the answer was cut off; {problem}")
    return Answer(_invalid(reply, text), None, problem, _corrections(reply, problem))


def corrected(messages: Sequence[Message], corrections: Sequence[Message]) -> list[Message]:
    """Return the messages with the corrections; a user never speaks twice in a row."""
    last, first = messages[-1], corrections[0]
    if last.role == first.role == "user":
        merged = Message("user", (*last.parts, *first.parts))
        return [*messages[:-1], merged, *corrections[1:]]
    return [*messages, *corrections]


def _answer_text(reply: Reply, tools: Sequence[Tool]) -> str | None:
    """Return the text of an answer; None when the reply asks for tools that exist.

    Some providers give a typed answer as the call of a tool, which is none of the run's.
    """
    calls = reply.message.tool_calls
    if not calls:
        return reply.message.text
    known = {tool.name for tool in tools}
    if any(call.name in known for call in calls):
        return None
    return calls[0].malformed or calls[0].arguments_text


def _as_text(reply: Reply, text: str) -> Reply:
    """Return the reply with an answer given as a call turned into text: a call needs a result."""
    if not reply.message.tool_calls:
        return reply
    kept = (part for part in reply.message.parts if not isinstance(part, ToolCall))
    return dataclasses.replace(reply, message=Message("assistant", (*kept, Text(text))), raw=text)


def _invalid(reply: Reply, text: str) -> Reply:
    return dataclasses.replace(_as_text(reply, text), finish_reason="invalid", raw=text)


def _corrections(reply: Reply, problem: str) -> Sequence[Message]:
    text = f"The answer does not match the required schema. {problem}. Send the corrected answer."
    calls = reply.message.tool_calls
    if calls:
        results = tuple(ToolResult(c.id, c.name, (Text(text),), is_error=True) for c in calls)
        return (reply.message, Message("tool", results))
    if is_empty(reply.message):  # an empty turn must not be sent
        return (Message.user(text),)
    return (reply.message, Message.user(text))
