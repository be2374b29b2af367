"""Providers without a network: the script of a test, and the echo that needs no key."""

from __future__ import annotations

import pytest

from ....errors import ConfigError, MalformedReply, RateLimited
from ....llm.events import TextDelta
from ....llm.model_uri import ModelURI
from ....llm.provider import Provider, Request, create_provider
from ....llm.providers.offline import MOST_PIECES, ScriptedProvider
from ....messages import Message, Reply, Text, ToolCall, ToolResult
from ....tools.tool import tool
from ....transport import HttpClients


@tool
async def get_word(word: str) -> str:
    """Look up a word."""
    return word


def request(*messages: Message) -> Request:
    """Return a request with one tool."""
    return Request(messages, (get_word,))


def echo() -> Provider:
    """Return the provider of chat://offline/echo."""
    return create_provider(ModelURI.parse("chat://offline/echo"), HttpClients())


async def test_the_script_is_played_in_order() -> None:
    """Texts and messages become replies; the requests are kept as they were asked."""
    call = Message("assistant", (ToolCall("c1", "get_word", {"word": "a"}),))
    asked = [Message.user("hi")]
    with ScriptedProvider(["one", call]) as provider:
        first = await provider.complete(Request(asked))
        asked.append(first.message)
        second = await provider.complete(Request(asked))
    assert (first.message.text, second.message) == ("one", call)
    assert [len(kept.messages) for kept in provider.requests] == [1, 2]


async def test_an_exception_in_the_script_is_raised() -> None:
    """A failure can be scripted at any place."""
    provider = ScriptedProvider([RateLimited("slow down"), "then"])
    with pytest.raises(RateLimited, match="slow down"):
        await provider.complete(request(Message.user("hi")))
    assert (await provider.complete(request(Message.user("hi")))).message.text == "then"


async def test_a_script_is_streamed_word_by_word() -> None:
    """The deltas make up the text exactly, and the reply comes last."""
    provider = ScriptedProvider(["  two  words\n"])
    events = [event async for event in provider.stream(request(Message.user("hi")))]
    deltas = [event.text for event in events if isinstance(event, TextDelta)]
    assert len(deltas) > 1
    assert "".join(deltas) == "  two  words\n"
    assert isinstance(events[-1], Reply)


@pytest.mark.parametrize("text", ["a " * 500_000, "x" * 1_000_000, "\n" * 1_000_000])
async def test_a_long_text_is_streamed_in_few_pieces(text: str) -> None:
    """A megabyte is no half million events."""
    provider = ScriptedProvider([text])
    events = [event async for event in provider.stream(request(Message.user("hi")))]
    deltas = [event.text for event in events if isinstance(event, TextDelta)]
    assert len(deltas) <= MOST_PIECES
    assert "".join(deltas) == text


async def test_the_echo_looks_for_a_command_in_one_pass() -> None:
    """Blanks without end behind a name are told apart from arguments at once."""
    text = "/get_word" + " " * 200_000 + "x"
    assert (await echo().complete(request(Message.user(text)))).message.text == f"You said: {text}"


async def test_replies_left_over_fail() -> None:
    """A test that asks less often than it says is wrong."""
    with pytest.raises(AssertionError, match="1 scripted replies"), ScriptedProvider(["never"]):
        pass


async def test_a_call_beyond_the_script_fails() -> None:
    """The error says which call it was, and no `except LlmError` swallows it."""
    with pytest.raises(AssertionError, match="call 1 is not in the script"):
        await ScriptedProvider([]).complete(request(Message.user("hi")))


async def test_an_error_of_the_test_is_not_covered_up() -> None:
    """Replies left over do not hide what went wrong before."""
    with pytest.raises(KeyError), ScriptedProvider(["left"]):
        raise KeyError


@pytest.mark.parametrize(("reply", "reason"), [("", "empty"), ("hi", "stop")])
async def test_an_empty_text_is_an_empty_reply(reply: str, reason: str) -> None:
    """The script can say nothing, as models do."""
    made = await ScriptedProvider([reply]).complete(request(Message.user("hi")))
    assert made.finish_reason == reason


async def test_only_an_assistant_can_reply() -> None:
    """A user's message in a script is a mistake that is told."""
    with pytest.raises(MalformedReply, match="not user"):
        await ScriptedProvider([Message.user("?")]).complete(request(Message.user("hi")))


async def test_the_echo_answers_without_key_or_network() -> None:
    """It says what it was told, and how long that was."""
    reply = await echo().complete(request(Message.user("hello there, you")))
    assert reply.message.text == "You said: hello there, you"
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (4, 6)


async def test_the_echo_calls_a_tool_when_asked_to() -> None:
    """`/name {arguments}` is a call, whose result it reads out afterwards."""
    question = Message.user('/get_word {"word": "ubiquitous"}')
    reply = await echo().complete(request(question))
    [call] = reply.message.tool_calls
    assert (call.name, call.arguments) == ("get_word", {"word": "ubiquitous"})
    result = Message("tool", (ToolResult(call.id, call.name, (Text("everywhere"),)),))
    last = await echo().complete(request(question, reply.message, result))
    assert last.message.text == "get_word says: everywhere"


@pytest.mark.parametrize("text", ["/get_word {broken", "/other {}", "say /get_word"])
async def test_the_echo_calls_only_what_is_there(text: str) -> None:
    """Anything else is text."""
    reply = await echo().complete(request(Message.user(text)))
    assert reply.message.text == f"You said: {text}"


async def test_the_echo_hands_on_broken_arguments() -> None:
    """A person who types bad JSON sees what the tool registry says about it."""
    reply = await echo().complete(request(Message.user("/get_word {broken}")))
    assert reply.message.tool_calls[0].malformed == "{broken}"


def test_there_is_one_offline_model() -> None:
    """Another name is refused with the right one."""
    with pytest.raises(ConfigError, match="chat://offline/echo"):
        create_provider(ModelURI.parse("offline/gpt"), HttpClients())
