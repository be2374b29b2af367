"""The loop at the wire: tools run once and in order, every call is answered, and it always ends."""

from __future__ import annotations

from typing import Any

import pytest

from ...errors import ConnectionFailed
from ...llm.events import Appended, Finished, Retrying, TextDelta, ToolFinished, ToolStarted
from ...llm.result import Limits
from ...messages import Message, Text, ToolCall, ToolResult, Usage
from ...tools.tool import tool
from ..conftest import MakeRequester
from ..fake_chat import (
    FakeChat,
    Rules,
    answer,
    calls,
    reset_after_headers,
    status,
    truncated,
    usage,
)

HELLO = [Message.system("You are short."), Message.user("What does ubiquitous mean?")]
STRICT = Rules(alternation=True)
WORD = ("get_word", {"word": "ubiquitous"})


@tool
async def get_word(word: str) -> str:
    """Look up a word."""
    return f"{word}: everywhere"


@tool
async def fail(why: str) -> str:
    """Fail."""
    raise RuntimeError(why)


def roles(fake: FakeChat, number: int) -> list[str]:
    """Return the roles of a request's messages, counted from 0."""
    return [message["role"] for message in fake.requests[number]["messages"]]


@pytest.mark.parametrize("deltas", [False, True])
async def test_a_tool_is_run_and_its_result_sent(deltas: bool, requester: MakeRequester) -> None:
    """Question, call, result, answer: in this order in request and history."""
    with FakeChat([calls(WORD), "It means everywhere."], rules=STRICT) as fake:
        stream = requester(fake).stream(HELLO, tools=[get_word], deltas=deltas)
        last = [event async for event in stream][-1]
    assert isinstance(last, Finished)
    assert roles(fake, 1) == ["system", "user", "assistant", "tool"]
    assert fake.requests[1]["messages"][3]["content"] == "ubiquitous: everywhere"
    assert [m.role for m in last.result.new_messages] == ["assistant", "tool", "assistant"]
    assert last.result.history == [*HELLO, *last.result.new_messages]
    assert last.result.text == "It means everywhere."


async def test_a_second_turn_after_a_tool_call_is_accepted(requester: MakeRequester) -> None:
    """The history of a result is the list to go on with."""
    with FakeChat([calls(WORD), "Everywhere.", "You asked for it."], rules=STRICT) as fake:
        llm = requester(fake)
        result = await llm(HELLO, tools=[get_word])
        await llm([*result.history, Message.user("Why?")], tools=[get_word])
    assert roles(fake, 2) == ["system", "user", "assistant", "tool", "assistant", "user"]


async def test_the_callers_list_is_not_changed(requester: MakeRequester) -> None:
    """Neither with tools nor after a failure."""
    messages = list(HELLO)
    with FakeChat([calls(WORD), status(401)]) as fake:
        llm = requester(fake)
        with pytest.raises(Exception, match="401"):
            await llm(messages, tools=[get_word])
    assert messages == HELLO


@pytest.mark.checklist("costs")
async def test_everything_is_summed_over_the_steps(requester: MakeRequester) -> None:
    """Tokens, calls and results of all steps, not only of the last one."""
    replies = [calls(WORD, usage=usage(10, 5)), calls(WORD, WORD), answer("x", usage=usage(30, 5))]
    with FakeChat(replies) as fake:
        result = await requester(fake)(HELLO, tools=[get_word])
    assert result.usage == Usage(140, 30)
    assert (result.input_tokens, result.output_tokens) == (140, 30)
    assert len(result.tool_calls) == len(result.tool_results) == 3
    assert len(result.steps) == 3
    assert result.estimated_cost == pytest.approx((140 * 0.25 + 30 * 2) / 1e6)
    assert result.model == "openai/gpt-5-mini"


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (("serch", {"q": "x"}), "There is no tool named 'serch'. Known tools: fail, get_word."),
        (("functions.get word", {}), "There is no tool named 'functions.get word'"),
        (("", {}), "There is no tool named ''"),
        (("get_word", '{"word": "a'), "The arguments were no JSON object"),
        (("get_word", "[1]"), "The arguments were no JSON object"),
        (("get_word", '{"word": NaN}'), "The arguments were no JSON object"),
        (("get_word", {}), "word: "),
        (("get_word", {"word": "a", "extra": 1}), "extra: "),
        (("get_word", {"word": [1]}), "word: "),
        (("fail", {"why": "disk full"}), "RuntimeError: disk full"),
    ],
)
@pytest.mark.parametrize("deltas", [False, True])
async def test_a_call_that_fails_is_told_to_the_model(
    call: Any, told: str, deltas: bool, requester: MakeRequester
) -> None:
    """The loop goes on, and the next request is one that the server accepts."""
    with FakeChat([calls(call, ids=["c1"]), "sorry"], rules=STRICT) as fake:
        stream = requester(fake).stream(HELLO, tools=[get_word, fail], deltas=deltas)
        last = [event async for event in stream][-1]
    assert isinstance(last, Finished)
    assert last.result.text == "sorry"
    sent = fake.requests[1]["messages"][-1]
    assert sent["tool_call_id"] == "c1"
    assert told in sent["content"]
    assert sent["content"].startswith("Error: ")


@pytest.mark.parametrize("arguments", ["", "null", "{}"])
async def test_a_tool_without_arguments_is_run(arguments: str, requester: MakeRequester) -> None:
    """However the model writes that there are none."""

    @tool
    async def ping() -> str:
        """Ping."""
        return "pong"

    with FakeChat([calls(("ping", arguments)), "done"]) as fake:
        await requester(fake)(HELLO, tools=[ping])
    assert fake.requests[1]["messages"][-1]["content"] == "pong"
    assert fake.requests[0]["tools"][0]["function"]["parameters"]["properties"] == {}


@pytest.mark.checklist("requester")
@pytest.mark.parametrize("fault", [status(500), truncated, reset_after_headers])
@pytest.mark.parametrize("deltas", [False, True])
async def test_a_retry_never_runs_a_tool_twice(
    fault: Any, deltas: bool, requester: MakeRequester
) -> None:
    """Only the failed request is repeated, with the finished pair in it."""
    charged = []

    @tool
    async def charge() -> str:
        """Charge the card."""
        charged.append(1)
        return "charged"

    with FakeChat([calls(("charge", {})), fault, "done"]) as fake:
        stream = requester(fake).stream(HELLO, tools=[charge], deltas=deltas)
        last = [event async for event in stream][-1]
    assert isinstance(last, Finished)
    assert (last.result.text, charged) == ("done", [1])
    assert fake.requests[1] == fake.requests[2]
    assert roles(fake, 2)[-2:] == ["assistant", "tool"]


async def test_an_error_carries_what_was_finished(requester: MakeRequester) -> None:
    """After a failure for good, the pair and what it cost are still there."""
    with FakeChat([calls(WORD, ids=["c1"]), *[reset_after_headers] * 3]) as fake:
        llm = requester(fake)
        with pytest.raises(ConnectionFailed) as caught:
            await llm(HELLO, tools=[get_word])
    assert [message.role for message in caught.value.messages] == ["assistant", "tool"]
    assert caught.value.usage == Usage(100, 20)
    assert caught.value.attempts == 3
    assert caught.value.cost == pytest.approx((100 * 0.25 + 20 * 2) / 1e6)


@pytest.mark.parametrize("steps", [1, 2])
async def test_max_steps_ends_with_every_call_answered(
    steps: int, requester: MakeRequester
) -> None:
    """A model that always calls a tool is stopped, and the conversation can go on."""
    with FakeChat([*[calls(WORD)] * steps, "fine"], rules=STRICT) as fake:
        llm = requester(fake)
        result = await llm(HELLO, tools=[get_word], max_steps=steps)
        assert (result.finish_reason, len(fake.bodies)) == ("max_steps", steps)
        assert result.history[-1].role == "tool"
        await llm([*result.history, Message.user("go on")])


@pytest.mark.parametrize("limits", [Limits(tokens=120), Limits(cost_usd=1e-9)])
async def test_a_limit_ends_with_every_call_answered(
    limits: Limits, requester: MakeRequester
) -> None:
    """It is checked before each call, so the call that reaches it is the last one."""
    with FakeChat([calls(WORD), "fine"], rules=STRICT) as fake:
        llm = requester(fake)
        result = await llm(HELLO, tools=[get_word], limits=limits)
        assert (result.finish_reason, len(fake.bodies)) == ("limit", 1)
        assert result.history[-1].role == "tool"
        await llm([*result.history, Message.user("go on")])


async def test_open_calls_of_the_past_are_closed_before_sending(requester: MakeRequester) -> None:
    """Whatever happened before, the request passes a strict check."""
    broken = [
        *HELLO,
        Message("assistant", (ToolCall("c1", "t"), ToolCall("c2", "t"))),
        Message("tool", (ToolResult("c2", "t", (Text("r"),)),)),
        Message("assistant", ()),
        Message.user("and?"),
    ]
    with FakeChat(["fine"], rules=STRICT) as fake:
        result = await requester(fake)(broken)
    assert roles(fake, 0) == ["system", "user", "assistant", "tool", "tool", "user"]
    assert "interrupted, may have run" in fake.requests[0]["messages"][3]["content"]
    assert result.history[:4] == [*broken[:3], result.history[3]]


async def test_ids_that_repeat_are_no_problem(requester: MakeRequester) -> None:
    """Some servers count from zero in every reply, or give all calls one id."""
    again = calls(WORD, ids=["call_0"])
    with FakeChat([again, again, calls(WORD, WORD, ids=["x", "x"]), "done"], rules=STRICT) as fake:
        result = await requester(fake)(HELLO, tools=[get_word])
    assert result.text == "done"
    assert len(result.tool_results) == 4


async def test_messages_are_appended_before_what_follows_from_them(
    requester: MakeRequester,
) -> None:
    """The reply before its tools run, all results before the next call, the answer at the end."""
    with FakeChat([calls(WORD, text="Let me see."), "Everywhere."]) as fake:
        events = [event async for event in requester(fake).stream(HELLO, tools=[get_word])]
    kinds = [type(event) for event in events if not isinstance(event, TextDelta)]
    assert kinds == [Appended, ToolStarted, ToolFinished, Appended, Appended, Finished]
    appended = [event.messages for event in events if isinstance(event, Appended)]
    assert [message.role for (message,) in appended] == ["assistant", "tool", "assistant"]
    assert isinstance(events[-1], Finished)
    assert [message for (message,) in appended] == events[-1].result.new_messages


async def test_a_retry_voids_only_the_deltas_of_its_own_call(requester: MakeRequester) -> None:
    """What an earlier step said has been appended and stays."""
    with FakeChat([calls(WORD, text="Let me see."), truncated, "Everywhere."]) as fake:
        events = [event async for event in requester(fake).stream(HELLO, tools=[get_word])]
    retry = next(i for i, event in enumerate(events) if isinstance(event, Retrying))
    before = [event for event in events[:retry] if isinstance(event, Appended)]
    assert [message.role for event in before for message in event.messages] == ["assistant", "tool"]
    assert isinstance(events[-1], Finished)
    assert events[-1].result.new_messages[0].text == "Let me see."
