"""The requester's face: what it takes and refuses, settings, contexts, loops, and cancellation."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from ...errors import ConfigError
from ...llm.events import ToolStarted
from ...llm.providers.offline import ScriptedProvider
from ...llm.requester import create_llm_requester
from ...llm.result import Limits
from ...messages import Message
from ...observability.cost_tracker import CostTracker
from ...observability.logger import Logger
from ...observability.records import RunFinished, RunStarted
from ...observability.run_context import RunContext, create_run_context
from ...retry import Backoff
from ...tools.registry import ToolRegistry
from ...tools.tool import ToolContext, tool
from ..conftest import MODEL, MakeRequester
from ..fake_chat import FakeChat, Rules, calls, hang, status

HELLO = [Message.user("hello")]


@tool
async def sleepy() -> str:
    """Sleep for an hour."""
    await asyncio.sleep(3600)
    return "awake"


@pytest.mark.parametrize(
    ("messages", "more", "problem"),
    [
        ([], {}, "nothing to answer"),
        ([Message.system("be nice")], {}, "nothing to answer"),
        (HELLO, {"max_steps": 0}, "max_steps must be at least 1"),
        (HELLO, {"settings": {"maxTokens": 1}}, "unknown setting 'maxTokens'; known: max_tokens"),
        (HELLO, {"settings": {"top_k": 1}}, "openai does not take top_k"),
        (HELLO, {"tools": [print]}, "put @tool above the function"),
        (HELLO, {"tools": [sleepy, sleepy]}, "two tools are named 'sleepy'"),
        (HELLO, {"schema": {"type": "object"}}, "schema: pass a type"),
    ],
)
async def test_a_wrong_argument_is_refused_before_any_request(
    messages: list[Message], more: dict[str, Any], problem: str, requester: MakeRequester
) -> None:
    """One line says what is wrong."""
    with FakeChat([]) as fake:
        llm = requester(fake)
        with pytest.raises(ConfigError, match=problem) as caught:
            await llm(messages, **more)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("limit", [{"cost_usd": 0}, {"cost_usd": -1.0}, {"tokens": 0}])
def test_a_limit_of_nothing_is_refused(limit: dict[str, Any]) -> None:
    """It would end every run before it began."""
    with pytest.raises(ConfigError, match="must be more than 0"):
        Limits(**limit)


def test_a_list_of_no_models_is_refused() -> None:
    """There is nothing to fall back from."""
    with pytest.raises(ConfigError, match="no model URI given"):
        create_llm_requester([])


def test_a_bad_model_is_refused_when_it_is_configured() -> None:
    """Not at the first request: also when it only stands in."""
    with pytest.raises(ConfigError, match="unknown parameter"):
        create_llm_requester([MODEL, "openai/m?tempreature=1"])


@pytest.mark.parametrize("value", [0, 0.0, 1.5])
async def test_settings_of_a_run_override_those_of_the_uri(
    value: float, requester: MakeRequester
) -> None:
    """Also with nothing: 0 is a temperature."""
    with FakeChat(["hi"]) as fake:
        await requester(fake, MODEL + "&temperature=0.7&seed=3")(
            HELLO, settings={"temperature": value}
        )
    assert fake.requests[0]["temperature"] == value
    assert fake.requests[0]["seed"] == 3


async def test_none_takes_a_setting_back(requester: MakeRequester) -> None:
    """A parameter that a server refuses need not be sent."""
    with FakeChat(["hi"], rules=Rules(temperature=False)) as fake:
        await requester(fake, MODEL + "&temperature=0.7")(HELLO, settings={"temperature": None})
    assert "temperature" not in fake.requests[0]


async def test_every_setting_reaches_the_wire(requester: MakeRequester) -> None:
    """What a URI says is sent, under the wire's names."""
    query = "&maxTokens=50&temperature=0.3&topP=0.9&stop=END&stop=FIN&seed=7&reasoning=low"
    with FakeChat(["hi"]) as fake:
        await requester(fake, MODEL + query)(HELLO)
    sent = {name: fake.requests[0][name] for name in fake.requests[0].keys() - {"messages"}}
    assert sent == {
        "model": "gpt-5-mini",
        "max_completion_tokens": 50,
        "temperature": 0.3,
        "top_p": 0.9,
        "stop": ["END", "FIN"],
        "seed": 7,
        "reasoning_effort": "low",
    }


async def test_nobody_listening_means_no_stream(requester: MakeRequester) -> None:
    """One POST, one reply; `stream()` streams."""
    with FakeChat(["hi", "hi"]) as fake:
        llm = requester(fake)
        await llm(HELLO)
        async for _ in llm.stream(HELLO):
            pass
    assert "stream" not in fake.requests[0]
    assert fake.requests[1]["stream"] is True


async def test_a_registry_of_tools_is_taken_as_it_is(requester: MakeRequester) -> None:
    """Its tools are those of the run."""
    with FakeChat(["hi"]) as fake:
        await requester(fake)(HELLO, tools=ToolRegistry([sleepy]))
    assert fake.requests[0]["tools"][0]["function"]["name"] == "sleepy"


async def test_a_run_may_have_a_context_of_its_own(
    requester: MakeRequester, ctx: RunContext, logger: Logger, tmp_path: Path
) -> None:
    """Its files and records go there, and its tools see it."""
    seen = []

    @tool
    async def look(ctx: ToolContext) -> str:
        """Look."""
        seen.append(ctx.run)
        return "seen"

    own = create_run_context(logger, tmp_path / "own")
    with FakeChat([calls(("look", {})), "hi"]) as fake:
        await requester(fake)(HELLO, tools=[look], ctx=own)
    assert seen == [own]
    assert list(own.run_dir.rglob("*.yaml"))
    assert not ctx.run_dir.exists()


async def test_observers_are_told_of_the_run(requester: MakeRequester, ctx: RunContext) -> None:
    """Its start with its name, its end with the outcome."""
    records: list[Any] = []
    ctx.observers.append(records.append)
    with FakeChat(["hi"]) as fake:
        await requester(fake)(HELLO, identifier="plan")
    first, last = records[0], records[-1]
    assert isinstance(first, RunStarted)
    assert isinstance(last, RunFinished)
    assert (first.identifier, first.parent, first.run) == ("plan", None, last.run)
    assert (last.finish_reason, last.error, last.steps) == ("stop", None, 1)


async def test_many_runs_at_once_do_not_mix(requester: MakeRequester, costs: CostTracker) -> None:
    """One requester serves them all; each result has its own sums."""
    with FakeChat([f"answer {number}" for number in range(20)]) as fake:
        llm = requester(fake)
        results = await asyncio.gather(*(llm([Message.user(f"q{n}")]) for n in range(20)))
    assert len({result.text for result in results}) == 20
    assert {result.usage.total_tokens for result in results} == {120}
    assert costs.get_report()["total_tokens"] == 2400


def test_one_requester_serves_several_event_loops(tmp_path: Path) -> None:
    """Clients belong to a loop: a second `asyncio.run` gets new ones."""
    with FakeChat(["one", "two"]) as fake:
        ctx = create_run_context(debug_dir=tmp_path)
        llm = create_llm_requester(MODEL, ctx=ctx, transport=fake.transport)
        texts = [asyncio.run(llm(HELLO)).text for _ in range(2)]
    assert texts == ["one", "two"]


async def test_a_provider_can_be_given() -> None:
    """It answers instead of the URI's own, which then needs no key."""
    with ScriptedProvider(["scripted"]) as provider:
        async with create_llm_requester("openai/m", provider=provider) as llm:
            assert (await llm(HELLO)).text == "scripted"


async def cancelled(task: asyncio.Task[Any]) -> bool:
    """Cancel a task and tell whether it ended so, at once."""
    began = asyncio.get_running_loop().time()
    task.cancel()
    await asyncio.wait([task])
    return task.cancelled() and asyncio.get_running_loop().time() == began


@pytest.mark.virtual_time
@pytest.mark.parametrize(
    ("replies", "requests"),
    [([hang], 1), ([calls(("sleepy", {}))], 1), ([status(503, {"retry-after": "50"})], 1)],
)
@pytest.mark.parametrize("deltas", [False, True])
async def test_a_cancelled_run_ends_at_once(
    replies: list[Any], requests: int, deltas: bool, requester: MakeRequester
) -> None:
    """During a call, a tool or a wait: no further request, nothing left open."""

    async def run() -> None:
        llm = requester(fake, MODEL + "&timeout=90000", backoff=Backoff())
        async with aclosing(llm.stream(HELLO, tools=[sleepy], deltas=deltas)) as events:
            async for _ in events:
                pass

    with FakeChat(replies) as fake:
        task = asyncio.create_task(run())
        await asyncio.sleep(1)
        assert await cancelled(task)
    assert len(fake.bodies) == requests


@pytest.mark.virtual_time
async def test_an_abandoned_stream_cancels_its_tools(requester: MakeRequester) -> None:
    """A consumer that goes away leaves nothing running."""
    ended = []

    @tool
    async def endless() -> None:
        """Never end."""
        try:
            await asyncio.sleep(3600)
        finally:
            ended.append(True)

    with FakeChat([calls(("endless", {}))]) as fake:
        events = requester(fake).stream(HELLO, tools=[endless])
        async for event in events:
            if isinstance(event, ToolStarted):
                await asyncio.sleep(1)
                break
        await events.aclose()
    assert ended == [True]
