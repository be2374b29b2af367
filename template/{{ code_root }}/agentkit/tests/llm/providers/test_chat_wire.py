"""Messages in Chat Completions' own words: what each becomes, and what no server may refuse."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ....llm.providers.chat_wire import wire_message
from ....messages import Image, Message, Part, Text, Thinking, ToolCall, ToolResult


def wire(message: Message, dialect: str = "openai") -> list[dict[str, Any]]:
    """Return the wire messages that a message becomes."""
    made: list[dict[str, Any]] = json.loads(f"[{wire_message(message, dialect)}]")
    return made


def result(text: str, *, is_error: bool = False, call_id: str = "c1") -> ToolResult:
    """Return a result of the call `c1`."""
    return ToolResult(call_id, "t", (Text(text),), is_error)


@pytest.mark.parametrize("role", ["system", "user"])
def test_text_is_sent_as_text(role: Any) -> None:
    """One text part needs no list of parts, which some servers do not know."""
    assert wire(Message(role, (Text("Xin chào 🌍"),))) == [{"role": role, "content": "Xin chào 🌍"}]


def test_an_image_is_sent_as_a_data_url() -> None:
    """Text and images keep their order."""
    parts = wire(Message("user", (Text("Look:"), Image("image/png", "aGk="))))[0]["content"]
    assert parts == [
        {"type": "text", "text": "Look:"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}},
    ]


def test_calls_are_sent_with_arguments_as_json_text() -> None:
    """An assistant turn with calls and no text has null content, as the API itself writes it."""
    call = ToolCall("c1", "get_word", {"word": "nghĩa"})
    assert wire(Message("assistant", (call,))) == [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": "c1",
                    "type": "function",
                    "function": {"name": "get_word", "arguments": '{"word":"nghĩa"}'},
                }
            ],
        }
    ]


def test_malformed_arguments_are_sent_as_an_empty_object() -> None:
    """What the model wrote is kept for the log; the server gets JSON it accepts."""
    call = ToolCall("c1", "t", {}, malformed='{"q": "a')
    assert wire(Message("assistant", (call,)))[0]["tool_calls"][0]["function"]["arguments"] == "{}"


@pytest.mark.parametrize(
    ("name", "sent"),
    [("functions.search", "functions_search"), ("", "unknown"), ("x" * 80, "x" * 64), ("ô", "_")],
)
def test_a_name_that_a_model_invented_does_not_spoil_the_next_request(name: str, sent: str) -> None:
    """Names outside of what APIs accept are spelt in accepted letters."""
    function = wire(Message("assistant", (ToolCall("c1", name),)))[0]["tool_calls"][0]["function"]
    assert function["name"] == sent


def test_long_ids_are_shortened_in_call_and_result_alike() -> None:
    """OpenAI takes 40 characters, others hand out more; the pair stays a pair."""
    long = "call_" + "0123456789" * 5
    call = wire(Message("assistant", (ToolCall(long, "t"),)))[0]["tool_calls"][0]["id"]
    other = wire(Message("assistant", (ToolCall(long + "x", "t"),)))[0]["tool_calls"][0]["id"]
    answer = wire(Message("tool", (result("r", call_id=long),)))[0]["tool_call_id"]
    assert call == answer != other
    assert len(call) == 40


def test_each_result_is_a_message_of_its_own() -> None:
    """One tool turn becomes one message per call, in order; errors say so in their text."""
    message = Message("tool", (result("fine"), result("broke", is_error=True, call_id="c2")))
    assert wire(message) == [
        {"role": "tool", "tool_call_id": "c1", "content": "fine"},
        {"role": "tool", "tool_call_id": "c2", "content": "Error: broke"},
    ]


def test_images_of_results_follow_in_a_user_message() -> None:
    """Tool messages may hold no images, so they come right after, once for the whole turn."""
    seen = ToolResult("c1", "t", (Image("image/png", "aGk="),))
    tool, other, user = wire(Message("tool", (seen, result("text", call_id="c2"))))
    assert "image" in tool["content"]
    assert other["content"] == "text"
    assert user["role"] == "user"
    assert user["content"][1]["image_url"]["url"] == "data:image/png;base64,aGk="


@pytest.mark.parametrize("parts", [(), (Text(""),), (Thinking("hm"),), (Text(""), Thinking("x"))])
def test_an_assistant_turn_that_says_nothing_is_not_sent(parts: tuple[Part, ...]) -> None:
    """Servers refuse empty assistant content for ever after."""
    assert wire_message(Message("assistant", parts), "openai") == ""


def test_thinking_is_not_sent_as_text() -> None:
    """Reasoning without opaque data stays here."""
    message = Message("assistant", (Thinking("secretly"), Text("hi")))
    assert wire(message) == [{"role": "assistant", "content": "hi"}]


def test_opaque_data_goes_back_to_the_provider_it_came_from() -> None:
    """Another provider never sees it."""
    replay = {"deepseek": {"reasoning_content": "because"}}
    message = Message("assistant", (Thinking("because", replay), Text("hi")))
    assert wire(message, "deepseek")[0]["reasoning_content"] == "because"
    assert wire(message, "openai") == [{"role": "assistant", "content": "hi"}]


@pytest.mark.parametrize(
    "message",
    [
        Message.user("half \ud83d"),
        Message.assistant("half \ud83d"),
        Message("assistant", (ToolCall("c\ud83d", "t\ud83d", {"q\ud83d": ["\ud83d"]}),)),
        Message("tool", (result("half \ud83d", call_id="c\ud83d"),)),
        Message("tool", (result("text", call_id="c\ud83d" * 40),)),
        Message("assistant", (Thinking("", {"openai": {"x": "\ud83d"}}), Text("hi"))),
    ],
)
def test_lone_surrogates_never_reach_the_wire(message: Message) -> None:
    """Half a character cannot be encoded, wherever it stands."""
    assert wire_message(message, "openai").encode("utf-8")
