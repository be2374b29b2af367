"""Whole runs over the Messages API: thinking that goes back, pauses, schemas and fallbacks."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from typing import Any

import pytest
from pydantic import BaseModel

from ....errors import BadRequest
from ....llm.events import Finished
from ....llm.model_uri import ModelURI
from ....llm.provider import Request, create_provider
from ....llm.requester import LlmRequester, create_llm_requester
from ....llm.result import GenerateResult
from ....messages import Message, Part, Text, Thinking, ToolCall, ToolResult
from ....session.store import Session
from ....tools.registry import ToolRegistry
from ....tools.tool import Tool, ToolContext, tool
from ....transport import HttpClients
from ...chat_replies import answer, calls, status
from ...conftest import MODEL, MakeRequester
from ...fake_chat import FakeChat
from ...fake_messages import MESSAGES, FakeMessages, content_of, thought

HELLO = [Message.user("hello")]
SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "search", "input": {"q": "x"}}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}


@tool
async def get_word(word: str) -> str:
    """Look up a word."""
    if word == "missing":
        raise LookupError("no such word")
    return f"{word}: everywhere"


TOOLS = ToolRegistry([get_word])


class Word(BaseModel):
    """An answer."""

    word: str


def look_up(*words: str, redacted: bool = False) -> Any:
    """Return a turn that was thought over and asks for these words."""
    wanted = calls(*(("get_word", {"word": word}) for word in words))
    return thought(wanted, "" if redacted else "hm", redacted=redacted)


def kinds(fake: FakeMessages, number: int) -> list[list[str]]:
    """Return the types of the blocks of each turn in a request."""
    return [[b["type"] for b in turn["content"]] for turn in fake.requests[number]["messages"]]


async def ask(llm: LlmRequester, streaming: bool, messages: Sequence[Message]) -> GenerateResult:
    """Run with the tool, listening or not."""
    if not streaming:
        return await llm(messages, tools=TOOLS, max_steps=20)
    events = [event async for event in llm.stream(messages, tools=TOOLS, max_steps=20)]
    assert isinstance(events[-1], Finished)
    return events[-1].result


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize("reasoning", ["", "&reasoning=high", "&reasoning=2000"])
@pytest.mark.parametrize("redacted", [False, True])
async def test_thinking_is_sent_back_first_for_ten_turns(
    reasoning: str, redacted: bool, streaming: bool, requester: MakeRequester
) -> None:
    """The server refuses thinking that is missing, changed, or in another place."""
    asked = [look_up("a", "b", redacted=redacted)] * 9
    with FakeMessages([*asked, thought(answer("done"))]) as fake:
        result = await ask(requester(fake, MESSAGES + reasoning), streaming, HELLO)
    kind = "redacted_thinking" if redacted else "thinking"
    turn = [[kind, "tool_use", "tool_use"], ["tool_result", "tool_result"]]
    assert result.text == "done"
    assert kinds(fake, 9) == [["text"], *turn * 9]


async def test_thinking_survives_a_stored_session(requester: MakeRequester) -> None:
    """What was opaque comes out of JSON as it went in."""
    with FakeMessages([look_up("a"), thought(answer("one")), look_up("b"), "two"]) as fake:
        llm = requester(fake, MESSAGES)
        history = (await ask(llm, False, HELLO)).history
        stored = [Message.from_json(message.to_json()) for message in Session.of(history).messages]
        result = await ask(llm, False, [*stored, Message.user("more")])
    assert result.text == "two"
    assert kinds(fake, 3)[3] == ["thinking", "text"]


async def test_thinking_between_calls_keeps_its_place(requester: MakeRequester) -> None:
    """Models may think, speak and call in any order."""
    think = {"type": "thinking", "thinking": "hm"}
    use = {"type": "tool_use", "name": "get_word", "input": {"word": "a"}}
    words = {"type": "text", "text": "Let me see."}
    with FakeMessages([content_of(think, words, use, think, use), "done"]) as fake:
        await ask(requester(fake, MESSAGES), False, HELLO)
    assert kinds(fake, 1)[1] == ["thinking", "text", "tool_use", "thinking", "tool_use"]


async def test_thinking_at_the_end_of_a_turn_is_left_out(requester: MakeRequester) -> None:
    """A reply may be cut off while it thinks; the API refuses a turn that ends so."""
    words, think = {"type": "text", "text": "So"}, {"type": "thinking", "thinking": "hm"}
    with FakeMessages([content_of(words, think, stop="length"), "done"]) as fake:
        llm = requester(fake, MESSAGES)
        first = await ask(llm, False, HELLO)
        await ask(llm, False, [*first.history, Message.user("go on")])
    assert first.finish_reason == "length"
    assert kinds(fake, 1)[1] == ["text"]


@pytest.mark.parametrize("streaming", [False, True])
async def test_thinking_that_is_bound_to_another_conversation_is_left_out(
    streaming: bool, requester: MakeRequester
) -> None:
    """One request more, once: what was refused is not sent again, and new thinking is kept."""
    system = Message.system("Be brief.")
    with FakeMessages([look_up("a"), "one", look_up("b"), "two"], refusals=1) as fake:
        llm = requester(fake, MESSAGES)
        first = await ask(llm, streaming, HELLO)
        result = await ask(llm, streaming, [system, *first.history, Message.user("more")])
    assert (result.text, len(fake.bodies)) == ("two", 5)
    assert [turn.count("thinking") for turn in kinds(fake, 4)] == [0, 0, 0, 0, 0, 1, 0]
    assert result.history[2].parts[0].replay is not None  # type: ignore[union-attr]


async def test_what_was_refused_is_remembered_for_every_conversation(
    requester: MakeRequester,
) -> None:
    """Two sessions of one requester cost one refused request each, not one at every turn."""
    begun = [look_up("a"), "one", look_up("b"), "one"]
    with FakeMessages([*begun, *["two"] * 4], refusals=2) as fake:
        llm = requester(fake, MESSAGES)
        histories = [(await ask(llm, False, [Message.user(word)])).history for word in "ab"]
        for history in histories * 2:
            await ask(llm, False, [Message.system("New."), *history, Message.user("more")])
    assert len(fake.bodies) == 10


async def test_another_refusal_is_not_tried_again(requester: MakeRequester) -> None:
    """Only what the API says of thinking leads to a second request."""
    with (
        FakeMessages([look_up("a"), status(400)]) as fake,
        pytest.raises(BadRequest, match="scripted status 400"),
    ):
        await ask(requester(fake, MESSAGES), False, HELLO)
    assert len(fake.bodies) == 2


async def test_a_failing_tool_among_three_is_marked(requester: MakeRequester) -> None:
    """All results are one turn, in the order of the calls."""
    with FakeMessages([look_up("a", "missing", "b"), "done"]) as fake:
        await ask(requester(fake, MESSAGES), False, HELLO)
    results = fake.requests[1]["messages"][2]["content"]
    assert [result.get("is_error", False) for result in results] == [False, True, False]


async def test_a_tool_that_is_refused_is_left_out_with_one_warning(
    requester: MakeRequester, log: io.StringIO
) -> None:
    """The others go out, and the run goes on."""

    async def execute(arguments: dict[str, Any], ctx: ToolContext) -> str:
        return "done"

    odd = Tool("odd", "", {"properties": {"a b": {"type": "string"}}}, execute)
    with FakeMessages([look_up("a"), "done"]) as fake:
        await requester(fake, MESSAGES)(HELLO, tools=[odd, get_word])
    assert [tool["name"] for tool in fake.requests[1]["tools"]] == ["get_word"]
    assert log.getvalue().count("the tool odd is left out") == 1


@pytest.mark.parametrize("streaming", [False, True])
async def test_a_paused_turn_goes_on(streaming: bool, requester: MakeRequester) -> None:
    """What came so far is sent back as it came; the reply and its cost are both parts together."""
    begun = content_of({"type": "text", "text": "One "}, SEARCH, FOUND, stop="pause_turn")
    with FakeMessages([begun, "moment."]) as fake:
        result = await ask(requester(fake, MESSAGES), streaming, HELLO)
    assert (result.text, result.finish_reason, len(result.steps)) == ("One moment.", "stop", 1)
    assert fake.requests[1]["messages"][1]["content"][1:] == [SEARCH, FOUND]
    assert result.usage.output_tokens == 40


async def test_a_turn_that_is_always_paused_ends(requester: MakeRequester) -> None:
    """Whatever repeats is bounded: six requests, then what there is."""
    begun = content_of({"type": "text", "text": "."}, SEARCH, FOUND, stop="pause_turn")
    with FakeMessages([begun] * 6) as fake:
        result = await ask(requester(fake, MESSAGES), False, HELLO)
    assert (result.finish_reason, result.text) == ("length", "......")
    assert result.steps[0].detail == "pause_turn"


@pytest.mark.parametrize("streaming", [False, True])
async def test_a_wrong_answer_is_corrected(streaming: bool, requester: MakeRequester) -> None:
    """The model learns what does not fit, and its second answer counts."""
    with FakeMessages([thought(answer('{"words":1}')), '{"word":"a"}']) as fake:
        llm = requester(fake, MESSAGES)
        if streaming:
            events = [event async for event in llm.stream(HELLO, schema=Word)]
            assert isinstance(events[-1], Finished)
            result = events[-1].result
        else:
            result = await llm(HELLO, schema=Word)
    assert result.result == Word(word="a")
    assert "word: Field required" in fake.requests[1]["messages"][2]["content"][0]["text"]


async def test_thinking_is_never_sent_to_another_provider() -> None:
    """After a fallback the other model sees words, calls and results only."""
    uris = [MESSAGES + "&maxRetries=0", MODEL]
    with FakeMessages([look_up("a"), status(500)]) as fake, FakeChat(["done"]) as other:

        async def route(request: Any) -> Any:
            to = fake if request.url.host == "api.anthropic.com" else other
            return await to.handler(request)

        fake.transport.handler = route
        llm = create_llm_requester(uris, transport=fake.transport)
        result = await ask(llm, False, HELLO)
    assert (result.text, result.model) == ("done", "openai/gpt-5-mini")
    assert b"EqQB" not in other.bodies[0]


@pytest.mark.parametrize("reasoning", ["", "&reasoning=high", "&reasoning=2000"])
async def test_a_turn_that_another_provider_began_is_taken_over(reasoning: str) -> None:
    """Its opaque data stays behind, its ids become legal and distinct, and a budget waits."""
    opaque = Thinking("hm", {"openai": {"secret": "gAAAA"}})
    ids = ("call|1", "x" * 80, "call|1")
    asked: list[Part] = [opaque, *(ToolCall(call_id, "get word", {}) for call_id in ids)]
    results = tuple(ToolResult(call_id, "get word", (Text("found"),)) for call_id in ids)
    step = [Message("assistant", tuple(asked)), Message("tool", results)]
    uri = ModelURI.parse(MESSAGES + reasoning)
    with FakeMessages(["done"]) as fake:
        request = Request([*HELLO, *step, *step], settings=uri.settings)
        await create_provider(uri, HttpClients(fake.transport)).complete(request)
    body = fake.requests[0]
    used = [b["id"] for turn in body["messages"] for b in turn["content"] if "id" in b]
    assert len(set(used)) == 6
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,64}", call_id) for call_id in used)
    assert b"gAAAA" not in fake.bodies[0]
    assert ("thinking" in body) is (reasoning == "&reasoning=high")
