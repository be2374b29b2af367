"""The litellm adapter behind its OpenAI and Anthropic routes: what goes out and what comes back.

The first test of a session that calls litellm imports it, which takes seconds.
"""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest

from ....errors import ConfigError
from ....llm.events import TextDelta, ThinkingDelta
from ....llm.provider import Request
from ....llm.schema import output_schema
from ....messages import Image, Message, Text, Thinking, ToolCall, ToolResult, Usage
from ....tools.tool import Tool, tool
from ...chat_replies import Answer, answer, calls, status, usage
from ...fake_chat import FakeChat
from ...fake_messages import content_of, thought
from ...litellm_routes import (
    CLAUDE,
    OPENAI,
    FakeOldMessages,
    ask,
    both_routes,
    both_ways,
    provider,
    quiet,
    stream,
)

pytestmark = quiet
HELLO = [Message.user("hello")]
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5E"
OLDER = OPENAI.replace("gpt-5-mini", "gpt-4o")


@tool
async def get_word(word: str) -> str:
    """Look up a word: nghĩa."""
    return word


@both_routes
@both_ways
async def test_an_answer_comes_back_as_text(uri: str, make_fake: Any, streaming: bool) -> None:
    """Text, reason, model and counts are the same on each route, streamed or not."""
    with make_fake([answer("Nghĩa là 🌍", usage=usage(100, 20, 60, 5))]) as fake:
        reply = await ask(provider(fake, uri), Request(HELLO), streaming)
    assert (reply.message.text, reply.raw) == ("Nghĩa là 🌍", "Nghĩa là 🌍")
    assert (reply.finish_reason, reply.model) == ("stop", uri.split("/")[2].split("?")[0])
    assert reply.usage == Usage(100, 20, 60, 0, 5)


async def test_a_request_holds_only_what_was_asked_for() -> None:
    """Model and messages, no parameter that nobody set."""
    with FakeChat(["hi"]) as fake:
        await provider(fake, OPENAI).complete(Request(HELLO))
    assert fake.requests == [
        {"model": "gpt-5-mini", "messages": [{"role": "user", "content": "hello"}]}
    ]


@pytest.mark.parametrize(
    ("uri", "make_fake", "said"),
    [
        (OPENAI, FakeChat, answer("Xin chào", extra={"reasoning_content": "let me see"})),
        (OPENAI, FakeChat, calls(("get_word", {"word": "nghĩa 🌍"}), ("get_word", {"word": "b"}))),
        (
            CLAUDE,
            FakeOldMessages,
            thought(calls(("get_word", {"word": "nghĩa"}), text="Xin chào"), "let me see"),
        ),
    ],
)
async def test_a_streamed_reply_equals_a_whole_one(uri: str, make_fake: Any, said: Answer) -> None:
    """The same reasoning, text and calls are the same value either way, opaque data included."""
    request = Request(HELLO, (get_word,))
    with make_fake([said]) as first, make_fake([said]) as second:
        whole = await provider(first, uri).complete(request)
        events, streamed = await stream(provider(second, uri), request)
    assert streamed == whole
    assert "".join(e.text for e in events if isinstance(e, TextDelta)) == whole.message.text
    shown = "".join(part.text for part in whole.message.parts if isinstance(part, Thinking))
    assert "".join(e.text for e in events if isinstance(e, ThinkingDelta)) == shown


@both_routes
@both_ways
async def test_a_schema_is_asked_for(uri: str, make_fake: Any, streaming: bool) -> None:
    """Strict, in the route's own form, beside tools."""
    with make_fake(['{"value":[1]}']) as fake:
        request = Request(HELLO, (get_word,), output_schema(list[int]))
        reply = await ask(provider(fake, uri), request, streaming)
    sent = fake.requests[0]
    wanted = sent.get("response_format", {}).get("json_schema") or sent["output_config"]["format"]
    assert wanted["schema"]["additionalProperties"] is False
    assert reply.message.text == '{"value":[1]}'


@both_routes
async def test_images_are_sent_in_turns_and_in_results(uri: str, make_fake: Any) -> None:
    """Those of results follow them, where they cannot stand in them."""
    image = Image("image/png", PIXEL + "rkJggg==")
    call = ToolCall("c1", "get_word", {"word": "a"})
    result = ToolResult("c1", "get_word", (Text("see"), image))
    history = [
        Message("user", (Text("what is this?"), image)),
        Message("assistant", (call,)),
        Message("tool", (result,)),
    ]
    with make_fake(["a pixel"]) as fake:
        await provider(fake, uri).complete(Request(history, (get_word,)))
    assert fake.bodies[0].decode().count(PIXEL) == 2


@pytest.mark.parametrize("call_id", ["functions.get_word:0", "x" * 100, "call_1__thought__c2ln"])
async def test_ids_of_other_providers_are_made_legal(call_id: str) -> None:
    """The same way for the call and its result."""
    call = ToolCall(call_id, "get_word", {"word": "a"})
    result = Message("tool", (ToolResult(call_id, "get_word", (Text("r"),)),))
    with FakeOldMessages(["done"]) as fake:
        history = [*HELLO, Message("assistant", (call,)), result]
        await provider(fake, CLAUDE).complete(Request(history, (get_word,)))
    assert len(fake.requests) == 1


@both_routes
async def test_a_history_with_calls_needs_no_tools(uri: str, make_fake: Any) -> None:
    """A summary of a conversation is asked for without them."""
    call = ToolCall("c1", "get_word", {"word": "a"})
    result = Message("tool", (ToolResult("c1", "get_word", (Text("r"),)),))
    history = [*HELLO, Message("assistant", (call,)), result, Message.user("sum up")]
    with make_fake(["done"]) as fake:
        await provider(fake, uri).complete(Request(history))
    assert len(fake.requests) == 1


@both_routes
async def test_arguments_that_are_no_object_are_kept_apart(uri: str, make_fake: Any) -> None:
    """They go back to the model as an error, and to the provider as an empty object."""
    said: Any = calls(("get_word", "[1]"))
    if make_fake is FakeOldMessages:
        said = content_of({"type": "tool_use", "name": "get_word", "input": '{"word": "a'})
    with make_fake([said]) as fake:
        reply = (await stream(provider(fake, uri), Request(HELLO, (get_word,))))[1]
    call = reply.message.tool_calls[0]
    assert (call.arguments, bool(call.malformed)) == ({}, True)


async def test_a_compressed_reply_is_read() -> None:
    """The bytes pass through two HTTP libraries, and only one of them may decode them."""
    content = [{"type": "text", "text": "hi"}]
    usage = {"input_tokens": 1, "output_tokens": 1}
    body = {"id": "msg_1", "model": "m", "content": content, "stop_reason": "end_turn"}
    packed = gzip.compress(json.dumps({**body, "usage": usage}).encode())
    with FakeOldMessages([status(200, {"content-encoding": "gzip"}, packed)]) as fake:
        reply = await provider(fake, CLAUDE).complete(Request(HELLO))
    assert reply.message.text == "hi"


@both_routes
async def test_nothing_of_the_callers_is_changed(uri: str, make_fake: Any) -> None:
    """litellm rewrites messages and schemas in place: it gets copies."""
    parameters = {"type": "object", "properties": {"x": {"type": ["string", "null"], "title": "X"}}}
    before = json.dumps(parameters)
    own = Tool("own", "Own.", parameters, get_word.execute)
    messages = [Message.system("be brief"), *HELLO]
    with make_fake(["a", "b"]) as fake:
        made = provider(fake, uri)
        for _ in range(2):
            await made.complete(Request(messages, (own,)))
    assert json.dumps(parameters) == before
    assert fake.bodies[0] == fake.bodies[1]


SETTINGS: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    (OPENAI, {"max_tokens": 10}, {"max_completion_tokens": 10}),
    (OLDER, {"seed": 7, "stop": ["x"]}, {"seed": 7, "stop": ["x"]}),
    (OPENAI, {"reasoning": "low"}, {"reasoning_effort": "low"}),
    (OLDER, {"temperature": 0, "top_p": 0.5}, {"temperature": 0, "top_p": 0.5}),
    (CLAUDE, {"max_tokens": 10, "stop": ["x"]}, {"max_tokens": 10, "stop_sequences": ["x"]}),
    (
        CLAUDE,
        {"reasoning": 2000, "max_tokens": 4000},
        {"thinking": {"type": "enabled", "budget_tokens": 2000}},
    ),
]


@pytest.mark.parametrize(("uri", "settings", "sent"), SETTINGS)
async def test_settings_go_out_under_the_routes_names(
    uri: str, settings: dict[str, Any], sent: dict[str, Any]
) -> None:
    """With their values, zeros included."""
    with FakeOldMessages(["hi"]) if "anthropic" in uri else FakeChat(["hi"]) as fake:
        await provider(fake, uri).complete(Request(HELLO, settings=settings))
    assert fake.requests[0].items() >= sent.items()


@pytest.mark.parametrize(
    ("uri", "settings", "name"),
    [
        (CLAUDE, {"seed": 7}, "seed"),
        (OPENAI, {"temperature": 0.5}, "temperature"),
        (OPENAI, {"reasoning": 2000}, "thinking"),
    ],
)
async def test_a_setting_that_the_model_does_not_take_is_refused(
    uri: str, settings: dict[str, Any], name: str
) -> None:
    """By litellm itself, before anything is sent, and in one line without its advice."""
    with FakeChat([]) as fake, pytest.raises(ConfigError, match=name) as caught:
        await provider(fake, uri).complete(Request(HELLO, settings=settings))
    assert "litellm." not in str(caught.value)
    assert "\n" not in str(caught.value)


async def test_caching_is_asked_for_where_it_must_be() -> None:
    """Anthropic wants marks, the others do it by themselves."""
    messages = [Message.system("be brief"), *HELLO]
    with FakeOldMessages(["hi"]) as claude, FakeChat(["hi"]) as openai:
        await provider(claude, CLAUDE).complete(Request(messages))
        await provider(openai, OPENAI).complete(Request(messages))
    assert 0 < claude.marks <= 4
    assert b"cache" not in openai.bodies[0]
