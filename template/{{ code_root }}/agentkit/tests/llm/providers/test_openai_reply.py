"""Replies of the Responses API as values: parts, tokens and how they ended."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ....llm.events import TextDelta
from ....llm.providers.openai_reply import ReplyParser
from ....messages import Reply, Text, Thinking, ToolCall, Usage

MESSAGE = {"type": "message", "content": [{"type": "output_text", "text": "Hi"}]}
CALL = {"type": "function_call", "call_id": "c1", "name": "f", "arguments": '{"a":1}'}


def parser() -> ReplyParser:
    """Return a parser of a reply that has not begun."""
    return ReplyParser("openai", "d", "m")


def reply(*output: Any, **more: Any) -> Reply:
    """Return the reply of a response with these output items."""
    body = {"status": "completed", "output": list(output), **more}
    return parser().take(json.dumps(body).encode())


def incomplete(reason: str, *output: Any) -> Reply:
    """Return the reply of a response that ended early."""
    return reply(*output, status="incomplete", incomplete_details={"reason": reason})


def test_items_become_parts_in_their_order() -> None:
    """Reasoning, text and calls; items of other kinds are none of ours."""
    thought = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "g"}
    parts = reply(thought, MESSAGE, {"type": "web_search_call"}, CALL).message.parts
    assert parts == (Thinking("", {"d": thought}), Text("Hi"), ToolCall("c1", "f", {"a": 1}))


def test_shown_reasoning_is_readable() -> None:
    """Summaries, or what open models thought in full."""
    summary = [{"type": "summary_text", "text": "One."}, {"type": "summary_text", "text": "Two."}]
    content = [{"type": "reasoning_text", "text": "Three."}]
    item = {"type": "reasoning", "id": "rs_1", "summary": summary, "content": content}
    (thinking,) = reply(item).message.parts
    assert thinking == Thinking("One.\n\nTwo.\n\nThree.", {"d": item})


def test_reasoning_without_its_content_is_not_kept_for_sending() -> None:
    """The server stored nothing, so an id alone would be refused."""
    item: dict[str, Any] = {"type": "reasoning", "id": "rs_1", "summary": []}
    assert reply(item, MESSAGE).message.parts == (Thinking(""), Text("Hi"))


def test_only_what_may_be_sent_back_is_kept() -> None:
    """The API knows no status of reasoning in its input."""
    more = {"status": "completed", "content": None}
    item = {"type": "reasoning", "id": "rs_1", "encrypted_content": "g", **more}
    (thinking, _) = reply(item, MESSAGE).message.parts
    assert isinstance(thinking, Thinking)
    assert thinking.replay == {
        "d": {"summary": [], "type": "reasoning", "id": "rs_1", "encrypted_content": "g"}
    }


def test_half_characters_in_deltas_are_mended() -> None:
    """Whoever shows them must be able to encode them."""
    event = rb'{"type":"response.output_text.delta","delta":"\ud83d"}'
    assert parser().feed(event) == TextDelta("\ufffd")


def test_the_phase_of_a_text_is_kept() -> None:
    """It belongs to the text and goes back with it."""
    assert reply({**MESSAGE, "phase": "final_answer"}).message.parts == (
        Text("Hi", {"d": {"phase": "final_answer"}}),
    )


@pytest.mark.parametrize("raw", ["", "null", "{}", None])
def test_a_call_without_arguments_has_none(raw: str | None) -> None:
    """However the model says it."""
    (call,) = reply({**CALL, "arguments": raw}).message.tool_calls
    assert (call.arguments, call.malformed) == ({}, None)


@pytest.mark.parametrize("raw", ["[1]", '{"q": "a', "NaN"])
def test_broken_arguments_are_kept_as_they_came(raw: str) -> None:
    """The model is told, and the loop goes on."""
    (call,) = reply({**CALL, "arguments": raw}).message.tool_calls
    assert (call.arguments, call.malformed) == ({}, raw)


def test_calls_with_one_id_are_told_apart() -> None:
    """Each needs a result of its own, whatever a server calls them."""
    ids = [c.id for c in reply(CALL, CALL, {**CALL, "call_id": None}).message.tool_calls]
    assert ids == ["c1", "c1_1", "call_2"]


def test_tokens_are_counted_the_same_way_as_everywhere() -> None:
    """Input includes what was cached, output includes reasoning."""
    usage = {
        "input_tokens": 100,
        "input_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 30},
        "output_tokens": 50,
        "output_tokens_details": {"reasoning_tokens": 40},
    }
    assert reply(MESSAGE, usage=usage).usage == Usage(100, 50, 60, 30, 40)


@pytest.mark.parametrize("usage", [None, {}, {"input_tokens": None, "input_tokens_details": None}])
def test_missing_usage_counts_nothing(usage: Any) -> None:
    """The answer is still one."""
    assert reply(MESSAGE, usage=usage).usage == Usage()


def test_the_model_that_answered_is_told() -> None:
    """As the server names it, else as it was asked for."""
    assert (reply(MESSAGE).model, reply(MESSAGE, model="m-2026").model) == ("m", "m-2026")


def test_a_refusal_is_an_outcome_with_its_reason() -> None:
    """What the model would not do is no text of an answer."""
    content = [{"type": "refusal", "refusal": "I will not."}]
    refused = reply({"type": "message", "content": content})
    assert (refused.finish_reason, refused.detail, refused.message.text) == (
        "refused",
        "I will not.",
        "",
    )


def test_a_reply_that_ended_early_says_why() -> None:
    """Cut off by its length, or blocked by a filter."""
    cut = incomplete("max_output_tokens", MESSAGE)
    blocked = incomplete("content_filter")
    assert (cut.finish_reason, cut.message.text, cut.detail) == ("length", "Hi", "")
    assert (blocked.finish_reason, blocked.detail) == ("blocked", "content_filter")


@pytest.mark.parametrize("text", ["", " \n"])
def test_a_reply_that_says_nothing_is_empty(text: str) -> None:
    """Reasoning alone is no answer either."""
    said = {"type": "message", "content": [{"type": "output_text", "text": text}]}
    assert reply(said).finish_reason == "empty"
    assert reply().finish_reason == "empty"
