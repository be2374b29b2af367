"""The adapter at the wire: what is posted where, and what comes back, whole and streamed."""

from __future__ import annotations

from typing import Any

import pytest

from ....llm.events import TextDelta, ThinkingDelta
from ....llm.model_uri import ModelURI
from ....llm.provider import Provider, Request, create_provider
from ....llm.schema import output_schema
from ....messages import Message, Reply, Text, ToolCall, ToolResult
from ....tools.tool import Tool, tool
from ....transport import HttpClients
from ...conftest import MODEL
from ...fake_chat import (
    FakeChat,
    Rules,
    answer,
    calls,
    sse,
)

HELLO = [Message.user("hello")]


@tool
async def get_word(word: str) -> str:
    """Look up a word: nghĩa."""
    return word


def provider(fake: FakeChat, uri: str = MODEL) -> Provider:
    """Return the provider of a URI over a fake server."""
    return create_provider(ModelURI.parse(uri), HttpClients(fake.transport))


async def stream(made: Provider, request: Request) -> tuple[list[Any], Reply]:
    """Return the deltas of a streamed reply, and the reply."""
    events = [event async for event in made.stream(request)]
    reply = events.pop()
    assert isinstance(reply, Reply)
    return events, reply


async def test_a_request_holds_only_what_was_asked_for() -> None:
    """Model and messages, no parameter that nobody set."""
    with FakeChat(["hi"]) as fake:
        await provider(fake).complete(Request(HELLO))
    assert fake.requests == [
        {"model": "gpt-5-mini", "messages": [{"role": "user", "content": "hello"}]}
    ]


async def test_a_stream_asks_for_usage_as_well() -> None:
    """Without being asked, servers do not say what a streamed reply took."""
    with FakeChat(["hi"]) as fake:
        _, reply = await stream(provider(fake), Request(HELLO))
    assert fake.requests[0]["stream"] is True
    assert fake.requests[0]["stream_options"] == {"include_usage": True}
    assert reply.usage.total_tokens == 120


async def test_a_streamed_reply_equals_a_whole_one() -> None:
    """The same answer, with reasoning and calls, is the same value either way."""
    said = calls(("get_word", {"word": "nghĩa 🌍"}), text="Xin chào", ids=["c1"])
    with FakeChat([said, said]) as fake:
        request = Request(HELLO, (get_word,))
        whole = await provider(fake).complete(request)
        events, streamed = await stream(provider(fake), request)
    assert streamed == whole
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == "Xin chào"


async def test_shown_reasoning_is_streamed() -> None:
    """Reasoning comes as deltas of its own."""
    with FakeChat([answer("hi", extra={"reasoning_content": "let me think"})]) as fake:
        events, _ = await stream(provider(fake), Request(HELLO))
    thinking = [event.text for event in events if isinstance(event, ThinkingDelta)]
    assert "".join(thinking) == "let me think"


async def test_a_tool_is_sent_with_its_schema() -> None:
    """Name, description and parameters; a tool without a description has no empty one."""

    async def nothing(arguments: dict[str, Any], ctx: object) -> None: ...

    bare = Tool("bare", "", {"type": "object"}, nothing)
    with FakeChat(["hi"]) as fake:
        await provider(fake).complete(Request(HELLO, (get_word, bare)))
    first, second = (sent["function"] for sent in fake.requests[0]["tools"])
    assert first["description"] == "Look up a word: nghĩa."
    assert first["parameters"]["required"] == ["word"]
    assert second == {"name": "bare", "parameters": {"type": "object", "properties": {}}}


async def test_tools_of_another_run_are_not_mixed_up() -> None:
    """The encoded tools are kept, but only for the very same ones."""
    other = Tool("other", "Other.", {}, get_word.execute)
    with FakeChat(["a", "b", "c"]) as fake:
        made = provider(fake)
        for tools in ((get_word,), (other,), (get_word,)):
            await made.complete(Request(HELLO, tools))
    names = [request["tools"][0]["function"]["name"] for request in fake.requests]
    assert names == ["get_word", "other", "get_word"]


async def test_a_schema_is_sent_as_a_response_format() -> None:
    """Strict where the type allows it, else with its plain schema."""
    with FakeChat(["1", "2"]) as fake:
        for type_ in (list[int], dict[str, int]):
            await provider(fake).complete(Request(HELLO, schema=output_schema(type_)))
    formats = [request["response_format"]["json_schema"] for request in fake.requests]
    assert [sent["strict"] for sent in formats] == [True, False]
    assert formats[0]["schema"]["required"] == ["value"]


async def test_a_schema_is_sent_as_a_tool_where_that_works_better() -> None:
    """Groq takes no response format together with tools: the answer is a tool that must be used."""
    with FakeChat([calls(("answer_list", {"value": [1]}))], rules=Rules()) as fake:
        made = provider(fake, "groq/m?apiKey=gsk-0123456789")
        reply = await made.complete(Request(HELLO, (get_word,), output_schema(list[int])))
    names = [sent["function"]["name"] for sent in fake.requests[0]["tools"]]
    assert names == ["get_word", "answer_list"]
    assert fake.requests[0]["tool_choice"] == "required"
    assert "response_format" not in fake.requests[0]
    assert reply.message.tool_calls[0].arguments == {"value": [1]}


async def test_reasoning_goes_back_to_the_provider_that_wants_it() -> None:
    """DeepSeek refuses a tool turn whose reasoning is missing."""
    rules = Rules(output_limit="max_tokens", message_fields=frozenset({"reasoning_content"}))
    first = answer(None, finish_reason="tool_calls", extra={"reasoning_content": "because"})
    with FakeChat([first, "done"], rules=rules) as fake:
        made = provider(fake, "deepseek/m?apiKey=sk-0123456789")
        reply = await made.complete(Request(HELLO))
        turn = Message("assistant", (*reply.message.parts, ToolCall("c1", "t")))
        result = Message("tool", (ToolResult("c1", "t", (Text("r"),)),))
        await made.complete(Request([*HELLO, turn, result]))
    assert fake.requests[1]["messages"][1]["reasoning_content"] == "because"


@pytest.mark.parametrize(
    ("base_url", "url"),
    [
        ("http://h:1/v1", "http://h:1/v1/chat/completions"),
        ("http://h/v1/", "http://h/v1/chat/completions"),
        ("https://h/v1?api-version=1", "https://h/v1/chat/completions?api-version=1"),
    ],
)
async def test_a_base_url_of_the_users_own(base_url: str, url: str) -> None:
    """The path is appended in front of a query."""
    with FakeChat(["hi"], rules=Rules(needs_key=False)) as fake:
        await provider(fake, f"corp/m?baseURL={base_url}").complete(Request(HELLO))
    assert fake.urls == [url]


async def test_each_message_is_encoded_once() -> None:
    """A conversation costs the bytes it sends: texts made before are used again."""
    message = Message.user("hello")
    with FakeChat(["a", "b"]) as fake:
        made = provider(fake)
        await made.complete(Request([message]))
        await made.complete(Request([message]))
    assert message.once("openai", repr) == '{"role":"user","content":"hello"}'


async def test_text_is_sent_readable() -> None:
    """Characters outside of ASCII are sent as they are: escapes cost three times the bytes."""
    with FakeChat(["hi"]) as fake:
        await provider(fake).complete(Request([Message.user("Nghĩa là 🌍")]))
    assert "Nghĩa là 🌍".encode() in fake.bodies[0]


async def test_half_characters_in_settings_are_mended() -> None:
    """Wherever text comes from, the body can be encoded."""
    with FakeChat(["hi"]) as fake:
        await provider(fake).complete(Request(HELLO, settings={"stop": ["\ud83d"]}))
    assert fake.requests[0]["stop"] == ["\ufffd"]


async def test_events_that_bring_nothing_are_skipped() -> None:
    """Comments and keep-alives in a stream are no deltas."""
    text = {"choices": [{"delta": {"content": "hi"}}]}
    with FakeChat([sse([b": OPENROUTER PROCESSING\n\n", text, "[DONE]"])]) as fake:
        deltas, reply = await stream(provider(fake), Request(HELLO))
    assert deltas == [TextDelta("hi")]
    assert reply.message.text == "hi"
