"""How replies through litellm end, and what they are said to have taken."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest

from ....errors import MalformedReply
from ....llm.provider import Request
from ....messages import Message, Usage
from ...anthropic_replies import message_of
from ...chat_replies import answer, completion, status
from ...fake_chat import FakeChat
from ...litellm_routes import (
    CLAUDE,
    OPENAI,
    FakeOldMessages,
    ask,
    both_routes,
    both_ways,
    provider,
    quiet,
)

pytestmark = quiet
HELLO = [Message.user("hello")]


@both_routes
@both_ways
@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (answer("hi", finish_reason="length"), "length"),
        (answer(""), "empty"),
    ],
)
async def test_reasons_are_told(
    said: Any, reason: str, uri: str, make_fake: Any, streaming: bool
) -> None:
    """Cut off, and nothing at all."""
    with make_fake([said]) as fake:
        reply = await ask(provider(fake, uri), Request(HELLO), streaming)
    assert reply.finish_reason == reason


@both_ways
async def test_a_refusal_of_claude_is_told(streaming: bool) -> None:
    """With its words, and not as blocked, which is what litellm makes of it."""
    with FakeOldMessages([answer("no", extra={"refusal": "I will not"})]) as fake:
        reply = await ask(provider(fake, CLAUDE), Request(HELLO), streaming)
    assert (reply.finish_reason, reply.detail) == ("refused", "I will not")


async def test_a_refusal_of_openai_is_told() -> None:
    """With its words; litellm drops them from a stream."""
    with FakeChat([answer(None, extra={"refusal": "I will not"})]) as fake:
        reply = await provider(fake, OPENAI).complete(Request(HELLO))
    assert (reply.finish_reason, reply.detail) == ("refused", "I will not")


@both_ways
async def test_a_filtered_reply_is_blocked(streaming: bool) -> None:
    """By the provider's filter, not by the model."""
    with FakeChat([answer("hal", finish_reason="content_filter")]) as fake:
        reply = await ask(provider(fake, OPENAI), Request(HELLO), streaming)
    assert reply.finish_reason == "blocked"


@both_ways
async def test_input_counts_what_a_cache_took_and_gave(streaming: bool) -> None:
    """Anthropic leaves both out of its own input."""
    counts = {
        "input_tokens": 10,
        "cache_read_input_tokens": 200,
        "cache_creation_input_tokens": 30,
        "output_tokens": 7,
    }
    with FakeOldMessages([answer("hi", usage=counts)]) as fake:
        reply = await ask(provider(fake, CLAUDE), Request(HELLO), streaming)
    assert reply.usage == Usage(240, 7, 200, 30, 0)


@both_routes
@both_ways
async def test_counts_that_were_not_sent_are_not_made_up(
    uri: str, make_fake: Any, streaming: bool
) -> None:
    """litellm would estimate those of a stream, and fail on a message of Anthropic's without."""
    with make_fake([answer("hi", usage=None)]) as fake:
        reply = await ask(provider(fake, uri), Request(HELLO), streaming)
    assert (reply.message.text, reply.usage) == ("hi", Usage())


@both_ways
async def test_half_a_message_is_not_completed(streaming: bool) -> None:
    """One that breaks off where its counts would stand is as broken as any other."""
    half = b'{"type":"message","role":"assistant","content":[],"stop_reason":"end_turn"'
    with FakeOldMessages([half]) as fake, pytest.raises(MalformedReply):
        await ask(provider(fake, CLAUDE), Request(HELLO), streaming)


MESSAGE = json.dumps(message_of(answer("hi"), {"model": "claude-sonnet-4-5"}, 1)).encode()


@pytest.mark.parametrize(
    ("uri", "make_fake", "body"),
    [
        (OPENAI, FakeChat, completion(answer("hi"), "gpt-5-mini", 1)),
        (CLAUDE, FakeOldMessages, MESSAGE),
    ],
)
async def test_a_compressed_reply_is_read(uri: str, make_fake: Any, body: bytes) -> None:
    """Servers compress what they send; what they cannot have compressed is malformed."""
    headers = {"content-encoding": "gzip"}
    with make_fake([status(200, headers, gzip.compress(body))]) as fake:
        reply = await provider(fake, uri).complete(Request(HELLO))
    assert reply.message.text == "hi"
    with make_fake([status(200, headers, body)]) as fake, pytest.raises(MalformedReply):
        await provider(fake, uri).complete(Request(HELLO))
