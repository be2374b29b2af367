"""Whole runs over the Responses API: reasoning that goes back, tools, schemas and fallbacks."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from pydantic import BaseModel

from ....llm.events import Finished
from ....llm.requester import LlmRequester, create_llm_requester
from ....llm.result import GenerateResult
from ....messages import Image, Message, Text, Thinking
from ....tools.registry import ToolRegistry
from ....tools.tool import tool
from ...chat_replies import answer, calls, status, usage
from ...conftest import MakeRequester
from ...fake_responses import RESPONSES, FakeResponses, reasoned

HELLO = [Message.user("hello")]
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5E"
OTHER = RESPONSES.replace("gpt-5-mini", "gpt-5")
PLAIN = RESPONSES.replace("gpt-5-mini", "gpt-4.1")


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
    """Return a turn that was thought over and asks for these words."""
    return reasoned(calls(*(("get_word", {"word": word}) for word in words)), "hm")


def kinds(fake: FakeResponses, number: int) -> list[str]:
    """Return what the input items of a request are: their types, or roles for messages."""
    return [item.get("type", item.get("role")) for item in fake.requests[number]["input"]]


async def ask(llm: LlmRequester, streaming: bool, messages: Sequence[Message]) -> GenerateResult:
    """Run with the tool, listening or not."""
    if not streaming:
        return await llm(messages, tools=TOOLS, max_steps=20)
    events = [event async for event in llm.stream(messages, tools=TOOLS, max_steps=20)]
    assert isinstance(events[-1], Finished)
    return events[-1].result


@pytest.mark.parametrize("streaming", [False, True])
async def test_reasoning_is_sent_back_before_its_calls_for_ten_turns(
    streaming: bool, requester: MakeRequester
) -> None:
    """The server refuses a turn whose reasoning is missing, changed or misplaced."""
    with FakeResponses([*[look_up("a", "b")] * 9, reasoned(answer("done"))]) as fake:
        result = await ask(requester(fake, RESPONSES), streaming, HELLO)
    assert (result.text, len(fake.requests)) == ("done", 10)
    turn = ["reasoning", *["function_call"] * 2, *["function_call_output"] * 2]
    assert kinds(fake, 9) == ["user", *turn * 9]


async def test_reasoning_survives_a_stored_session(requester: MakeRequester) -> None:
    """What a session keeps as JSON is accepted in the next run."""
    with FakeResponses([look_up("a"), reasoned(answer("one")), look_up("b"), "two"]) as fake:
        first = await ask(requester(fake, RESPONSES), False, HELLO)
        stored = [Message.from_json(message.to_json()) for message in first.history]
        await ask(requester(fake, RESPONSES), True, [*stored, Message.user("more")])
    assert kinds(fake, 3).count("reasoning") == 3


async def test_a_failing_tool_among_three_is_marked(requester: MakeRequester) -> None:
    """Results stand in the order of the calls."""
    with FakeResponses([look_up("a", "missing", "b"), "done"]) as fake:
        await ask(requester(fake, RESPONSES), False, HELLO)
    outputs = [item["output"] for item in fake.requests[1]["input"][-3:]]
    assert outputs[0] == "a: everywhere"
    assert outputs[1].startswith("Error: ")
    assert outputs[2] == "b: everywhere"


async def test_reasoning_of_one_model_is_not_sent_to_another(requester: MakeRequester) -> None:
    """A fallback in the middle of a run goes on without it, also to a model that cannot reason."""
    with FakeResponses([look_up("a"), status(404), status(404), "done"]) as fake:
        result = await ask(requester(fake, [RESPONSES, OTHER, PLAIN]), False, HELLO)
    assert (result.text, result.model) == ("done", "openai/gpt-4.1")
    assert [kinds(fake, number).count("reasoning") for number in (1, 2, 3)] == [1, 0, 0]
    assert kinds(fake, 3) == ["user", "function_call", "function_call_output"]


async def test_reasoning_is_not_sent_to_another_server(requester: MakeRequester) -> None:
    """A model of the same name elsewhere is not the one that can read it."""
    elsewhere = f"{RESPONSES}&baseURL=http://localhost:1234/v1"
    with FakeResponses([look_up("a"), "one"]) as here, FakeResponses(["two"]) as there:
        history = (await ask(requester(here, RESPONSES), False, HELLO)).history
        await ask(requester(there, elsewhere), False, [*history, Message.user("more")])
    assert kinds(here, 1).count("reasoning") == 1
    assert kinds(there, 0).count("reasoning") == 0


async def test_a_session_of_another_model_goes_on(requester: MakeRequester) -> None:
    """Its calls and results are sent, its reasoning waits for its own model."""
    with FakeResponses([look_up("a"), "one", look_up("b"), "two", "three"]) as fake:
        history = (await ask(requester(fake, RESPONSES), False, HELLO)).history
        history = [*history, Message.user("more")]
        history = (await ask(requester(fake, OTHER), False, history)).history
        await ask(requester(fake, RESPONSES), False, [*history, Message.user("again")])
    assert [kinds(fake, number).count("reasoning") for number in (2, 3, 4)] == [0, 1, 1]


async def test_a_turn_cut_off_while_thinking_leaves_a_history_that_can_be_sent(
    requester: MakeRequester,
) -> None:
    """Reasoning that led to nothing is no turn."""
    with FakeResponses([reasoned(answer(None, finish_reason="length")), "hi"]) as fake:
        llm = requester(fake, RESPONSES)
        first = await llm(HELLO)
        await llm([*first.history, Message.user("go on")])
    assert first.finish_reason == "length"
    assert kinds(fake, 1) == ["user"]


async def test_an_answer_that_does_not_fit_is_corrected(requester: MakeRequester) -> None:
    """Reasoning and all: the wrong answer and what is wrong go back."""
    wrong = reasoned(answer('{"word":"x"}'))
    with FakeResponses([wrong, '{"word":"x","level":3}']) as fake:
        result = await requester(fake, RESPONSES)(HELLO, schema=Word)
    assert result.result == Word(word="x", level=3)
    assert kinds(fake, 1) == ["user", "reasoning", "assistant", "user"]
    assert "level" in fake.requests[1]["input"][-1]["content"]


async def test_a_refusal_ends_the_run_without_a_correction(requester: MakeRequester) -> None:
    """Asking again would be refused again; the reason is in the step."""
    with FakeResponses([answer(None, extra={"refusal": "I will not."})]) as fake:
        result = await requester(fake, RESPONSES)(HELLO, schema=Word)
    assert (result.finish_reason, result.steps[0].detail) == ("refused", "I will not.")


@pytest.mark.parametrize(
    ("reason", "finish"), [("length", "length"), ("content_filter", "blocked")]
)
@pytest.mark.parametrize("streaming", [False, True])
async def test_a_reply_that_ends_early_is_told(
    reason: str, finish: str, streaming: bool, requester: MakeRequester
) -> None:
    """With what came so far."""
    with FakeResponses([answer("Hel", finish_reason=reason)]) as fake:
        result = await ask(requester(fake, RESPONSES), streaming, HELLO)
    assert (result.finish_reason, result.text) == (finish, "Hel")


async def test_images_reach_the_model(requester: MakeRequester) -> None:
    """From the user, and from a tool."""
    image = Image("image/png", PIXEL)

    @tool
    async def draw() -> Image:
        """Draw a pixel."""
        return image

    with FakeResponses([calls(("draw", {})), "a pixel"]) as fake:
        message = Message("user", (Text("what is it?"), image))
        await requester(fake, RESPONSES)([message], tools=ToolRegistry([draw]))
    question, _, drawn = fake.requests[1]["input"]
    assert question["content"][1] == drawn["output"][0]
    assert drawn["output"][0]["image_url"].endswith(PIXEL)


async def test_usage_is_counted_over_all_steps(requester: MakeRequester) -> None:
    """Cached input and reasoning are parts of their sums."""
    used = usage(100, 20, cached=60, reasoning=15)
    with FakeResponses(
        [calls(("get_word", {"word": "a"}), usage=used), answer("x", usage=used)]
    ) as fake:
        result = await ask(requester(fake, RESPONSES), True, HELLO)
    total = result.usage
    assert (total.input_tokens, total.cache_read_tokens) == (200, 120)
    assert (total.output_tokens, total.reasoning_tokens) == (40, 30)


async def test_shown_reasoning_is_in_the_reply(requester: MakeRequester) -> None:
    """Where the server shows a summary, it can be read."""
    with FakeResponses([reasoned(answer("hi"), "let me think")]) as fake:
        result = await requester(fake, RESPONSES)(HELLO)
    thinking, _ = result.steps[0].message.parts
    assert isinstance(thinking, Thinking)
    assert thinking.text == "let me think"


def test_one_requester_serves_one_loop_after_another() -> None:
    """The SDK's client belongs to a loop, so each gets its own."""
    with FakeResponses(["one", "two"]) as fake:
        llm = create_llm_requester(RESPONSES, transport=fake.transport)

        async def run() -> str:
            async with llm:
                return (await llm(HELLO)).text

        texts = [asyncio.run(run()) for _ in range(2)]
    assert texts == ["one", "two"]
