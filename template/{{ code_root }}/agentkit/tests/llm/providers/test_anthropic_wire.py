"""Messages as the Messages API wants them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ....llm.providers.anthropic_wire import began_with_thinking, joined, turns_of
from ....messages import Image, Message, Text, Thinking, ToolCall, ToolResult

SIGNED = Thinking("hm", {"anthropic": {"type": "thinking", "thinking": "hm", "signature": "s"}})
CALL = ToolCall("c1", "f", {})
FOUND = Message("tool", (ToolResult("c1", "f", (Text("found"),)),))
USER = Message.user("hello")
ASKED = Message("assistant", (CALL,))
THOUGHT = Message("assistant", (SIGNED, CALL))


def sent(*messages: Message) -> list[dict[str, Any]]:
    """Return the turns that go out for these messages."""
    turns: list[dict[str, Any]] = json.loads(f"[{joined(turns_of(messages, ()))}]")
    return turns


def blocks(*messages: Message) -> list[dict[str, Any]]:
    """Return the blocks of the last turn."""
    content: list[dict[str, Any]] = sent(*messages)[-1]["content"]
    return content


@pytest.mark.parametrize("text", ["", " \n"])
def test_blank_text_is_never_sent(text: str) -> None:
    """The API refuses it: a user who says nothing gets words, elsewhere it is left out."""
    no_words = {"type": "text", "text": "(no text)"}
    assert blocks(Message.user(text)) == [no_words]
    assert blocks(Message("assistant", (Text(text), CALL)))[0]["type"] == "tool_use"
    result = ToolResult("c1", "f", (Text(text),), is_error=True)
    assert blocks(Message("tool", (result,)))[0]["content"] == [no_words]
    assert turns_of([Message.system(text), Message.assistant(text)], ()) == []


def test_neighbours_of_one_role_are_one_turn() -> None:
    """What stands between them may have nothing to say."""
    turns = sent(USER, Message("assistant", (Thinking("hm"),)), USER, Message.assistant("hi"))
    assert [(turn["role"], len(turn["content"])) for turn in turns] == [
        ("user", 2),
        ("assistant", 1),
    ]


@pytest.mark.parametrize("media_type", ["image/svg+xml", "image/bmp", "application/pdf"])
def test_a_picture_of_another_kind_becomes_a_note(media_type: str) -> None:
    """Sent as it is, it would be refused, and with it every later turn."""
    image = Image(media_type, "AAAA")
    for message in (Message("user", (image,)), Message("tool", (ToolResult("a", "f", (image,)),))):
        assert media_type in json.dumps(blocks(message))
        assert '"image"' not in json.dumps(blocks(message))


def test_a_picture_of_an_assistant_becomes_a_note() -> None:
    """Another model may have drawn it; here only users show pictures."""
    message = Message("assistant", (Text("See:"), Image("image/png", "AAAA")))
    assert [block["type"] for block in blocks(message)] == ["text", "text"]


@pytest.mark.parametrize("call_id", ["", "a b", "fc|1", "é", "x" * 65, "\ud800"])
def test_a_foreign_id_becomes_a_legal_one(call_id: str) -> None:
    """The same for the call and its result, and always the same."""
    call = Message("assistant", (ToolCall(call_id, "f", {}),))
    result = Message("tool", (ToolResult(call_id, "f", (Text("x"),)),))
    use, answer = blocks(call)[0], blocks(result)[0]
    assert use["id"] == answer["tool_use_id"] == blocks(call)[0]["id"]
    assert use["id"].startswith("call_")
    assert len(use["id"]) <= 64


def test_ids_that_come_again_are_told_apart_by_their_place() -> None:
    """Some providers number the calls of each turn anew; results follow their calls."""
    step = (Message("assistant", (CALL, CALL)), Message("tool", FOUND.parts * 2))
    turns = sent(USER, *step, *step)
    used = [[block["id"] for block in turns[index]["content"]] for index in (1, 3)]
    answered = [[b["tool_use_id"] for b in turns[index]["content"]] for index in (2, 4)]
    assert used == answered
    assert len({*used[0], *used[1]}) == 4


def test_a_name_that_a_model_invented_is_made_legal() -> None:
    """It stays in the history, where the API checks it again."""
    assert blocks(Message("assistant", (ToolCall("c1", "my tool!", {}),)))[0]["name"] == "my_tool_"


def test_text_that_cannot_be_encoded_is_replaced() -> None:
    """Half of a surrogate pair would break the request."""
    message = Message("user", (Image("image/\ud800", "AAAA"),))
    turns_of([message], ())[0].blocks.encode()


@pytest.mark.parametrize(
    ("messages", "began"),
    [
        ([USER], True),
        ([USER, THOUGHT, FOUND], True),
        ([USER, ASKED, FOUND], False),
        ([USER, Message("assistant", (Text("So"), SIGNED, CALL)), FOUND], False),
        ([USER, ASKED, FOUND, USER], False),
        ([USER, ASKED, FOUND, Message.assistant("done"), USER], True),
        ([USER, THOUGHT, FOUND, ASKED, FOUND], True),
        ([USER, ASKED, FOUND, THOUGHT, FOUND], False),
    ],
)
def test_a_budget_of_thinking_needs_a_turn_that_began_with_it(
    messages: list[Message], began: bool
) -> None:
    """Calls and results up to the user's next words are one turn of the assistant."""
    assert began_with_thinking(turns_of(messages, ())) is began
