"""What Gemini's replies mean: outcomes, odd shapes, and the parts that they are put together of."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from ....errors import LlmError, MalformedReply
from ....llm.events import TextDelta
from ....llm.model_uri import ModelURI
from ....llm.provider import Provider, Request, create_provider
from ....messages import Image, Message, Reply, Text, Thinking
from ....transport import HttpClients
from ...chat_replies import answer, calls, sse
from ...fake_gemini import GEMINI, FakeGemini

HELLO = [Message.user("hello")]
SIGNATURE = base64.b64encode(b"\xff\xfe?>").decode()


def provider(fake: FakeGemini) -> Provider:
    """Return a provider over a fake server."""
    return create_provider(ModelURI.parse(GEMINI), HttpClients(fake.transport))


async def ask(reply: Any, streaming: bool = False) -> Reply:
    """Return what a reply of the server comes to; a dict is the response, or the only event."""
    if streaming and isinstance(reply, dict):
        reply = sse([reply])
    with FakeGemini([reply]) as fake:
        if not streaming:
            return await provider(fake).complete(Request(HELLO))
        events = [event async for event in provider(fake).stream(Request(HELLO))]
    assert isinstance(events[-1], Reply)
    return events[-1]


async def broken(reply: Any, streaming: bool = False) -> LlmError:
    """Return the error that a reply of the server is."""
    with pytest.raises(LlmError) as caught:
        await ask(reply, streaming)
    assert "\n" not in str(caught.value)
    assert caught.value.__cause__ is caught.value.__context__ is None
    return caught.value


def candidate(*parts: Any, finish: str | None = "STOP", **more: Any) -> dict[str, Any]:
    """Return a response with one candidate."""
    made = {"content": {"role": "model", "parts": list(parts)}, "finishReason": finish, **more}
    return {"candidates": [{key: value for key, value in made.items() if value is not None}]}


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize(
    ("finish", "reason"),
    [
        *(("STOP", "stop"), ("MAX_TOKENS", "length"), ("CONTINUATION", "length")),
        *(("SAFETY", "blocked"), ("RECITATION", "blocked"), ("PROHIBITED_CONTENT", "blocked")),
        *(("SPII", "blocked"), ("BLOCKLIST", "blocked"), ("LANGUAGE", "blocked")),
        *(("MODEL_ARMOR", "blocked"), ("IMAGE_SAFETY", "blocked"), ("ESCALATION", "blocked")),
    ],
)
async def test_every_way_to_end_has_a_meaning(finish: str, reason: str, streaming: bool) -> None:
    """What was said so far is kept; the detail of a block is its reason."""
    reply = await ask(candidate({"text": "Hel"}, finish=finish), streaming)
    assert (reply.finish_reason, reply.message.text) == (reason, "Hel")
    assert reply.detail == (finish if reason == "blocked" else "")


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize(
    "finish",
    ["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "MISSING_THOUGHT_SIGNATURE", "OTHER"],
)
async def test_a_reply_that_failed_is_tried_again(finish: str, streaming: bool) -> None:
    """The model spoilt it, so another attempt may do; the error names the reason."""
    error = await broken(candidate(finish=finish), streaming)
    assert type(error) is MalformedReply
    assert finish in str(error)


@pytest.mark.parametrize(("parts", "reason"), [([{"text": "hi"}], "stop"), ([], "empty")])
async def test_an_unknown_reason_is_no_fault(parts: list[Any], reason: str) -> None:
    """The API gets new ones; what was said counts, and the SDK's warning is not heard."""
    reply = await ask(candidate(*parts, finish="BRAND_NEW"))
    assert reply.finish_reason == reason


async def test_calls_end_with_stop_as_well() -> None:
    """Gemini has no reason of its own for calls."""
    reply = await ask(calls(("get_word", {"word": "x"})))
    assert (reply.finish_reason, len(reply.message.tool_calls)) == ("stop", 1)


@pytest.mark.parametrize("streaming", [False, True])
async def test_a_blocked_prompt_says_why(streaming: bool) -> None:
    """There is no candidate at all then."""
    rating = {"category": "HARM_CATEGORY_HARASSMENT", "probability": "HIGH", "blocked": True}
    feedback = {"blockReason": "SAFETY", "safetyRatings": [rating]}
    reply = await ask({"promptFeedback": feedback}, streaming)
    assert (reply.finish_reason, reply.message.parts) == ("blocked", ())
    assert reply.detail == "SAFETY (HARM_CATEGORY_HARASSMENT)"


@pytest.mark.parametrize("content", [{}, {"content": {}}, {"content": {"role": "model"}}])
async def test_a_blocked_candidate_may_have_no_content(content: dict[str, Any]) -> None:
    """No content, no parts: the reason is what counts."""
    reply = await ask({"candidates": [{**content, "finishReason": "SAFETY"}]})
    assert (reply.finish_reason, reply.detail) == ("blocked", "SAFETY")


@pytest.mark.parametrize("parts", [[], [{"text": ""}], [{"text": " \n"}]])
async def test_an_answer_without_words_is_empty(parts: list[Any]) -> None:
    """It came, but says nothing."""
    assert (await ask(candidate(*parts))).finish_reason == "empty"


@pytest.mark.parametrize("body", [{}, {"candidates": []}, {"usageMetadata": {}}, b""])
async def test_a_body_without_candidates_is_an_empty_response(body: Any) -> None:
    """There is nothing in it to be taken for an answer."""
    error = await broken(body)
    assert type(error) is MalformedReply
    assert "empty response" in str(error)


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize(
    "body",
    [
        {"candidates": 7},
        {"candidates": [7]},
        {"candidates": [{"content": 7}]},
        {"candidates": [{"content": {"parts": [7]}}]},
        candidate({"text": 7}),
        candidate({"functionCall": "f"}),
        candidate({"functionCall": {"name": "f", "args": [1]}}),
        candidate({"text": "hi", "thoughtSignature": 7}),
        {**candidate({"text": "hi"}), "usageMetadata": {"promptTokenCount": "many"}},
        {**candidate({"text": "hi"}), "usageMetadata": [1]},
    ],
)
async def test_json_of_another_shape_is_malformed(body: Any, streaming: bool) -> None:
    """Whatever the SDK raises, the caller gets one error, with nothing behind it."""
    error = await broken(body, streaming)
    assert type(error) is MalformedReply
    assert "unknown shape" in str(error)


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize(
    "body", [b"<html>\n<h1>Login</h1></html>", b"{", b"[", b"\xff\xfe", b"[" * 100_000]
)
async def test_a_body_that_is_no_json_is_malformed(body: bytes, streaming: bool) -> None:
    """A page of a proxy, half a reply, nonsense."""
    assert type(await broken(body, streaming)) is MalformedReply


async def test_arguments_that_no_api_takes_back_are_malformed() -> None:
    """Python reads NaN where JSON has none; the loop tells the model."""
    raw = '{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","args":{"n":NaN}}}]}}]}'
    [call] = (await ask(raw.encode())).message.tool_calls
    assert call.arguments == {}
    assert call.malformed == '{"n":NaN}'


async def test_a_call_without_arguments_has_none() -> None:
    """Gemini leaves the field out."""
    [call] = (await ask(candidate({"functionCall": {"name": "now"}}))).message.tool_calls
    assert (call.name, call.arguments, call.malformed) == ("now", {}, None)


async def test_ids_that_repeat_are_made_different() -> None:
    """A result must find its call."""
    call = {"functionCall": {"id": "c", "name": "f", "args": {}}}
    first, second = (await ask(candidate(call, call))).message.tool_calls
    assert first.id == "c"
    assert second.id not in ("", "c")


async def test_a_signature_stays_on_its_part() -> None:
    """Text with one is not joined with text without; no byte of it changes."""
    parts = [
        {"text": "hm", "thought": True, "thoughtSignature": SIGNATURE},
        {"text": "Hel"},
        {"text": "lo"},
        {"text": "!", "thoughtSignature": SIGNATURE},
        {"text": "", "thoughtSignature": SIGNATURE},
    ]
    replay = {"google": {"thought_signature": SIGNATURE}}
    expected = (Thinking("hm", replay), Text("Hello"), Text("!", replay), Text("", replay))
    assert (await ask(candidate(*parts))).message.parts == expected
    events = [candidate(part, finish=None) for part in parts]
    streamed = await ask(sse([*events, candidate()]), streaming=True)
    assert streamed.message.parts == expected


async def test_an_image_of_the_model_is_kept() -> None:
    """Some models draw."""
    reply = await ask(candidate({"inlineData": {"mimeType": "image/png", "data": "aGk="}}))
    assert reply.message.parts == (Image("image/png", "aGk="),)
    assert reply.finish_reason == "stop"


async def test_events_that_bring_nothing_are_skipped() -> None:
    """Usage alone, and empty text, are no deltas."""
    events = [{"usageMetadata": {"promptTokenCount": 3}}, candidate({"text": ""}, finish=None)]
    with FakeGemini([sse([*events, candidate({"text": "hi"})])]) as fake:
        *deltas, reply = [event async for event in provider(fake).stream(Request(HELLO))]
    assert deltas == [TextDelta("hi")]
    assert isinstance(reply, Reply)
    assert reply.usage.input_tokens == 3


async def test_a_server_that_knows_no_streams_is_understood() -> None:
    """Its whole reply is the only chunk."""
    with FakeGemini([candidate({"text": "Hello"})]) as fake:
        *deltas, reply = [event async for event in provider(fake).stream(Request(HELLO))]
    assert deltas == [TextDelta("Hello")]
    assert isinstance(reply, Reply)


async def test_a_stream_without_its_end_is_no_answer() -> None:
    """Nobody knows what is missing."""
    events = [json.dumps(candidate({"text": "Hel"}, finish=None))]
    error = await broken(sse(events), streaming=True)
    assert type(error) is MalformedReply
    assert "broke off" in str(error)


async def test_the_model_that_answered_is_told() -> None:
    """Its version where the API says it, else what was asked for."""
    assert (await ask(answer("hi"))).model == "gemini-3.8-flash"
    assert (await ask({**candidate({"text": "hi"}), "modelVersion": "gemini-3.8"})).model == (
        "gemini-3.8"
    )
