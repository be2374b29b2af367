"""What a run does when the conversation or a model is not up to it: compaction and fallback."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import replace

import pytest

from ...errors import BadRequest, ContextTooLong
from ...llm.events import Finished, Retrying
from ...messages import Message
from ...session.compactor import SimpleHistoryCompactor
from ...tools.tool import tool
from ..conftest import MODEL, MakeRequester
from ..fake_chat import FakeChat, Rules, calls, error_body, hang, status, truncated

TOO_LONG = status(400, body=error_body("maximum context length is 8192 tokens"))
STRICT = Rules(alternation=True)
FIRST, SECOND = MODEL, "openai/gpt-4o-mini?apiKey=sk-test-0123456789&maxRetries=0"
LONG_TALK = [
    Message.system("SYS"),
    *(
        message
        for number in range(20)
        for message in (Message.user(f"{number} " + "q" * 100), Message.assistant("a" * 100))
    ),
    Message.user("newest"),
]


@tool
async def dump() -> str:
    """Return a lot."""
    return "x" * 5_000


def weight(fake: FakeChat, number: int) -> int:
    """Return the characters of a request's messages, counted from 0."""
    return sum(len(str(message["content"])) for message in fake.requests[number]["messages"])


class CountingCompactor(SimpleHistoryCompactor):
    """A compactor that counts its calls and the budgets it was given."""

    def __init__(self, max_symbols: int) -> None:
        super().__init__(max_symbols)
        self.budgets: list[int | None] = []

    async def compact(
        self, messages: Sequence[Message], max_symbols: int | None = None
    ) -> list[Message]:
        """Count and compact."""
        self.budgets.append(max_symbols)
        return await super().compact(messages, max_symbols)


async def test_the_compactor_is_asked_before_each_call(requester: MakeRequester) -> None:
    """Once per step, so that a big result is shortened within the run already."""
    compactor = CountingCompactor(2_000)
    with FakeChat([calls(("dump", {})), "done"], rules=STRICT) as fake:
        result = await requester(fake)(LONG_TALK, tools=[dump], compactor=compactor)
    assert compactor.budgets == [None, None]
    assert weight(fake, 0) <= 2_000
    assert weight(fake, 1) <= 2_000
    assert fake.requests[1]["messages"][0]["content"] == "SYS"
    assert result.text == "done"


async def test_history_is_compacted_and_the_transcript_is_not(requester: MakeRequester) -> None:
    """`history` is the list to go on with; `new_messages` is what happened."""
    with FakeChat([calls(("dump", {})), "done"], rules=STRICT) as fake:
        result = await requester(fake)(
            LONG_TALK, tools=[dump], compactor=SimpleHistoryCompactor(2_000)
        )
    assert len(result.new_messages[1].tool_results[0].text) == 5_000
    assert sum(message.weight for message in result.history) <= 2_000
    assert len(LONG_TALK) == 42


@pytest.mark.parametrize("own", [None, 1_000_000])
async def test_a_context_too_long_is_halved_once(own: int | None, requester: MakeRequester) -> None:
    """The provider knows its limit: half of what was sent, with or without a compactor."""
    compactor = None if own is None else CountingCompactor(own)
    with FakeChat([TOO_LONG, "done"], rules=STRICT) as fake:
        stream = requester(fake).stream(LONG_TALK, compactor=compactor)
        events = [event async for event in stream]
    assert weight(fake, 1) <= weight(fake, 0) / 2
    assert fake.requests[1]["messages"][0]["content"] == "SYS"
    assert fake.requests[1]["messages"][-1]["content"] == "newest"
    assert [event.delay for event in events if isinstance(event, Retrying)] == [0.0]
    assert isinstance(events[-1], Finished)
    assert len(events[-1].result.history) < len(LONG_TALK)


async def test_a_context_too_long_twice_is_an_error(requester: MakeRequester) -> None:
    """Two requests, then its own error with the status."""
    with FakeChat([TOO_LONG, TOO_LONG], rules=STRICT) as fake:
        llm = requester(fake)
        with pytest.raises(ContextTooLong) as caught:
            await llm(LONG_TALK)
    assert (caught.value.status, len(fake.bodies)) == (400, 2)


async def test_each_call_may_be_halved(requester: MakeRequester) -> None:
    """A later step that grew too long gets its own try."""
    step = calls(("dump", {}))
    with FakeChat([TOO_LONG, step, TOO_LONG, "done"], rules=STRICT) as fake:
        assert (await requester(fake)(LONG_TALK, tools=[dump])).text == "done"


@pytest.mark.parametrize("deltas", [False, True])
async def test_the_next_model_takes_over(
    deltas: bool, requester: MakeRequester, sleeps: list[float]
) -> None:
    """Each URI gets its own attempts; the result names the model that answered."""
    with FakeChat([status(503), status(503), status(503), "hi"]) as fake:
        stream = requester(fake, [FIRST, SECOND]).stream(LONG_TALK, deltas=deltas)
        last = [event async for event in stream][-1]
    models = [request["model"] for request in fake.requests]
    assert models == ["gpt-5-mini"] * 3 + ["gpt-4o-mini"]
    assert isinstance(last, Finished)
    assert last.result.model == "openai/gpt-4o-mini"
    assert sleeps == [1.0, 2.0]


async def test_a_fatal_error_falls_back_at_once(requester: MakeRequester) -> None:
    """Another provider may have a key that works."""
    with FakeChat([status(401), "hi"]) as fake:
        assert (await requester(fake, [FIRST, SECOND])(LONG_TALK)).text == "hi"


async def test_a_long_wait_falls_back_at_once(requester: MakeRequester) -> None:
    """A day is too long to wait, and the next model is there now."""
    with FakeChat([status(429, {"retry-after": "86400"}), "hi"]) as fake:
        assert (await requester(fake, [FIRST, SECOND])(LONG_TALK)).text == "hi"


async def test_the_fallback_is_told(requester: MakeRequester, log: io.StringIO) -> None:
    """Text of the first model is void; the log names the second one and the reason."""
    with FakeChat([truncated, "hi"]) as fake:
        first = FIRST + "&maxRetries=0"
        events = [event async for event in requester(fake, [first, SECOND]).stream(LONG_TALK)]
    assert len([event for event in events if isinstance(event, Retrying)]) == 1
    assert "trying openai/gpt-4o-mini: no reply from" in log.getvalue()


async def test_the_run_stays_with_the_model_it_fell_back_to(requester: MakeRequester) -> None:
    """Later steps do not try the broken one again; the next run does."""
    with FakeChat([status(401), calls(("dump", {})), "done", "again"]) as fake:
        llm = requester(fake, [FIRST, SECOND])
        await llm(LONG_TALK, tools=[dump])
        await llm(LONG_TALK)
    models = [request["model"] for request in fake.requests]
    assert models == ["gpt-5-mini", "gpt-4o-mini", "gpt-4o-mini", "gpt-5-mini"]


async def test_the_last_models_error_is_raised(requester: MakeRequester) -> None:
    """When all fail, the last failure is the one to look at."""
    with FakeChat([status(401), status(422)]) as fake:
        llm = requester(fake, [FIRST, SECOND])
        with pytest.raises(BadRequest, match="422"):
            await llm(LONG_TALK)


async def test_each_model_has_its_own_settings(requester: MakeRequester) -> None:
    """What is set in one URI is not sent to another model."""
    first, second = FIRST + "&temperature=1", SECOND + "&maxTokens=9"
    with FakeChat([status(401), "hi"]) as fake:
        await requester(fake, [first, second])(LONG_TALK, settings={"seed": 1})
    assert "max_completion_tokens" not in fake.requests[0]
    assert "temperature" not in fake.requests[1]
    assert [request["seed"] for request in fake.requests] == [1, 1]


@pytest.mark.virtual_time
async def test_a_model_that_hangs_is_fallen_back_from(requester: MakeRequester) -> None:
    """Its deadline is its own."""
    with FakeChat([hang, "hi"]) as fake:
        llm = requester(fake, [FIRST + "&timeout=1000&maxRetries=0", SECOND])
        assert (await llm(LONG_TALK)).text == "hi"


async def test_opaque_reasoning_survives_the_loop_and_stays_with_its_provider(
    requester: MakeRequester,
) -> None:
    """DeepSeek gets its reasoning back with the next step; the model that stands in does not."""
    rules = Rules(output_limit="max_tokens", message_fields=frozenset({"reasoning_content"}))
    thinking = replace(calls(("dump", {})), extra={"reasoning_content": "because"})
    models = ["deepseek/deepseek-chat?apiKey=sk-test-0123456789&maxRetries=0", SECOND]
    with FakeChat([thinking, status(503), "done"], rules=rules) as fake:
        await requester(fake, models)([Message.user("hi")], tools=[dump])
    steps = [request["messages"][1] for request in fake.requests[1:]]
    assert steps[0]["reasoning_content"] == "because"
    assert "reasoning_content" not in steps[1]
