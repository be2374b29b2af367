"""Agents as tools of other agents: what they share, and what they do not."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from ...agent.agent import Agent
from ...llm.result import Limits
from ...observability.cost_tracker import CostTracker
from ...observability.run_context import RunContext, create_run_context
from ...session.store import Session
from ...tools.tool import ToolContext, tool
from ..conftest import MODEL, MakeRequester
from ..fake_chat import FakeChat, answer, calls, usage
from .words import STRICT, get_word, texts

ASK = ("expert", {"question": "What does ubiquitous mean?"})
FREE = MODEL.replace("gpt-5-mini", "a-model-without-a-price")


def expert(make: MakeRequester, fake: FakeChat, ctx: RunContext | None = None) -> Agent:
    """Return the agent that is asked."""
    return Agent(make(fake, ctx=ctx), system_prompt="You know words.", tools=[get_word])


async def test_an_agent_answers_as_a_tool(requester: MakeRequester) -> None:
    """Its answer is the tool's result, and its description is what the model is told."""
    with FakeChat([calls(ASK), "Everywhere.", "It means everywhere."], rules=STRICT) as fake:
        sub = expert(requester, fake).as_tool("expert", "Knows all words.")
        agent = Agent(requester(fake), tools=[sub])
        assert await agent.chat("Ask the expert") == "It means everywhere."
    function = fake.requests[0]["tools"][0]["function"]
    assert (function["name"], function["description"]) == ("expert", "Knows all words.")
    assert list(function["parameters"]["properties"]) == ["question"]
    assert texts(fake, 1) == ["You know words.", "What does ubiquitous mean?"]
    assert texts(fake, 2)[-1] == "Everywhere."


async def test_each_call_of_a_sub_agent_is_a_conversation_of_its_own(
    requester: MakeRequester,
) -> None:
    """Two questions at once know nothing of each other, and nothing of them stays behind."""
    with FakeChat([calls(ASK, ASK), "one", "two", "Done."], rules=STRICT) as fake:
        asked = expert(requester, fake)
        agent = Agent(requester(fake), tools=[asked.as_tool("expert", "Knows words.")])
        await agent.run("Ask twice")
    assert len(texts(fake, 1)) == len(texts(fake, 2)) == 2
    assert await asked.store.list() == []


@pytest.mark.checklist("costs")
async def test_what_a_sub_agent_spends_counts_for_the_run_that_asked(
    requester: MakeRequester, costs: CostTracker
) -> None:
    """Tokens and money of the result include those of the runs inside its tools."""
    inner = answer("Everywhere.", usage=usage(1_000, 100))
    with FakeChat(
        [calls(ASK, usage=usage(10, 1)), inner, answer("So.", usage=usage(20, 2))]
    ) as fake:
        agent = Agent(requester(fake), tools=[expert(requester, fake).as_tool("expert", "Knows.")])
        result = await agent.run("Ask the expert")
    assert (result.input_tokens, result.output_tokens) == (1_030, 103)
    report = costs.get_report()
    assert report["total_tokens"] == 1_133
    assert report["total_cost"] == pytest.approx(result.estimated_cost)


async def test_a_sub_agent_of_unknown_price_makes_the_cost_unknown(
    requester: MakeRequester,
) -> None:
    """A sum with an unknown part is not shown as if it were known."""
    with FakeChat([calls(ASK), "Everywhere.", "So."]) as fake:
        asked = Agent(requester(fake, FREE))
        agent = Agent(requester(fake), tools=[asked.as_tool("expert", "Knows words.")])
        result = await agent.run("Ask the expert")
    assert result.estimated_cost is None


async def test_limits_include_what_sub_agents_spend(requester: MakeRequester) -> None:
    """The run ends before its next call once a sub-agent used up the rest."""
    inner = answer("Everywhere.", usage=usage(1_000, 100))
    with FakeChat([calls(ASK, usage=usage(10, 1)), inner]) as fake:
        asked = expert(requester, fake).as_tool("expert", "Knows words.")
        agent = Agent(requester(fake), tools=[asked], limits=Limits(tokens=1_000))
        result = await agent.run("Ask the expert")
    assert result.finish_reason == "limit"
    assert result.tool_results[0].text == "Everywhere."


async def test_a_sub_agent_keeps_a_limit_of_its_own(requester: MakeRequester) -> None:
    """What the asking run spent before does not count against it."""
    first = calls(ASK, usage=usage(5_000, 100))
    with FakeChat([first, calls(("get_word", {"word": "ubiquitous"})), "E.", "So."]) as fake:
        limits = Limits(tokens=1_000)
        asked = Agent(requester(fake), tools=[get_word], limits=limits)
        agent = Agent(requester(fake), tools=[asked.as_tool("expert", "Knows words.")])
        result = await agent.run("Ask the expert")
    assert result.tool_results[0].text == "E."


async def test_a_run_inside_any_tool_counts(requester: MakeRequester) -> None:
    """Also one that a tool starts itself, in a task of its own."""
    with FakeChat([calls(("ask", {})), answer("E.", usage=usage(500, 1)), "So."]) as fake:
        asked = Agent(requester(fake))

        @tool
        async def ask() -> str:
            """Ask somebody else."""
            return await asyncio.create_task(asked.chat("What is it?"))

        result = await Agent(requester(fake), tools=[ask]).run("Ask")
    assert result.input_tokens == 700


@pytest.mark.checklist("artifacts")
async def test_the_files_of_a_sub_agent_are_those_of_the_conversation(
    requester: MakeRequester, ctx: RunContext, tmp_path: Path
) -> None:
    """Its calls are logged under the run that asked, not in a directory of its own."""
    own = create_run_context(ctx.logger, debug_dir=tmp_path / "debug", run_id="own")
    with FakeChat([calls(ASK), "Everywhere.", "So."]) as fake:
        asked = expert(requester, fake, own)
        agent = Agent(requester(fake), tools=[asked.as_tool("expert", "Knows words.")])
        await agent.run("Ask the expert")
    assert len(list(ctx.run_dir.glob("agent/*.yaml"))) == 3
    assert not own.run_dir.exists()


async def test_a_sub_agent_knows_who_asks(requester: MakeRequester) -> None:
    """User and metadata of the conversation reach its prompt and its tools."""
    seen: list[ToolContext] = []

    def prompt(context: ToolContext) -> str:
        seen.append(context)
        return "You know words."

    with FakeChat([calls(ASK), "Everywhere.", "So."]) as fake:
        asked = Agent(requester(fake), system_prompt=prompt)
        agent = Agent(requester(fake), tools=[asked.as_tool("expert", "Knows words.")])
        await agent.run("Ask the expert", Session("s", "ann", {"level": "B2"}))
    assert (seen[0].user_id, seen[0].metadata) == ("ann", {"level": "B2"})
    assert seen[0].session_id != "s"


async def test_a_sub_agent_that_fails_is_a_tool_that_fails(requester: MakeRequester) -> None:
    """The model that asked reads why, and goes on."""
    refusal = answer(extra={"refusal": "I will not do that."})
    with FakeChat([calls(ASK), refusal, "It refused."], rules=STRICT) as fake:
        agent = Agent(requester(fake), tools=[expert(requester, fake).as_tool("expert", "Knows.")])
        result = await agent.run("Ask the expert")
    assert result.text == "It refused."
    assert result.tool_results[0].is_error
    assert "I will not do that." in result.tool_results[0].text
