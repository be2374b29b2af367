"""What is written down comes back as it was, and is plain JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest

from ... import errors
from ...durable.records import (
    Json,
    error_data,
    read_error,
    read_reply,
    read_result,
    read_tool_result,
    reply_data,
    result_data,
    tool_result_data,
)
from ...errors import AgentError, AgentkitError, LlmError, RateLimited
from ...llm.result import GenerateResult
from ...llm.schema import output_schema
from ...messages import Image, Message, Reply, Text, Thinking, ToolCall, ToolResult, Usage

CALL = ToolCall("1", "look_up", {"word": "é", "n": [1, None]}, None, {"openai": {"id": "x"}})
REPLY = Reply(
    Message("assistant", (Thinking("hm", {"anthropic": {"signature": "s"}}), CALL)),
    "stop",
    Usage(1, 2, 3, 4, 5),
    "a-model",
    "raw",
    "detail",
)
RESULT = ToolResult("1", "look_up", (Text("found"), Image("image/png", "AAAA")), True)


@dataclass
class Word:
    """A typed answer."""

    word: str


def through_json(data: Json) -> Json:
    """Write data down and read it back."""
    read: Json = json.loads(json.dumps(data))
    return read


def test_a_reply_comes_back_with_its_opaque_data() -> None:
    """Signatures, usage, calls and all."""
    assert read_reply(through_json(reply_data(REPLY))) == REPLY


def test_a_tool_result_comes_back_with_its_images() -> None:
    """Its parts, and that it was an error."""
    assert read_tool_result(through_json(tool_result_data(RESULT))) == RESULT


def test_a_result_comes_back_without_its_history() -> None:
    """Calls and results are those of its messages."""
    messages = [REPLY.message, Message("tool", (RESULT,)), Message.assistant("Done.")]
    result = GenerateResult(
        "Done.", "Done.", [CALL], [RESULT], messages, messages, [REPLY], "stop", "a-model", 0.5,
        Usage(1, 2), None, None,
    )  # fmt: skip
    read = read_result(through_json(result_data(result)), None)
    result.history = []
    assert read == result


def test_a_typed_answer_is_validated_again() -> None:
    """Only its text is written down, the type is the program's."""
    text = '{"word": "ubiquitous"}'
    result = GenerateResult(Word("ubiquitous"), text)
    assert read_result(through_json(result_data(result)), output_schema(Word)).result == Word(
        "ubiquitous"
    )


def test_a_refusal_has_no_typed_answer() -> None:
    """Its text is not taken for one."""
    result = GenerateResult(None, "I will not.", finish_reason="refused")
    assert read_result(through_json(result_data(result)), output_schema(Word)).result is None


@pytest.mark.parametrize(
    "kind",
    [k for k in vars(errors).values() if isinstance(k, type) and issubclass(k, AgentkitError)],
)
def test_an_error_comes_back_as_its_own_type(kind: type[AgentkitError]) -> None:
    """So that a caller can tell what to do."""
    read = read_error(through_json(error_data(kind("it broke"))))
    assert (type(read), str(read)) == (kind, "it broke")


def test_a_failed_call_comes_back_with_what_a_caller_acts_on() -> None:
    """Status, hint, attempts, expense and the messages so far."""
    error = RateLimited("slow down", status=429, retry_after=7.0)
    error.attempts, error.usage, error.cost = 3, Usage(5, 6), None
    error.messages = [REPLY.message]
    read = read_error(through_json(error_data(error)))
    assert isinstance(read, LlmError)
    assert vars(read) == vars(error)


def test_an_error_of_another_program_is_not_looked_up() -> None:
    """A name in a row never leads to anything but this package's errors."""
    read = read_error({"type": "re", "message": "x"})
    assert (type(read), str(read)) == (AgentError, "re: x")
