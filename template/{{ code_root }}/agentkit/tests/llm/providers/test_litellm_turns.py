"""Whole runs through litellm: tools and thinking over many turns, schemas, fallbacks, costs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from pydantic import BaseModel

from ....llm.events import Finished
from ....llm.requester import LlmRequester
from ....llm.result import GenerateResult
from ....messages import Message
from ....tools.registry import ToolRegistry
from ....tools.tool import tool
from ...chat_replies import calls, status
from ...conftest import MakeRequester
from ...fake_chat import FakeChat
from ...fake_messages import thought
from ...litellm_routes import CLAUDE, OPENAI, FakeOldMessages, both_routes, both_ways, quiet

pytestmark = quiet
HELLO = [Message.user("hello")]
THINKING = f"{CLAUDE}&reasoning=1024&maxTokens=2048"


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
    level: int


def look_up(*words: str) -> Any:
    """Return a turn that asks for these words."""
    return calls(*(("get_word", {"word": word}) for word in words))


async def run(llm: LlmRequester, streaming: bool, messages: Sequence[Message]) -> GenerateResult:
    """Run with the tool, listening or not."""
    if not streaming:
        return await llm(messages, tools=TOOLS, max_steps=20)
    events = [event async for event in llm.stream(messages, tools=TOOLS, max_steps=20)]
    assert isinstance(events[-1], Finished)
    return events[-1].result


@both_ways
async def test_thinking_goes_back_in_ten_turns_and_more(
    streaming: bool, requester: MakeRequester
) -> None:
    """Each turn's own, unmodified, also after the user has spoken again."""
    turns = [thought(look_up(f"w{number}"), f"about {number}") for number in range(10)]
    with FakeOldMessages([*turns, "It means that.", thought(look_up("x"), "hm"), "And x."]) as fake:
        llm = requester(fake, THINKING)
        first = await run(llm, streaming, HELLO)
        second = await run(llm, streaming, [*first.history, Message.user("and x?")])
    sent = fake.requests[-1]["messages"]
    shown = [block["thinking"] for m in sent for block in m["content"] if "thinking" in block]
    assert shown == [*(f"about {number}" for number in range(10)), "hm"]
    assert (first.text, second.text) == ("It means that.", "And x.")


@both_ways
async def test_results_of_a_step_are_one_turn_of_the_user(
    streaming: bool, requester: MakeRequester
) -> None:
    """In the order of the calls, the failed one marked."""
    with FakeOldMessages([look_up("a", "missing", "b"), "done"]) as fake:
        await run(requester(fake, CLAUDE), streaming, HELLO)
    texts = [block["content"][0]["text"] for block in fake.requests[1]["messages"][-1]["content"]]
    assert [text.startswith("Error: ") for text in texts] == [False, True, False]
    assert (texts[0], texts[2]) == ("a: everywhere", "b: everywhere")


@both_routes
async def test_an_answer_that_does_not_fit_is_corrected(
    uri: str, make_fake: Any, requester: MakeRequester
) -> None:
    """The fields go back to the model, which answers once more."""
    with make_fake(['{"word":"a"}', '{"word":"a","level":2}']) as fake:
        result = await requester(fake, uri)(HELLO, schema=Word)
    assert result.result == Word(word="a", level=2)
    assert b"level" in fake.bodies[1][fake.bodies[1].index(b"does not match") :]


async def test_another_provider_goes_on_where_the_first_gave_up(
    monkeypatch: pytest.MonkeyPatch, requester: MakeRequester
) -> None:
    """With the calls and results so far, and without what only the first can read."""
    failing: Any = [thought(look_up("a"), "hm"), status(401)]
    with FakeOldMessages(failing) as claude, FakeChat(["done"]) as openai:

        async def either(request: Any) -> Any:
            fake = claude if "anthropic" in request.url.host else openai
            return await fake.handler(request)

        monkeypatch.setattr(claude.transport, "handler", either)
        result = await run(requester(claude, [CLAUDE, OPENAI]), False, HELLO)
    assert (result.text, result.model) == ("done", "litellm/openai/gpt-5-mini")
    assert [m["role"] for m in openai.requests[0]["messages"]] == ["user", "assistant", "tool"]


@both_routes
async def test_what_a_call_costs_is_known(
    uri: str, make_fake: Any, requester: MakeRequester
) -> None:
    """By the provider behind litellm."""
    with make_fake(["hi"]) as fake:
        result = await requester(fake, uri)(HELLO)
    assert result.estimated_cost is not None
    assert result.estimated_cost > 0
