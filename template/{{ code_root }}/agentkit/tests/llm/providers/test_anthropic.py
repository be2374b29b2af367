"""The Messages adapter: what goes out and what comes back."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import BaseModel, Field

from ....llm.events import TextDelta, ThinkingDelta
from ....llm.model_uri import ModelURI
from ....llm.provider import Provider, Request, create_provider
from ....llm.schema import output_schema
from ....messages import Image, Message, Reply, Text, ToolCall, ToolResult, Usage
from ....tools.tool import tool
from ....transport import HttpClients
from ...chat_replies import answer, calls, usage
from ...fake_messages import MESSAGES, FakeMessages, content_of, thought

HELLO = [Message.user("hello")]
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5E"


class Word(BaseModel):
    """A word and how hard it is."""

    word: str = Field(max_length=40)
    level: int | None = None


@tool
async def get_word(word: str) -> str:
    """Look up a word."""
    return word


def provider(fake: FakeMessages, query: str = "") -> Provider:
    """Return the provider over a fake server, with more parameters in its URI."""
    return create_provider(ModelURI.parse(MESSAGES + query), HttpClients(fake.transport))


async def ask(made: Provider, request: Request, streaming: bool) -> Reply:
    """Return the reply to a request, streamed or not."""
    if not streaming:
        return await made.complete(request)
    return (await stream(made, request))[1]


async def stream(made: Provider, request: Request) -> tuple[list[Any], Reply]:
    """Return the deltas of a streamed reply, and the reply."""
    events = [event async for event in made.stream(request)]
    reply = events.pop()
    assert isinstance(reply, Reply)
    return events, reply


@pytest.mark.parametrize("streaming", [False, True])
async def test_an_answer_comes_back_as_text(streaming: bool) -> None:
    """Text, reason, model and counts are the same, streamed or not."""
    with FakeMessages([answer("Nghĩa là 🌍", usage=usage(100, 20, 60, 5))]) as fake:
        reply = await ask(provider(fake), Request(HELLO), streaming)
    assert (reply.message.text, reply.raw) == ("Nghĩa là 🌍", "Nghĩa là 🌍")
    assert (reply.finish_reason, reply.model) == ("stop", "claude-sonnet-5-5")
    assert reply.usage == Usage(100, 20, 60, 0, 5)


@pytest.mark.parametrize("streaming", [False, True])
async def test_input_counts_what_a_cache_took_and_gave(streaming: bool) -> None:
    """The API leaves both out of its own input."""
    counts = {
        "input_tokens": 10,
        "cache_read_input_tokens": 200,
        "cache_creation_input_tokens": 30,
        "output_tokens": 7,
    }
    with FakeMessages([answer("hi", usage=counts)]) as fake:
        reply = await ask(provider(fake), Request(HELLO), streaming)
    assert reply.usage == Usage(240, 7, 200, 30, 0)


async def test_a_stream_yields_thinking_and_text_as_they_come() -> None:
    """The pieces make up what the reply holds."""
    with FakeMessages([thought(answer("everywhere"), "let me see")]) as fake:
        deltas, reply = await stream(provider(fake), Request(HELLO))
    thinking = "".join(d.text for d in deltas if isinstance(d, ThinkingDelta))
    text = "".join(d.text for d in deltas if isinstance(d, TextDelta))
    assert (thinking, text) == ("let me see", "everywhere")
    assert reply.message.text == text
    assert len(deltas) > 2


@pytest.mark.parametrize("streaming", [False, True])
async def test_calls_come_back_in_order(streaming: bool) -> None:
    """With their ids, and with arguments put together from their pieces."""
    wanted = calls(("get_word", {"word": "a"}), ("get_word", {}), text="One moment.")
    with FakeMessages([wanted]) as fake:
        reply = await ask(provider(fake), Request(HELLO, (get_word,)), streaming)
    assert reply.message.parts == (
        Text("One moment."),
        ToolCall("toolu_1_1", "get_word", {"word": "a"}),
        ToolCall("toolu_1_2", "get_word", {}),
    )
    assert reply.finish_reason == "stop"


async def test_arguments_that_are_no_json_are_kept_as_they_came() -> None:
    """The registry answers such a call with an error that the model can act on."""
    with FakeMessages([calls(("get_word", '{"word": "a'))]) as fake:
        _, reply = await stream(provider(fake), Request(HELLO, (get_word,)))
    assert reply.message.tool_calls[0].malformed == '{"word": "a'


@pytest.mark.parametrize("streaming", [False, True])
async def test_a_call_that_was_cut_off_cannot_run(streaming: bool) -> None:
    """What came of it may be whole JSON and half of what was meant."""
    half = {"type": "tool_use", "name": "write", "input": {"text": "half of"}}
    with FakeMessages([content_of(half, stop="length")]) as fake:
        reply = await ask(provider(fake), Request(HELLO, (get_word,)), streaming)
    assert reply.finish_reason == "length"
    assert reply.message.tool_calls[0].malformed == '{"text":"half of"…'
    assert reply.message.tool_calls[0].arguments == {}


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize(
    ("stop", "text", "reason", "detail"),
    [
        ("end_turn", "hi", "stop", ""),
        ("stop_sequence", "hi", "stop", ""),
        ("max_tokens", "hi", "length", ""),
        ("model_context_window_exceeded", "hi", "length", "model_context_window_exceeded"),
        ("end_turn", "", "empty", ""),
        ("end_turn", " \n", "empty", ""),
        ("something_new", "hi", "stop", ""),
    ],
)
async def test_the_reason_of_the_end_is_ours(
    stop: str, text: str, reason: str, detail: str, streaming: bool
) -> None:
    """Each stop reason of the API has one meaning."""
    with FakeMessages([answer(text, finish_reason=stop)]) as fake:
        reply = await ask(provider(fake), Request(HELLO), streaming)
    assert (reply.finish_reason, reply.detail) == (reason, detail)


@pytest.mark.parametrize("streaming", [False, True])
async def test_a_refusal_says_why_and_runs_nothing(streaming: bool) -> None:
    """A classifier may stop a reply in the middle: calls before that are dropped."""
    call = {"type": "tool_use", "name": "get_word", "input": {}}
    content = [{"type": "text", "text": "I can"}, call]
    refused = answer(extra={"refusal": "This could do harm.", "content": content})
    with FakeMessages([refused]) as fake:
        reply = await ask(provider(fake), Request(HELLO, (get_word,)), streaming)
    assert (reply.finish_reason, reply.detail) == ("refused", "bio: This could do harm.")
    assert (reply.message.text, reply.message.tool_calls) == ("I can", [])


async def test_results_of_a_step_and_the_next_words_are_one_turn() -> None:
    """Results come first; one that failed is marked, and a picture goes along."""
    results = Message(
        "tool",
        (
            ToolResult("a", "get_word", (Text("found"),)),
            ToolResult("b", "get_word", (Text("no such word"),), is_error=True),
            ToolResult("c", "get_word", (Text("see"), Image("image/png", PIXEL))),
            ToolResult("d", "get_word", (Text(" "),)),
        ),
    )
    asked = Message("assistant", tuple(ToolCall(i, "get_word", {"word": i}) for i in "abcd"))
    with FakeMessages(["done"]) as fake:
        messages = [*HELLO, asked, results, Message.user("and now?")]
        await provider(fake).complete(Request(messages, (get_word,)))
    turn = fake.requests[0]["messages"][2]["content"]
    assert [block.get("tool_use_id") for block in turn] == ["a", "b", "c", "d", None]
    assert [block.get("is_error") for block in turn] == [None, True, None, None, None]
    assert [block["type"] for block in turn[2]["content"]] == ["text", "image"]
    assert turn[4] == {"type": "text", "text": "and now?"}


async def test_a_picture_goes_out_as_base64() -> None:
    """With its media type, beside the words about it."""
    message = Message("user", (Text("What is this?"), Image("image/png", PIXEL)))
    with FakeMessages(["a pixel"]) as fake:
        await provider(fake).complete(Request([message]))
    source = {"type": "base64", "media_type": "image/png", "data": PIXEL}
    image = {"type": "image", "source": source}
    assert fake.requests[0]["messages"][0]["content"][1] == image


async def test_system_messages_are_the_system_prompt() -> None:
    """They leave the conversation; caching is on, and an output limit always there."""
    with FakeMessages(["hi"]) as fake:
        await provider(fake).complete(Request([Message.system("Be brief."), *HELLO]))
    assert fake.requests[0] == {
        "max_tokens": 16_000,
        "cache_control": {"type": "ephemeral"},
        "model": "claude-sonnet-5-5",
        "system": [{"type": "text", "text": "Be brief."}],
        "messages": [{"role": "user", "content": [{"type": "text", "text": "hello"}]}],
    }


@pytest.mark.parametrize("streaming", [False, True])
async def test_an_answers_schema_goes_out_with_the_effort(streaming: bool) -> None:
    """Structured output and effort share one field of the request."""
    schema = output_schema(Word)
    before = json.dumps(schema.schema)
    with FakeMessages(['{"word":"a"}']) as fake:
        request = Request(HELLO, (get_word,), schema, {"reasoning": "high"})
        reply = await ask(provider(fake), request, streaming)
    assert schema.parse(reply.message.text) == Word(word="a")
    config = fake.requests[0]["output_config"]
    assert (config["effort"], config["format"]["type"]) == ("high", "json_schema")
    assert json.dumps(schema.schema) == before


async def test_an_answer_the_api_cannot_describe_is_asked_for_in_words() -> None:
    """It knows no object with free keys; the check of the answer is ours anyway."""
    schema = output_schema(dict[str, int])
    with FakeMessages(['{"a":1}']) as fake:
        reply = await provider(fake).complete(Request(HELLO, (), schema))
    assert schema.parse(reply.message.text) == {"a": 1}
    assert "output_config" not in fake.requests[0]
    assert "additionalProperties" in fake.requests[0]["system"][0]["text"]


async def test_a_message_is_encoded_once() -> None:
    """The second request reuses the text of the first."""
    message = Message.user("hello")
    with FakeMessages(["a", "b"]) as fake:
        made = provider(fake)
        await made.complete(Request([message]))
        assert message.once("anthropic", lambda _: pytest.fail("not made yet"))
        await made.complete(Request([message]))
    assert fake.bodies[0] == fake.bodies[1]
