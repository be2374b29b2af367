"""What a reply is worth, and what the model is told when it is worth nothing."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel

from ...llm.answer import corrected, judge
from ...llm.schema import output_schema
from ...messages import FinishReason, Image, Message, Part, Reply, Text, Thinking, ToolCall, Usage
from ...tools.tool import tool


class Number(BaseModel):
    """A schema with one field."""

    n: int


@tool
async def search(q: str) -> str:
    """Search."""
    return q


SCHEMA = output_schema(Number)
CALL = ToolCall("c1", "emit_result", {"n": "x"})


def reply(*parts: Part, reason: FinishReason = "stop") -> Reply:
    """Return a reply of these parts."""
    message = Message("assistant", parts)
    return Reply(message, reason, Usage(), "m", message.text)


def test_without_a_schema_any_reply_is_an_answer() -> None:
    """Text is as good as it is, also none."""
    for said in (reply(Text("hi")), reply(reason="empty"), reply(CALL)):
        assert judge(said, None, ()).reply is said
        assert judge(said, None, ()).problem is None


def test_a_valid_text_is_the_value() -> None:
    """The message stays what the model said."""
    answer = judge(reply(Text('{"n": 7}')), SCHEMA, ())
    assert (answer.value, answer.problem, answer.corrections) == (Number(n=7), None, ())


def test_a_valid_call_is_the_value_and_becomes_text() -> None:
    """A call needs a result, which no tool would give: the history gets the answer as text."""
    answer = judge(reply(Thinking("hm"), ToolCall("c1", "answer", {"n": 7})), SCHEMA, (search,))
    assert answer.value == Number(n=7)
    assert answer.reply.message.parts == (Thinking("hm"), Text('{"n":7}'))


def test_a_call_of_a_known_tool_is_no_answer() -> None:
    """The loop runs it first, whatever else the reply holds."""
    said = reply(Text("let me see"), ToolCall("c1", "search", {"q": "x"}), CALL)
    answer = judge(said, SCHEMA, (search,))
    assert answer.reply is said
    assert answer.problem is None


def test_a_text_that_does_not_fit_is_corrected_by_a_user_turn() -> None:
    """The model sees what it said, and which field is wrong."""
    answer = judge(reply(Text('{"n": "x"}')), SCHEMA, ())
    said, told = answer.corrections
    assert said.text == '{"n": "x"}'
    assert told.role == "user"
    assert "n: Input should be a valid integer" in told.text
    assert (answer.reply.finish_reason, answer.reply.raw) == ("invalid", '{"n": "x"}')


def test_a_call_that_does_not_fit_is_corrected_by_its_result() -> None:
    """Every call of the turn is answered, as an error: anything else would be refused."""
    other = ToolCall("c2", "emit_result", {"n": 1})
    answer = judge(reply(CALL, other), SCHEMA, ())
    said, told = answer.corrections
    assert said.tool_calls == [CALL, other]
    assert [(r.call_id, r.is_error) for r in told.tool_results] == [("c1", True), ("c2", True)]
    assert "n: Input should be a valid integer" in told.tool_results[0].text


def test_a_broken_call_that_does_not_fit_is_judged_by_what_was_written() -> None:
    """Its text is what the caller gets to see as the raw response."""
    answer = judge(reply(ToolCall("c1", "emit_result", {}, '{"n": 1')), SCHEMA, ())
    assert answer.reply.raw == '{"n": 1'
    assert answer.problem is not None


@pytest.mark.parametrize("parts", [(), (Thinking("hm"),), (Text("  \n"),)])
def test_an_empty_answer_is_corrected_by_a_nudge_alone(parts: tuple[Part, ...]) -> None:
    """The empty turn itself is never sent back."""
    answer = judge(reply(*parts, reason="empty"), SCHEMA, ())
    [nudge] = answer.corrections
    assert nudge.role == "user"
    assert "the answer was empty" in nudge.text
    assert answer.reply.finish_reason == "invalid"


@pytest.mark.parametrize("reason", ["refused", "blocked"])
def test_a_refusal_is_not_corrected(reason: Any) -> None:
    """The model meant it."""
    answer = judge(reply(Text("no"), reason=reason), SCHEMA, ())
    assert (answer.value, answer.corrections) == (None, ())
    assert answer.reply.finish_reason == reason


def test_an_answer_that_was_cut_off_is_not_asked_for_again() -> None:
    """It would be cut off again; the problem says that it was."""
    answer = judge(reply(Text('{"n": '), reason="length"), SCHEMA, ())
    assert answer.corrections == ()
    assert answer.problem is not None
    assert answer.problem.startswith("the answer was cut off; ")
    assert answer.reply.finish_reason == "length"


def test_an_answer_that_was_cut_off_in_a_call_leaves_no_call() -> None:
    """What goes into the history needs no result."""
    cut = judge(reply(ToolCall("c1", "answer", {}, '{"n": '), reason="length"), SCHEMA, ())
    assert cut.reply.message.tool_calls == []


def test_a_correction_follows_the_conversation() -> None:
    """It is added at the end, and the list itself is not changed."""
    messages = [Message.user("hi")]
    turn = (Message.assistant("x"), Message.user("wrong"))
    assert corrected(messages, turn) == [*messages, *turn]
    assert len(messages) == 1


def test_a_nudge_joins_the_users_turn() -> None:
    """Nobody speaks twice in a row; images stay where they are."""
    image = Image("image/png", "aGk=")
    messages = [Message.assistant("hi"), Message("user", (Text("look"), image))]
    made = corrected(messages, (Message.user("again"),))
    assert made == [messages[0], Message("user", (Text("look"), image, Text("again")))]
    assert messages[1].parts == (Text("look"), image)
