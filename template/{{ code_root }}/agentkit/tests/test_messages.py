"""Messages: immutable values whose JSON is the session format and whose texts are made once."""

from __future__ import annotations

import copy
import json
import pickle
from dataclasses import FrozenInstanceError, replace
from typing import Any

import pytest

from ..messages import IMAGE_WEIGHT, Image, Message, Text, Thinking, ToolCall, ToolResult, Usage
from ..texts import clean

REPLAY = {"anthropic": {"signature": "c2ln+/=", "blocks": [1, 2.5, None, {"ü": "🌍"}]}}
EVERYTHING = Message(
    "assistant",
    (
        Thinking("let me see", replay=REPLAY),
        Text("Xin chào 🌍\n", replay={"google": {"thought_signature": "AA=="}}),
        ToolCall("c1", "get_word", {"word": "ubiquitous", "n": [1, None]}, replay=REPLAY),
        ToolCall("c2", "get_word", malformed='{"word": "ubi'),
    ),
)
RESULTS = Message(
    "tool",
    (
        ToolResult("c1", "get_word", (Text("everywhere"), Image("image/png", "aGk="))),
        ToolResult("c2", "get_word", (Text("broken arguments"),), is_error=True),
    ),
)


@pytest.mark.parametrize(
    "message", [EVERYTHING, RESULTS, Message.user("hi"), Message("user", ()), Message.system("")]
)
def test_json_round_trip(message: Message) -> None:
    """A message read back is equal, and its JSON is the same byte for byte, replay included."""
    read = Message.from_json(message.to_json())
    assert read == message
    assert read.to_json() == message.to_json()


def test_json_keeps_replay_data_as_it_came() -> None:
    """Opaque provider data is neither reordered nor converted."""
    parts = json.loads(EVERYTHING.to_json())["parts"]
    assert json.dumps(parts[0]["replay"]) == json.dumps(REPLAY)


def test_json_leaves_out_what_is_not_set() -> None:
    """Optional fields that are None take no space in a session."""
    assert b"null" not in Message.user("hi").to_json()


def test_json_is_readable() -> None:
    """Text beyond ASCII is written as it is."""
    assert "Xin chào 🌍".encode() in EVERYTHING.to_json()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"[]",
        b'{"role":"user"}',
        b'{"role":"robot","parts":[]}',
        b'{"role":"user","parts":[{"type":"video"}]}',
        b"\xff",
    ],
)
def test_other_json_is_refused(data: bytes) -> None:
    """What `to_json` never writes raises ValueError."""
    with pytest.raises(ValueError, match="Message|JSON|role|parts"):  # noqa: RUF043  alternatives
        Message.from_json(data)


def used(message: Message) -> Message:
    """Return the message after all its texts were made."""
    message.to_json()
    message.once("chat", lambda m: "made")
    message.once("log", lambda m: "made")
    assert message.weight > 0
    return message


def test_made_texts_do_not_count_in_equality() -> None:
    """A message whose texts were made equals, and hashes and prints like, a fresh one."""
    assert used(Message.user("hi")) == Message.user("hi")
    assert repr(used(Message.user("hi"))) == repr(Message.user("hi"))


def test_made_texts_are_not_in_the_json() -> None:
    """JSON holds role and parts, whatever was made before."""
    assert set(json.loads(used(Message.user("hi")).to_json())) == {"role", "parts"}


def test_a_replaced_message_makes_its_own_texts() -> None:
    """`dataclasses.replace` does not take over texts that are no longer right."""
    changed = replace(used(Message.user("hi")), parts=(Text("longer"),))
    assert changed.weight == len("longer")
    assert b"longer" in changed.to_json()
    assert changed.once("chat", lambda m: m.text) == "longer"
    assert changed.once("log", lambda m: m.text) == "longer"


@pytest.mark.parametrize("message", [EVERYTHING, RESULTS])
def test_a_message_survives_copy_and_pickle(message: Message) -> None:
    """Copies are equal and work, whether or not texts were made before."""
    for twin in (
        copy.copy(used(message)),
        copy.deepcopy(message),
        pickle.loads(pickle.dumps(message)),
    ):
        assert twin == message
        assert twin.to_json() == message.to_json()
        assert twin.weight == message.weight
        assert [call.arguments_text for call in twin.tool_calls] == [
            call.arguments_text for call in message.tool_calls
        ]


def test_each_text_is_made_once() -> None:
    """The wire text is made once per dialect, log text and JSON once."""
    message, made = Message.user("hi"), []

    def make(given: Message) -> str:
        made.append(given)
        return f"text {len(made)}"

    assert [message.once("a", make), message.once("a", make)] == ["text 1", "text 1"]
    assert [message.once("b", make), message.once("a", make)] == ["text 2", "text 1"]
    assert [message.once("log", make), message.once("log", make)] == ["text 3", "text 3"]
    assert message.to_json() is message.to_json()
    assert made == [message] * 3


@pytest.mark.parametrize(
    "value",
    [Text("a"), Image("image/png", "aGk="), ToolCall("c", "f"), Message.user("hi"), Usage()],
)
def test_values_cannot_be_changed(value: Any) -> None:
    """Assigning to a field, or to one that does not exist, raises."""
    for name in (next(iter(type(value).__annotations__)), "more"):
        with pytest.raises((FrozenInstanceError, AttributeError, TypeError)):
            setattr(value, name, "x")


def test_parts_become_a_tuple() -> None:
    """A list of parts is taken too, and changing it later changes nothing."""
    parts: Any = [Text("a")]
    message = Message("user", parts)
    parts.append(Text("b"))
    assert message.parts == (Text("a"),)


@pytest.mark.parametrize(
    ("message", "role"),
    [
        (Message.system("x"), "system"),
        (Message.user("x"), "user"),
        (Message.assistant("x"), "assistant"),
    ],
)
def test_short_forms(message: Message, role: str) -> None:
    """`Message.user("x")` and its like hold one text part."""
    assert message == Message(role, (Text("x"),))  # type: ignore[arg-type]


def test_text_calls_and_results_are_picked_from_the_parts() -> None:
    """Text parts are joined; calls and results come in order."""
    assert Message("user", (Text("a"), Image("image/png", ""), Text("b"))).text == "ab"
    assert [call.id for call in EVERYTHING.tool_calls] == ["c1", "c2"]
    assert [result.call_id for result in RESULTS.tool_results] == ["c1", "c2"]
    assert RESULTS.tool_results[0].text == "everywhere"


def test_arguments_are_compact_and_readable_json() -> None:
    """The text of arguments keeps other alphabets, and is an empty object when malformed."""
    assert ToolCall("c", "f", {"a": [1, "ü"]}).arguments_text == '{"a":[1,"ü"]}'
    assert ToolCall("c", "f", malformed="{").arguments_text == "{}"


@pytest.mark.parametrize(
    ("parts", "weight"),
    [
        ((), 0),
        ((Text("four"), Text("ü🌍")), 6),
        ((Thinking("abc"),), 3),
        ((Image("image/png", "a" * 999_999),), IMAGE_WEIGHT),
        ((ToolCall("id", "name", {"a": 1}),), len("name") + len('{"a":1}')),
        ((ToolCall("id", "name", malformed='{"a"'),), len("name") + len('{"a"')),
        ((ToolResult("id", "name", (Text("abc"), Image("image/png", ""))),), 3 + IMAGE_WEIGHT),
    ],
)
def test_weight_counts_characters(parts: Any, weight: int) -> None:
    """Text, names, arguments and results count by their characters, an image by a fixed number."""
    assert Message("user", parts).weight == weight


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("plain", "plain"),
        ("Xin chào 🌍", "Xin chào 🌍"),
        ("half \ud83d", "half �"),
        ("\udc00 wrong way \ud800", "� wrong way �"),
        ("pair \ud83c\udf0d", "pair 🌍"),
    ],
)
def test_lone_surrogates_are_replaced(text: str, cleaned: str) -> None:
    """Halves of a character cannot be sent or stored; two that belong together become one."""
    assert clean(text) == cleaned
    assert Text(text).text == Thinking(text).text == cleaned
    Message.user(text).to_json().decode("utf-8")


@pytest.mark.parametrize(
    "call",
    [
        ToolCall("c", "f", {"q": "half \ud83d"}),
        ToolCall("c", "f", {"\ud83d": 1}),
        ToolCall("c", "f", malformed='{"q": "\ud83d'),
    ],
)
def test_lone_surrogates_in_calls_do_no_harm(call: ToolCall) -> None:
    """Arguments with half a character can be sent and stored."""
    call.arguments_text.encode("utf-8")
    message = Message("assistant", (call,))
    assert Message.from_json(message.to_json()).to_json() == message.to_json()


def test_usage_adds_up() -> None:
    """Every kind of token is added; the total is input and output."""
    total = Usage(1, 2, 3, 4, 5) + Usage(10, 20, 30, 40, 50)
    assert total == Usage(11, 22, 33, 44, 55)
    assert total.total_tokens == 33
