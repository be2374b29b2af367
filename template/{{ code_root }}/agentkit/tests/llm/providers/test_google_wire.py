"""Messages in Gemini's own words: what each becomes, and what must come back as it was."""

from __future__ import annotations

from typing import Any

import pytest

from ....llm.providers.google_wire import UNSIGNED, system_parts, wire_contents
from ....messages import Image, Message, Part, Text, Thinking, ToolCall, ToolResult

SIGNED = {"google": {"thought_signature": "c2ln"}}
PNG = Image("image/png", "aGk=")


def wire(*messages: Message, old: bool = False) -> list[dict[str, Any]]:
    """Return the contents that messages become."""
    return wire_contents(messages, old)


def said(*parts: Part) -> list[dict[str, Any]]:
    """Return the parts of what the model said."""
    [content] = wire(Message("assistant", parts))
    assert content["role"] == "model"
    made: list[dict[str, Any]] = content["parts"]
    return made


def test_text_and_images_keep_their_order() -> None:
    """An image goes in by its type and its base64."""
    message = Message("user", (Text("Look:"), PNG, Text("Well?")))
    image = {"inlineData": {"mimeType": "image/png", "data": "aGk="}}
    parts = [{"text": "Look:"}, image, {"text": "Well?"}]
    assert wire(message) == [{"role": "user", "parts": parts}]


def test_an_image_that_gemini_refuses_becomes_a_note() -> None:
    """Else it would refuse every later turn as well."""
    [content] = wire(Message("user", (Image("image/gif", "aGk="),)))
    assert content["parts"] == [{"text": "(an image, image/gif, that cannot be shown)"}]


def test_empty_text_is_not_sent() -> None:
    """The API refuses it."""
    assert wire(Message("user", (Text(""), Text("hi"))))[0]["parts"] == [{"text": "hi"}]
    assert wire(Message("assistant", (Text(""), Thinking("hm")))) == []


def test_each_signature_goes_back_on_its_part() -> None:
    """Of text, of a call, of reasoning, in the order in which they came."""
    parts = said(
        Thinking("because", SIGNED),
        Text("Let me look."),
        ToolCall("c1", "get_word", {"word": "x"}, replay=SIGNED),
        ToolCall("c2", "get_word"),
        Text("", SIGNED),
    )
    assert parts == [
        {"text": "because", "thought": True, "thoughtSignature": "c2ln"},
        {"text": "Let me look."},
        {
            "functionCall": {"id": "c1", "name": "get_word", "args": {"word": "x"}},
            "thoughtSignature": "c2ln",
        },
        {"functionCall": {"id": "c2", "name": "get_word", "args": {}}},
        {"text": "", "thoughtSignature": "c2ln"},
    ]


def test_reasoning_without_a_signature_is_not_sent() -> None:
    """It is a summary for people, or another model's."""
    assert said(Thinking("hm"), Text("hi")) == [{"text": "hi"}]


def test_opaque_data_of_another_provider_is_never_sent() -> None:
    """Its call gets the signature that stands for none; one per step is enough."""
    foreign = {"anthropic": {"signature": "secret"}}
    parts = said(Thinking("hm", foreign), ToolCall("c1", "a", replay=foreign), ToolCall("c2", "b"))
    assert "secret" not in repr(parts)
    assert [part.get("thoughtSignature") for part in parts] == [UNSIGNED, None]


def test_older_models_want_no_signature_that_stands_for_none() -> None:
    """Only newer ones insist."""
    [content] = wire(Message("assistant", (ToolCall("c1", "a"),)), old=True)
    assert "thoughtSignature" not in content["parts"][0]


def test_malformed_arguments_are_sent_as_an_empty_object() -> None:
    """What the model wrote is kept for the log."""
    [part] = said(ToolCall("c1", "t", {}, malformed='{"q": NaN}'))
    assert part["functionCall"]["args"] == {}


@pytest.mark.parametrize(
    ("name", "sent"),
    [("functions.search", "functions.search"), ("", "unknown"), ("7zip", "_7zip"), ("ô é", "___")],
)
def test_a_name_that_a_model_invented_is_spelt_in_accepted_letters(name: str, sent: str) -> None:
    """In the call and in its result alike."""
    call, result = wire(
        Message("assistant", (ToolCall("c1", name),)),
        Message("tool", (ToolResult("c1", name, (Text("r"),)),)),
    )
    assert call["parts"][0]["functionCall"]["name"] == sent
    assert result["parts"][0]["functionResponse"]["name"] == sent


def test_all_results_of_a_step_are_one_turn() -> None:
    """In the order of the calls, each with the id and name of its own; errors are marked."""
    fine = ToolResult("c1", "a", (Text("one"), Text("two")))
    broke = ToolResult("c2", "b", (Text("no luck"),), is_error=True)
    assert wire(Message("tool", (fine, broke))) == [
        {
            "role": "user",
            "parts": [
                {"functionResponse": {"id": "c1", "name": "a", "response": {"output": "one\ntwo"}}},
                {"functionResponse": {"id": "c2", "name": "b", "response": {"error": "no luck"}}},
            ],
        }
    ]


def test_images_of_a_result_are_part_of_it() -> None:
    """Newer models take them there."""
    [content] = wire(Message("tool", (ToolResult("c1", "a", (Text("seen"), PNG)),)))
    response = content["parts"][0]["functionResponse"]
    assert response["response"] == {"output": "seen"}
    assert response["parts"] == [{"inlineData": {"mimeType": "image/png", "data": "aGk="}}]


def test_images_of_results_follow_all_results_for_older_models() -> None:
    """They refuse an image inside a result."""
    results = (ToolResult("c1", "a", (PNG,)), ToolResult("c2", "b", (Text("text"),)))
    [content] = wire(Message("tool", results), old=True)
    kinds = [next(iter(part)) for part in content["parts"]]
    assert kinds == ["functionResponse", "functionResponse", "inlineData"]
    assert content["parts"][0]["functionResponse"]["response"] == {"output": "(an image)"}


def test_the_user_after_results_speaks_in_the_same_turn() -> None:
    """As happens when a run ended at a limit; the messages' own contents stay as they are."""
    results = Message("tool", (ToolResult("c1", "a", (Text("r"),)),))
    question = Message.user("And now?")
    first = wire(results, question)
    assert first == wire(results, question)
    [content] = first
    assert [next(iter(part)) for part in content["parts"]] == ["functionResponse", "text"]
    assert len(wire(results)[0]["parts"]) == 1


def test_system_messages_are_no_contents() -> None:
    """They go elsewhere; one without text nowhere."""
    messages = [Message.system("Be kind."), Message.system(""), Message.user("hi")]
    assert [content["role"] for content in wire(*messages)] == ["user"]
    assert system_parts(messages) == [{"text": "Be kind."}]
