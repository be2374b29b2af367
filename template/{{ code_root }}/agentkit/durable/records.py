"""Replies, tool results, outcomes and errors as the plain JSON that a database row holds.

Nothing is pickled: a row can be read by people, and reading one runs no code.
"""

from __future__ import annotations

import json
from typing import Any, cast

from .. import errors
from ..errors import AgentkitError, LlmError
from ..llm.result import GenerateResult
from ..llm.schema import OutputSchema
from ..messages import FinishReason, Message, Reply, ToolResult, Usage
from ..observability.redact import error_message

Json = dict[str, Any]
_LLM_FIELDS = ("status", "retry_after", "attempts", "cost")


def message_data(message: Message) -> Json:
    """Return a message as plain data."""
    return cast(Json, json.loads(message.to_json()))


def read_message(data: Json) -> Message:
    """Return the message of `message_data`."""
    return Message.from_json(json.dumps(data))


def reply_data(reply: Reply) -> Json:
    """Return a reply as plain data."""
    return {
        "message": message_data(reply.message),
        "finish_reason": reply.finish_reason,
        "usage": reply.usage._asdict(),
        "model": reply.model,
        "raw": reply.raw,
        "detail": reply.detail,
    }


def read_reply(data: Json) -> Reply:
    """Return the reply of `reply_data`."""
    reason = cast(FinishReason, data["finish_reason"])
    message, usage = read_message(data["message"]), Usage(**data["usage"])
    return Reply(message, reason, usage, data["model"], data["raw"], data["detail"])


def tool_result_data(result: ToolResult) -> Json:
    """Return a tool's result as plain data."""
    return message_data(Message("tool", (result,)))


def read_tool_result(data: Json) -> ToolResult:
    """Return the result of `tool_result_data`."""
    return read_message(data).tool_results[0]


def result_data(result: GenerateResult) -> Json:
    """Return how a run went, apart from its history: the session has that."""
    return {
        "has_value": result.result is not None,
        "text": result.text,
        "new_messages": [message_data(message) for message in result.new_messages],
        "steps": [reply_data(reply) for reply in result.steps],
        "finish_reason": result.finish_reason,
        "model": result.model,
        "cost": result.estimated_cost,
        "usage": result.usage._asdict(),
        "validation_error": result.validation_error,
        "raw_response": result.raw_response,
    }


def read_result(data: Json, schema: OutputSchema | None) -> GenerateResult:
    """Return the result of `result_data`; a typed answer is validated again."""
    messages = [read_message(message) for message in data["new_messages"]]
    value = data["text"] if schema is None else None
    if schema is not None and data["has_value"]:
        value = schema.parse(data["text"])
    return GenerateResult(
        result=value,
        text=data["text"],
        tool_calls=[call for message in messages for call in message.tool_calls],
        tool_results=[result for message in messages for result in message.tool_results],
        new_messages=messages,
        steps=[read_reply(reply) for reply in data["steps"]],
        finish_reason=data["finish_reason"],
        model=data["model"],
        estimated_cost=data["cost"],
        usage=Usage(**data["usage"]),
        validation_error=data["validation_error"],
        raw_response=data["raw_response"],
    )


def error_data(error: AgentkitError) -> Json:
    """Return an error as plain data: its class, its message and what a caller acts on."""
    data: Json = {"type": type(error).__name__, "message": error_message(error)}
    if isinstance(error, LlmError):
        data |= {name: getattr(error, name) for name in _LLM_FIELDS}
        data["usage"] = error.usage._asdict()
        data["messages"] = [message_data(message) for message in error.messages]
    return data


def read_error(data: Json) -> AgentkitError:
    """Return the error of `error_data`; a class that is not of this package is `AgentError`."""
    kind = getattr(errors, data["type"], None)
    if not (isinstance(kind, type) and issubclass(kind, AgentkitError)):
        return errors.AgentError(f"{data['type']}: {data['message']}")
    error = kind(data["message"])
    if isinstance(error, LlmError):
        for name in _LLM_FIELDS:
            setattr(error, name, data[name])
        error.usage = Usage(**data["usage"])
        error.messages = [read_message(message) for message in data["messages"]]
    return error
