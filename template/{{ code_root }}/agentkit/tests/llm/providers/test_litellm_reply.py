"""What litellm hands out, as a reply; nothing here imports litellm."""

from __future__ import annotations

from typing import Any

import pytest

from ....errors import LlmError, MalformedReply, Overloaded
from ....llm.providers.litellm_reply import ReplyCollector
from ....messages import Message, Reply, Thinking, Usage

DIALECT = "litellm/acme"


def whole(message: Any, usage: Any = None, reason: str = "stop", native: str = "") -> Reply:
    """Return the reply in a whole response."""
    choice = {"message": message, "finish_reason": reason}
    if native:
        choice["provider_specific_fields"] = {"native_finish_reason": native}
    collector = ReplyCollector(DIALECT, "m", whole=True)
    collector.take({"choices": [choice], "usage": usage})
    return collector.reply()


def streamed(*deltas: Any) -> Reply:
    """Return the reply in a stream of these deltas."""
    collector = ReplyCollector(DIALECT, "m")
    for delta in deltas:
        collector.take({"choices": [{"delta": delta}]})
    collector.take({"choices": [{"delta": {}, "finish_reason": "stop"}]})
    return collector.reply()


def blocks(reply: Reply) -> Any:
    """Return the blocks of thinking that go back."""
    part = reply.message.parts[0]
    assert isinstance(part, Thinking)
    assert part.replay is not None
    return part.replay[DIALECT]["thinking_blocks"]


@pytest.mark.parametrize(
    ("native", "kind"),
    [
        ("MALFORMED_FUNCTION_CALL", MalformedReply),
        ("UNEXPECTED_TOOL_CALL", MalformedReply),
        ("error", Overloaded),
        ("network_error", Overloaded),
    ],
)
def test_an_end_that_is_none_is_tried_again(native: str, kind: type) -> None:
    """litellm says that these models stopped."""
    with pytest.raises(LlmError, match=native) as caught:
        whole({"content": "half"}, native=native)
    assert type(caught.value) is kind


def test_a_block_has_its_reason() -> None:
    """As the provider calls it."""
    reply = whole({"content": None}, reason="content_filter", native="SAFETY")
    assert (reply.finish_reason, reply.detail) == ("blocked", "SAFETY")


def test_pieces_of_a_block_are_put_together() -> None:
    """Those with one index are one block, its signature too; the index is not kept."""
    pieces: Any = [
        {"type": "thinking", "thinking": "a", "index": 0},
        {"type": "thinking", "thinking": "b", "signature": "s", "index": 0},
        {"type": "thinking", "thinking": "", "signature": "t", "index": 0},
        {"type": "redacted_thinking", "data": "d", "index": 1},
        {"type": "thinking", "thinking": "c", "signature": "u", "index": 2},
    ]
    reply = streamed(*({"thinking_blocks": [piece]} for piece in pieces), {"content": "hi"})
    assert blocks(reply) == [
        {"type": "thinking", "thinking": "ab", "signature": "st"},
        {"type": "redacted_thinking", "data": "d"},
        {"type": "thinking", "thinking": "c", "signature": "u"},
    ]


def test_pieces_without_an_index_end_with_a_signature() -> None:
    """Bedrock counts nothing."""
    pieces: Any = [
        {"type": "thinking", "thinking": "a", "signature": None},
        {"type": "thinking", "thinking": "b", "signature": "s"},
        {"type": "thinking", "thinking": "c", "signature": "t"},
    ]
    reply = streamed(*({"thinking_blocks": [piece]} for piece in pieces), {"content": "hi"})
    assert [block["thinking"] for block in blocks(reply)] == ["ab", "c"]


def test_whole_blocks_stay_apart() -> None:
    """Also unsigned ones."""
    given = [{"type": "thinking", "thinking": "a"}, {"type": "thinking", "thinking": "b"}]
    assert blocks(whole({"content": "hi", "thinking_blocks": given})) == given


def test_a_signature_stays_with_its_call() -> None:
    """In a stream the pieces after the first have no id."""
    fields = {"provider_specific_fields": {"thought_signature": "s"}}
    first = {"index": 0, "id": "c1", "function": {"name": "f", "arguments": "{"}}
    rest = {"index": 0, "function": {"arguments": "}"}}
    second = {"index": 1, "id": "c2", "function": {"name": "g", "arguments": "{}"}, **fields}
    reply = streamed({"tool_calls": [first]}, {"tool_calls": [rest]}, {"tool_calls": [second]})
    assert [call.replay for call in reply.message.tool_calls] == [None, {DIALECT: fields}]


@pytest.mark.parametrize("name", ["cache_write_tokens", "cache_creation_tokens"])
def test_counts_have_our_names(name: str) -> None:
    """litellm calls what was written to a cache by two names."""
    usage = {
        "prompt_tokens": 100,
        "completion_tokens": 20,
        "prompt_tokens_details": {"cached_tokens": 40, name: 7},
        "completion_tokens_details": {"reasoning_tokens": 5},
    }
    assert whole({"content": "hi"}, usage).usage == Usage(100, 20, 40, 7, 5)


def test_the_highest_counts_of_a_stream_are_the_last() -> None:
    """Anthropic tells the input at the start and the output at the end."""
    collector = ReplyCollector(DIALECT, "m")
    collector.take({"choices": [{"delta": {"content": "hi"}, "finish_reason": "stop"}]})
    for prompt, completion in ((100, 1), (0, 20)):
        collector.count({"prompt_tokens": prompt, "completion_tokens": completion})
    assert collector.reply().usage == Usage(100, 20)


def test_a_reply_without_calls_or_thinking_has_nothing_to_send_back() -> None:
    """Its parts are just the text."""
    assert streamed({"content": "hi"}).message == Message.assistant("hi")
