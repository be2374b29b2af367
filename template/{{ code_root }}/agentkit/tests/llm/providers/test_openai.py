"""The Responses adapter at the wire: what is posted where, and what comes back."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from ....errors import ConfigError
from ....llm.events import TextDelta, ThinkingDelta
from ....llm.model_uri import ModelURI
from ....llm.provider import Provider, Request, create_provider
from ....llm.schema import output_schema
from ....messages import Message, Reply, Thinking
from ....tools.tool import Tool, tool
from ....transport import HttpClients
from ...chat_replies import answer, calls, sse, status
from ...fake_responses import RESPONSES, FakeResponses, reasoned, response_of

HELLO = [Message.user("hello")]
PLAIN = "responses://openai/gpt-4.1?apiKey=sk-test-0123456789"


@tool
async def get_word(word: str) -> str:
    """Look up a word: nghĩa."""
    return word


def provider(fake: FakeResponses, uri: str = RESPONSES) -> Provider:
    """Return the provider of a URI over a fake server."""
    return create_provider(ModelURI.parse(uri), HttpClients(fake.transport))


async def stream(made: Provider, request: Request) -> tuple[list[Any], Reply]:
    """Return the deltas of a streamed reply, and the reply."""
    events = [event async for event in made.stream(request)]
    reply = events.pop()
    assert isinstance(reply, Reply)
    return events, reply


async def test_a_request_is_stateless() -> None:
    """Nothing is stored; reasoning comes back encrypted; no parameter that nobody set."""
    with FakeResponses(["hi"]) as fake:
        await provider(fake).complete(Request(HELLO))
    assert fake.urls == ["https://api.openai.com/v1/responses"]
    assert fake.headers[0]["authorization"] == "Bearer sk-test-0123456789"
    assert fake.requests == [
        {
            "model": "gpt-5-mini",
            "store": False,
            "include": ["reasoning.encrypted_content"],
            "input": [{"role": "user", "content": "hello"}],
        }
    ]


@pytest.mark.parametrize("model", ["gpt-4.1", "gpt-4o-mini", "ft:gpt-4o:x", "gpt-5.2-chat-latest"])
async def test_a_model_that_does_not_reason_is_not_asked_for_reasoning(model: str) -> None:
    """It would refuse the whole request."""
    with FakeResponses(["hi"]) as fake:
        await provider(fake, PLAIN.replace("gpt-4.1", model)).complete(Request(HELLO))
    assert "include" not in fake.requests[0]


async def test_a_streamed_reply_equals_a_whole_one() -> None:
    """The same reasoning, text and calls are the same value either way."""
    said = calls(("get_word", {"word": "nghĩa 🌍"}), text="Xin chào", ids=["c1"])
    with FakeResponses([reasoned(said, "let me think")] * 2) as fake:
        request = Request(HELLO, (get_word,))
        whole = await provider(fake).complete(request)
        events, streamed = await stream(provider(fake), request)
    assert without_ids(streamed) == without_ids(whole)
    assert "".join(e.text for e in events if isinstance(e, TextDelta)) == "Xin chào"
    assert "".join(e.text for e in events if isinstance(e, ThinkingDelta)) == "let me think"


def without_ids(reply: Reply) -> Reply:
    """Return a reply without what differs from one response to the next."""
    parts = [replace(p, replay=None) if isinstance(p, Thinking) else p for p in reply.message.parts]
    return replace(reply, message=Message("assistant", tuple(parts)))


async def test_a_server_that_leaves_the_output_out_at_the_end_is_understood() -> None:
    """The finished items came before it."""
    item = {"type": "message", "content": [{"type": "output_text", "text": "hi"}]}
    events = [
        {"type": "response.output_item.done", "item": item},
        {"type": "response.completed", "response": {"status": "completed", "output": []}},
    ]
    with FakeResponses([sse(events)]) as fake:
        _, reply = await stream(provider(fake), Request(HELLO))
    assert reply.message == Message.assistant("hi")


async def test_a_server_that_knows_no_streams_is_understood() -> None:
    """Its whole reply comes as one delta."""
    body = response_of(answer("Hello"), {"model": "m"}, 1)
    with FakeResponses([status(200, body=body)]) as fake:
        deltas, reply = await stream(provider(fake), Request(HELLO))
    assert deltas == [TextDelta("Hello")]
    assert reply.message.text == "Hello"


async def test_tools_are_encoded_once_per_sequence() -> None:
    """The encoded tools are kept, but only for the very same ones."""
    other = Tool("other", "Other.", {}, get_word.execute)
    with FakeResponses(["a", "b", "c"]) as fake:
        made = provider(fake)
        for tools in ((get_word,), (other,), ()):
            await made.complete(Request(HELLO, tools))
    names = [[sent["name"] for sent in request.get("tools", ())] for request in fake.requests]
    assert names == [["get_word"], ["other"], []]


async def test_a_tool_that_the_api_refuses_is_left_out_with_one_warning() -> None:
    """The others are sent, and the caller's schema stays as it was."""
    parameters = {"type": "object", "properties": {}, "oneOf": [{"required": ["a"]}]}
    odd = Tool("odd", "Odd.", dict(parameters), get_word.execute)
    warnings: list[str] = []
    with FakeResponses(["a", "b"]) as fake:
        made, tools = provider(fake), (get_word, odd)
        for _ in range(2):
            await made.complete(Request(HELLO, tools, warn=warnings.append))
    assert [sent["name"] for sent in fake.requests[1]["tools"]] == ["get_word"]
    assert len(warnings) == 1
    assert "the tool odd is left out" in warnings[0]
    assert odd.parameters == parameters


async def test_an_answer_schema_is_strict_where_the_type_allows_it() -> None:
    """A free-form dict cannot be said strictly; a list is wrapped in an object."""
    with FakeResponses(["1", "2"]) as fake:
        made = provider(fake)
        for type_ in (list[int], dict[str, int]):
            await made.complete(Request(HELLO, schema=output_schema(type_)))
    formats = [request["text"]["format"] for request in fake.requests]
    assert [sent["strict"] for sent in formats] == [True, False]
    assert [sent["name"] for sent in formats] == ["list", "dict"]
    assert formats[0]["schema"]["required"] == ["value"]


async def test_settings_go_out_under_their_names() -> None:
    """Those of the URI reach the adapter with each request."""
    settings = {"max_tokens": 50, "temperature": 0, "top_p": 0.5}
    with FakeResponses(["a", "b"]) as fake:
        await provider(fake, PLAIN).complete(Request(HELLO, settings=settings))
        await provider(fake).complete(Request(HELLO, settings={"reasoning": "low"}))
    assert fake.requests[0]["max_output_tokens"] == 50
    assert fake.requests[0]["temperature"] == 0
    assert fake.requests[0]["top_p"] == 0.5
    assert fake.requests[1]["reasoning"] == {"effort": "low"}


@pytest.mark.parametrize(
    ("query", "named"),
    [
        ("topK=5", "top_k"),
        ("stop=x", "stop"),
        ("seed=1", "seed"),
        ("reasoning=512", "a reasoning budget in tokens"),
    ],
)
def test_a_setting_that_the_api_does_not_know_is_refused_at_once(query: str, named: str) -> None:
    """With its name and the ones that are taken."""
    with pytest.raises(ConfigError, match=f"openai does not take {named} through the Responses"):
        create_provider(ModelURI.parse(f"{RESPONSES}&{query}"), HttpClients())


async def test_a_setting_of_one_request_is_refused_too() -> None:
    """Before anything is sent."""
    with FakeResponses([]) as fake, pytest.raises(ConfigError, match="does not take seed"):
        await provider(fake).complete(Request(HELLO, settings={"seed": 1}))


async def test_a_turn_with_nothing_to_send_leaves_no_gap() -> None:
    """Reasoning that led to nothing is left out, and the list of items stays a list."""
    thought = Message("assistant", (Thinking("hm"),))
    with FakeResponses(["hi"]) as fake:
        await provider(fake).complete(Request([*HELLO, thought, *HELLO]))
    assert fake.requests[0]["input"] == [{"role": "user", "content": "hello"}] * 2


async def test_half_characters_in_a_description_are_mended() -> None:
    """Wherever text comes from, the body can be encoded."""
    odd = Tool("odd", "\ud83d", {}, get_word.execute)
    with FakeResponses(["hi"]) as fake:
        await provider(fake).complete(Request(HELLO, (odd,)))
    assert fake.requests[0]["tools"][0]["description"] == "\ufffd"


async def test_each_message_is_encoded_once() -> None:
    """A conversation costs the bytes it sends: texts made before are used again."""
    message = Message.user("Nghĩa là 🌍")
    with FakeResponses(["a", "b"]) as fake:
        made = provider(fake)
        await made.complete(Request([message]))
        first: str = message.once("responses:gpt-5-mini", lambda _: pytest.fail("made twice"))
        await made.complete(Request([message]))
    assert json.loads(first) == fake.requests[1]["input"][0]
    assert "Nghĩa là 🌍".encode() in fake.bodies[1]
