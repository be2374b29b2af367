"""The Gemini adapter at the wire: what is posted where, and what comes back."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from ....llm.events import TextDelta, ThinkingDelta
from ....llm.model_uri import ModelURI
from ....llm.provider import Provider, Request, create_provider
from ....llm.schema import output_schema
from ....messages import Message, Reply
from ....tools.tool import Tool, tool
from ....transport import HttpClients
from ...chat_replies import answer, calls, usage
from ...fake_gemini import GEMINI, OLD_GEMINI, FakeGemini

HELLO = [Message.user("hello")]


@tool
async def get_word(word: str) -> str:
    """Look up a word: nghĩa."""
    return word


def provider(fake: FakeGemini, uri: str = GEMINI) -> Provider:
    """Return the provider of a URI over a fake server."""
    return create_provider(ModelURI.parse(uri), HttpClients(fake.transport))


async def stream(made: Provider, request: Request) -> tuple[list[Any], Reply]:
    """Return the deltas of a streamed reply, and the reply."""
    events = [event async for event in made.stream(request)]
    reply = events.pop()
    assert isinstance(reply, Reply)
    return events, reply


async def test_a_request_holds_only_what_was_asked_for() -> None:
    """Contents, no parameter that nobody set; the key is in a header."""
    with FakeGemini(["hi"]) as fake:
        await provider(fake).complete(Request(HELLO))
    address = "https://generativelanguage.googleapis.com/v1/models/gemini-3.8-flash"
    assert fake.urls == [f"{address}:generateContent"]
    assert fake.headers[0]["x-goog-api-key"] == "AIza-test-0123456789"
    assert fake.requests == [
        {
            "model": "gemini-3.8-flash",
            "contents": [{"role": "user", "parts": [{"text": "hello"}]}],
            "generationConfig": {},
        }
    ]


async def test_a_stream_is_asked_for_in_the_address() -> None:
    """As server-sent events, with the same body."""
    with FakeGemini(["hi"]) as fake:
        _, reply = await stream(provider(fake), Request(HELLO))
    assert fake.urls[0].endswith(":streamGenerateContent?alt=sse")
    assert (reply.message.text, reply.usage.total_tokens) == ("hi", 120)


async def test_a_streamed_reply_equals_a_whole_one() -> None:
    """The same reasoning, text and calls are the same value either way."""
    said = calls(("get_word", {"word": "nghĩa 🌍"}), text="Xin chào", ids=["c1"])
    said = replace(said, extra={"thinking": "let me think"})
    with FakeGemini([said]) as first, FakeGemini([said]) as second:
        request = Request(HELLO, (get_word,))
        whole = await provider(first).complete(request)
        events, streamed = await stream(provider(second), request)
    assert streamed == whole
    assert "".join(e.text for e in events if isinstance(e, TextDelta)) == "Xin chào"
    assert "".join(e.text for e in events if isinstance(e, ThinkingDelta)) == "let me think"


async def test_usage_means_the_same_as_everywhere() -> None:
    """Input includes what was cached, output includes reasoning, which Gemini counts apart."""
    counts = usage(prompt=1000, completion=90, cached=800, reasoning=50)
    with FakeGemini([answer("hi", usage=counts)]) as fake:
        got = (await provider(fake).complete(Request(HELLO))).usage
    assert (got.input_tokens, got.cache_read_tokens) == (1000, 800)
    assert (got.output_tokens, got.reasoning_tokens) == (90, 50)


async def test_missing_usage_is_no_fault() -> None:
    """Nothing is known of what it took."""
    with FakeGemini([answer("hi", usage=None)]) as fake:
        reply = await provider(fake).complete(Request(HELLO))
    assert reply.usage.total_tokens == 0


@pytest.mark.parametrize("streaming", [False, True])
async def test_a_call_without_an_id_gets_one(streaming: bool) -> None:
    """Ids are the server's where it gives some, else invented, each its own."""
    said = calls(("get_word", {}), ("get_word", {}))
    with FakeGemini([said]) as fake:
        made, request = provider(fake), Request(HELLO, (get_word,))
        if streaming:
            _, reply = await stream(made, request)
        else:
            reply = await made.complete(request)
    first, second = reply.message.tool_calls
    assert first.id
    assert second.id
    assert first.id != second.id


async def test_system_messages_become_the_instruction() -> None:
    """All of them, apart from the contents."""
    with FakeGemini(["hi"]) as fake:
        messages = [Message.system("Be kind."), Message.system("Be brief."), *HELLO]
        await provider(fake).complete(Request(messages))
    instruction = fake.requests[0]["systemInstruction"]
    assert instruction == {"parts": [{"text": "Be kind."}, {"text": "Be brief."}]}
    assert len(fake.requests[0]["contents"]) == 1


async def test_tools_are_made_once_per_sequence() -> None:
    """The declarations are kept, but only for the very same tools."""
    other = Tool("other", "Other.", {}, get_word.execute)
    with FakeGemini(["a", "b", "c"]) as fake:
        made = provider(fake)
        for tools in ((get_word,), (other,), ()):
            await made.complete(Request(HELLO, tools))
    declared = [
        [f["name"] for t in request.get("tools", ()) for f in t["functionDeclarations"]]
        for request in fake.requests
    ]
    assert declared == [["get_word"], ["other"], []]


async def test_a_tool_that_gemini_refuses_is_left_out_with_a_warning() -> None:
    """One bad tool does not spoil the run."""
    warnings: list[str] = []
    odd = Tool("7zip", "Pack.", {}, get_word.execute)
    with FakeGemini(["hi"]) as fake:
        request = Request(HELLO, (odd, get_word), warn=warnings.append)
        await provider(fake).complete(request)
    [declared] = fake.requests[0]["tools"][0]["functionDeclarations"]
    assert declared["name"] == "get_word"
    assert len(warnings) == 1
    assert "7zip" in warnings[0]


async def test_an_answer_is_asked_for_by_its_schema() -> None:
    """As JSON, together with tools."""
    with FakeGemini(['{"value":[1]}']) as fake:
        request = Request(HELLO, (get_word,), output_schema(list[int]))
        await provider(fake).complete(request)
    config = fake.requests[0]["generationConfig"]
    assert config["responseMimeType"] == "application/json"
    assert config["responseJsonSchema"]["required"] == ["value"]
    assert "toolConfig" not in fake.requests[0]


async def test_an_older_model_gives_its_answer_through_a_tool() -> None:
    """It takes no schema together with tools: the answer is a tool, and some tool must be used."""
    with FakeGemini([calls(("answer_list", {"value": [1]})), '{"value":[2]}']) as fake:
        made, schema = provider(fake, OLD_GEMINI), output_schema(list[int])
        reply = await made.complete(Request(HELLO, (get_word,), schema))
        await made.complete(Request(HELLO, (), schema))
    first, second = fake.requests
    names = [function["name"] for function in first["tools"][0]["functionDeclarations"]]
    assert names == ["get_word", "answer_list"]
    assert first["toolConfig"] == {"functionCallingConfig": {"mode": "ANY"}}
    assert reply.message.tool_calls[0].arguments == {"value": [1]}
    assert "responseJsonSchema" in second["generationConfig"]


@pytest.mark.parametrize("streaming", [False, True])
async def test_a_reply_in_several_parts_is_continued(streaming: bool) -> None:
    """The same request goes out with the token; the usage of all of them adds up."""
    begun = answer("Once upon ", extra={"continuation": "dG9rZW4="})
    with FakeGemini([begun, answer("a time", extra={"continuation": "c2Vjb25k"}), "."]) as fake:
        if streaming:
            deltas, reply = await stream(provider(fake), Request(HELLO))
            assert "".join(delta.text for delta in deltas) == "Once upon a time."
        else:
            reply = await provider(fake).complete(Request(HELLO))
    assert reply.message == Message.assistant("Once upon a time.")
    assert (reply.finish_reason, reply.usage.input_tokens) == ("stop", 300)
    tokens = [request.pop("continuationToken", None) for request in fake.requests]
    assert tokens == [None, "dG9rZW4=", "c2Vjb25k"]
    assert fake.requests[0] == fake.requests[1] == fake.requests[2]


async def test_a_reply_that_never_ends_is_cut_off() -> None:
    """Everything that repeats is bounded."""
    with FakeGemini([answer("on and ", extra={"continuation": "dG9rZW4="})] * 11) as fake:
        reply = await provider(fake).complete(Request(HELLO))
    assert (reply.finish_reason, len(fake.requests)) == ("length", 11)
    assert reply.message.text == "on and " * 11


async def test_each_message_is_made_into_contents_once() -> None:
    """The same object goes out with every request."""
    message = Message.user("hello")
    with FakeGemini(["a", "b"]) as fake:
        made = provider(fake)
        await made.complete(Request([message]))
        content = message.once("google", vars)
        await made.complete(Request([message]))
    assert message.once("google", vars) is content
    assert content == {"role": "user", "parts": [{"text": "hello"}]}


async def test_half_characters_never_reach_the_wire() -> None:
    """Wherever text comes from: the fake refuses a lone surrogate."""
    half = Tool(
        "half", "half \ud83d", {"properties": {"a": {"enum": ["\ud83d"]}}}, get_word.execute
    )
    messages = [Message.user("half \ud83d")]
    with FakeGemini(["hi"]) as fake:
        await provider(fake).complete(Request(messages, (half,), settings={"stop": ["\ud83d"]}))
    assert fake.requests[0]["generationConfig"]["stopSequences"] == ["\ufffd"]


def test_one_provider_serves_several_event_loops() -> None:
    """Nothing in it is bound to the loop that it was used on first."""
    with FakeGemini(["a", "b"]) as fake:
        made = provider(fake)
        texts = [asyncio.run(made.complete(Request(HELLO))).message for _ in range(2)]
    assert texts == [Message.assistant("a"), Message.assistant("b")]
