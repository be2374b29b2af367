"""What must go back through litellm as it came: thinking, reasoning, and Gemini's signatures."""

from __future__ import annotations

import json
from typing import Any

import httpx2
import pytest

from ....errors import MalformedReply
from ....llm.model_uri import ModelURI
from ....llm.provider import Request
from ....llm.providers.litellm import create
from ....messages import Message, Usage
from ....tools.tool import tool
from ....transport import HttpClients
from ...chat_replies import answer, calls
from ...fake_chat import FakeChat, Rules
from ...fake_messages import content_of, thought
from ...litellm_routes import (
    CLAUDE,
    GEMINI,
    OPENAI,
    FakeOldMessages,
    answered,
    ask,
    both_ways,
    provider,
    quiet,
)

pytestmark = quiet
HELLO = [Message.user("hello")]


@tool
async def get_word(word: str) -> str:
    """Look up a word."""
    return word


@both_ways
@pytest.mark.parametrize("redacted", [False, True])
async def test_thinking_goes_back_as_it_came(redacted: bool, streaming: bool) -> None:
    """First in its turn and signed; the fake refuses a turn where a character is missing."""
    said = thought(calls(("get_word", {"word": "a"})), "hm", redacted=redacted)
    with FakeOldMessages([said, "done"]) as fake:
        made = provider(fake, f"{CLAUDE}&reasoning=1024&maxTokens=2048")
        settings = {"reasoning": 1024, "max_tokens": 2048}
        first = await ask(made, Request(HELLO, (get_word,), settings=settings), streaming)
        second = Request([*HELLO, first.message, answered(first)], (get_word,), settings=settings)
        await ask(made, second, streaming)
    kinds = [block["type"] for block in fake.requests[1]["messages"][1]["content"]]
    assert kinds == ["redacted_thinking" if redacted else "thinking", "tool_use"]


@both_ways
async def test_several_blocks_of_thinking_stay_apart(streaming: bool) -> None:
    """Each has a signature of its own, also where they follow each other."""
    blocks = [{"type": "thinking", "thinking": text} for text in ("first", "second")]
    said = content_of(*blocks, {"type": "text", "text": "hi"})
    with FakeOldMessages([said, "done"]) as fake:
        made = provider(fake, CLAUDE)
        first = await ask(made, Request(HELLO), streaming)
        await ask(made, Request([*HELLO, first.message, Message.user("go on")]), streaming)
    sent = fake.requests[1]["messages"][1]["content"]
    assert [block.get("thinking") for block in sent] == ["first", "second", None]


@both_ways
async def test_shown_reasoning_goes_back_where_the_server_gave_it(streaming: bool) -> None:
    """Servers such as DeepSeek's refuse a tool turn whose reasoning is missing."""
    rules = Rules(message_fields=frozenset({"reasoning_content"}))
    said = answer("hi", extra={"reasoning_content": "because"})
    with FakeChat([said, "done"], rules=rules) as fake:
        made = provider(fake, OPENAI)
        first = await ask(made, Request(HELLO), streaming)
        await ask(made, Request([*HELLO, first.message, Message.user("go on")]), streaming)
    assert fake.requests[1]["messages"][1]["reasoning_content"] == "because"


async def test_opaque_data_of_one_provider_is_not_sent_to_another() -> None:
    """Also where litellm stands in front of both; the fake refuses fields it does not know."""
    said = thought(calls(("get_word", {"word": "a"})), "hm")
    with FakeOldMessages([said]) as claude, FakeChat(["done"]) as openai:
        first = await provider(claude, CLAUDE).complete(Request(HELLO, (get_word,)))
        history = [*HELLO, first.message, answered(first)]
        await provider(openai, OPENAI).complete(Request(history, (get_word,)))
    assert openai.requests[0]["messages"][1].keys() == {"role", "tool_calls"}


SIGNED_CALLS = [
    {"text": "hm", "thought": True},
    {
        "functionCall": {"name": "get_word", "args": {"word": "a"}, "id": "fc1"},
        "thoughtSignature": "c2lnbmVk" * 20,
    },
    {"functionCall": {"name": "get_word", "args": {"word": "b"}}},
]
COUNTS = {"promptTokenCount": 100, "candidatesTokenCount": 15, "thoughtsTokenCount": 5}


def gemini(*replies: Any) -> tuple[httpx2.MockTransport, list[Any]]:
    """Return a server that sends these replies, whole or as one event, and what it was sent."""
    left, sent = list(replies), list[Any]()

    def respond(request: httpx2.Request) -> httpx2.Response:
        sent.append(json.loads(request.content))
        body = json.dumps({**left.pop(0), "usageMetadata": COUNTS})
        if "stream" not in request.url.path:
            return httpx2.Response(200, content=body)
        headers = {"content-type": "text/event-stream"}
        return httpx2.Response(200, headers=headers, content=f"data: {body}\n\n")

    return httpx2.MockTransport(respond), sent


def candidate(*parts: Any, reason: str = "STOP") -> Any:
    """Return a Gemini reply of these parts."""
    return {"candidates": [{"content": {"parts": parts}, "finishReason": reason, "index": 0}]}


@both_ways
async def test_geminis_signatures_go_back_with_their_calls(streaming: bool) -> None:
    """They are kept beside the calls, not in their ids, which would get too long for others."""
    transport, sent = gemini(candidate(*SIGNED_CALLS), candidate({"text": "done"}))
    made = create(ModelURI.parse(GEMINI), HttpClients(transport))
    first = await ask(made, Request(HELLO, (get_word,)), streaming)
    history = [*HELLO, first.message, answered(first)]
    second = await ask(made, Request(history, (get_word,)), streaming)
    model, results = sent[1]["contents"][1:]
    signed = [part.get("thoughtSignature") for part in model["parts"] if "function_call" in part]
    assert signed == ["c2lnbmVk" * 20, None]
    assert [part["function_response"]["id"] for part in results["parts"]] == [
        call.id for call in first.message.tool_calls
    ]
    assert max(len(call.id) for call in first.message.tool_calls) <= 40
    assert (second.message.text, first.usage) == ("done", Usage(100, 20, 0, 0, 5))


@both_ways
async def test_geminis_signature_of_a_text_goes_back(streaming: bool) -> None:
    """It stands in a field of the message."""
    signed = candidate({"text": "hi", "thoughtSignature": "dGV4dA=="})
    transport, sent = gemini(signed, candidate({"text": "done"}))
    made = create(ModelURI.parse(GEMINI), HttpClients(transport))
    first = await ask(made, Request(HELLO), streaming)
    await ask(made, Request([*HELLO, first.message, Message.user("go on")]), streaming)
    assert sent[1]["contents"][1]["parts"] == [{"text": "hi", "thoughtSignature": "dGV4dA=="}]


async def test_a_call_that_gemini_could_not_make_is_malformed() -> None:
    """The model is asked again, where litellm would say it stopped with nothing."""
    transport, _ = gemini(candidate(reason="MALFORMED_FUNCTION_CALL"))
    made = create(ModelURI.parse(GEMINI), HttpClients(transport))
    with pytest.raises(MalformedReply, match="MALFORMED_FUNCTION_CALL"):
        await made.complete(Request(HELLO))


@both_ways
async def test_a_blocked_prompt_is_blocked(streaming: bool) -> None:
    """A reply without candidates is no fault."""
    transport, _ = gemini({"promptFeedback": {"blockReason": "SAFETY"}})
    made = create(ModelURI.parse(GEMINI), HttpClients(transport))
    reply = await ask(made, Request(HELLO), streaming)
    assert (reply.finish_reason, reply.message.parts) == ("blocked", ())
