"""Conversations with Gemini over many turns: signatures, parallel calls, other models' turns."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from pydantic import BaseModel

from ....errors import ToolError
from ....llm.events import Finished
from ....llm.requester import LlmRequester
from ....llm.result import GenerateResult
from ....messages import Image, Message, Text, Thinking, ToolCall, ToolResult
from ....tools.tool import Tool, tool
from ...chat_replies import Answer, answer, calls
from ...conftest import MODEL, MakeRequester
from ...fake_chat import FakeChat
from ...fake_gemini import GEMINI, OLD_GEMINI, FakeGemini

HELLO = [Message.user("What does it mean?")]


@tool
async def get_word(word: str) -> str:
    """Look up a word."""
    if word == "zzz":
        raise ToolError("no such word")
    return f"{word} means something"


@tool
async def draw(word: str) -> Image:
    """Draw a word."""
    return Image("image/png", "aGk=")


class Meaning(BaseModel):
    """What a word means."""

    text: str


async def run(
    llm: LlmRequester, messages: list[Message], streaming: bool, **more: Any
) -> GenerateResult:
    """Run over messages, listening or not."""
    if not streaming:
        return await llm(messages, **more)
    events = [event async for event in llm.stream(messages, **more)]
    assert isinstance(events[-1], Finished)
    return events[-1].result


def look_up(word: str, thinking: str = "let me look") -> Answer:
    """Return a call that was thought over, with its signature."""
    return replace(calls(("get_word", {"word": word})), extra={"thinking": thinking})


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize("uri", [GEMINI, OLD_GEMINI])
async def test_signatures_come_back_for_ten_turns(
    uri: str, streaming: bool, requester: MakeRequester
) -> None:
    """Each turn thinks, calls a tool and answers; the fake refuses what was lost or changed."""
    replies = [
        reply
        for turn in range(10)
        for reply in (look_up(f"w{turn}"), answer(f"Answer {turn}.", extra={"signed": True}))
    ]
    messages: list[Message] = []
    with FakeGemini(replies) as fake:
        llm = requester(fake, uri)
        for turn in range(10):
            messages = [*messages, Message.user(f"Question {turn}")]
            result = await run(llm, messages, streaming, tools=[get_word])
            assert result.text == f"Answer {turn}."
            messages = result.history
    assert len(fake.requests) == 20
    sent = repr(fake.requests[-1]["contents"])
    assert sent.count("thoughtSignature") == (19 if uri == GEMINI else 9)


@pytest.mark.parametrize("streaming", [False, True])
async def test_several_steps_of_one_turn_keep_their_signatures(
    streaming: bool, requester: MakeRequester
) -> None:
    """Each step of the current turn must have its own."""
    with FakeGemini([look_up("a"), look_up("b"), look_up("c"), "Done."]) as fake:
        result = await run(requester(fake, GEMINI), HELLO, streaming, tools=[get_word])
    assert (result.text, len(fake.requests)) == ("Done.", 4)


@pytest.mark.parametrize("streaming", [False, True])
async def test_parallel_calls_are_answered_in_one_turn(
    streaming: bool, requester: MakeRequester
) -> None:
    """Three calls, one of them fails: three results in order, the failure marked."""
    said = calls(*(("get_word", {"word": word}) for word in ("a", "zzz", "c")), text="Let me see.")
    with FakeGemini([said, "Done."]) as fake:
        await run(requester(fake, GEMINI), HELLO, streaming, tools=[get_word])
    parts = fake.requests[1]["contents"][-1]["parts"]
    responses = [part["functionResponse"]["response"] for part in parts]
    assert [next(iter(response)) for response in responses] == ["output", "error", "output"]
    assert "no such word" in responses[1]["error"]


@pytest.mark.parametrize("uri", [GEMINI, OLD_GEMINI])
async def test_an_image_of_a_tool_reaches_the_model(uri: str, requester: MakeRequester) -> None:
    """In the result or after it, as the model wants it."""
    with FakeGemini([calls(("draw", {"word": "a"})), "A drawing."]) as fake:
        await requester(fake, uri)(HELLO, tools=[draw])
    assert "inlineData" in repr(fake.requests[1]["contents"][-1])


@pytest.mark.parametrize("uri", [GEMINI, OLD_GEMINI])
async def test_a_wrong_answer_is_corrected(uri: str, requester: MakeRequester) -> None:
    """What does not fit goes back to the model, the right one is the result."""
    wrong, right = Answer('{"text": 7}'), Answer('{"text": "everywhere"}')
    if uri == OLD_GEMINI:
        wrong, right = (calls(("answer_Meaning", reply.text or "")) for reply in (wrong, right))
    with FakeGemini([wrong, right]) as fake:
        result = await requester(fake, uri)(HELLO, schema=Meaning, tools=[get_word])
    assert result.result == Meaning(text="everywhere")
    assert len(fake.requests) == 2


async def test_a_malformed_call_is_tried_again(requester: MakeRequester) -> None:
    """The model spoilt its own call: one more request, no error for the user."""
    spoilt = answer(None, finish_reason="MALFORMED_FUNCTION_CALL")
    with FakeGemini([spoilt, "hi"]) as fake:
        result = await requester(fake, GEMINI)(HELLO, tools=[get_word])
    assert (result.text, len(fake.requests)) == ("hi", 2)


async def test_a_blocked_answer_is_returned(requester: MakeRequester) -> None:
    """It is not tried again, not even where a schema is wanted."""
    with FakeGemini([answer(None, finish_reason="content_filter")]) as fake:
        result = await requester(fake, GEMINI)(HELLO, schema=Meaning)
    assert (result.finish_reason, result.steps[0].detail) == ("blocked", "SAFETY")


async def test_turns_of_another_provider_are_taken_over(requester: MakeRequester) -> None:
    """In the middle of a turn: its calls are accepted without a signature of their own."""
    foreign = {"anthropic": {"signature": "c2VjcmV0"}}
    history = [
        *HELLO,
        Message(
            "assistant",
            (Thinking("hm", foreign), ToolCall("toolu_1", "get_word", {"word": "a"})),
        ),
        Message("tool", (ToolResult("toolu_1", "get_word", (Text("a means b"),)),)),
    ]
    with FakeGemini(["It means b."]) as fake:
        await requester(fake, GEMINI)(history, tools=[get_word])
    assert "c2VjcmV0" not in fake.bodies[0].decode()


async def test_signatures_are_not_sent_to_another_provider(requester: MakeRequester) -> None:
    """A conversation that began with Gemini goes on with Chat Completions."""
    with FakeGemini([look_up("a"), "It means something."]) as fake:
        result = await requester(fake, GEMINI)(HELLO, tools=[get_word])
    messages = [*result.history, Message.user("Really?")]
    with FakeChat(["Yes."]) as chat:
        await requester(chat, MODEL)(messages, tools=[get_word])
    assert "signature" not in chat.bodies[0].decode().lower()


async def test_a_conversation_survives_being_stored(requester: MakeRequester) -> None:
    """Signatures are part of a message's JSON."""
    with FakeGemini([look_up("a"), "So it is.", "Yes."]) as fake:
        llm = requester(fake, GEMINI)
        history = (await llm(HELLO, tools=[get_word])).history
        stored = [Message.from_json(message.to_json()) for message in history]
        await llm([*stored, Message.user("Really?")], tools=[get_word])
    before, after = (request["contents"] for request in fake.requests[1:])
    assert after[: len(before)] == before


async def test_a_run_that_ended_at_a_limit_goes_on(requester: MakeRequester) -> None:
    """The results and the user's next words are one turn of the user."""
    with FakeGemini([look_up("a"), "Done."]) as fake:
        llm = requester(fake, GEMINI)
        result = await llm(HELLO, tools=[get_word], max_steps=1)
        assert result.finish_reason == "max_steps"
        await llm([*result.history, Message.user("Go on.")], tools=[get_word])
    last = fake.requests[1]["contents"][-1]["parts"]
    assert [next(iter(part)) for part in last] == ["functionResponse", "text"]


async def test_a_tool_without_parameters_is_called_with_none(requester: MakeRequester) -> None:
    """The schema is left out, the call has no arguments."""
    seen: list[dict[str, Any]] = []

    async def now(arguments: dict[str, Any], ctx: object) -> str:
        seen.append(arguments)
        return "noon"

    clock = Tool("now", "The time.", {"type": "object", "additionalProperties": False}, now)
    with FakeGemini([calls(("now", {})), "Noon."]) as fake:
        await requester(fake, GEMINI)(HELLO, tools=[clock])
    [declared] = fake.requests[0]["tools"][0]["functionDeclarations"]
    assert declared == {"name": "now", "description": "The time."}
    assert seen == [{}]
