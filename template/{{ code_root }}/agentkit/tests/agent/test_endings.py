"""How a run ends other than with an answer, and that the conversation goes on after each."""

from __future__ import annotations

import pytest

from ...agent.agent import Agent
from ...llm.result import Limits
from ...messages import Image
from ...tools.tool import tool
from ..conftest import MakeRequester
from ..fake_chat import FakeChat, Rules, calls, status, usage
from .words import KEY, LOOK_UP, STRICT, get_word, roles, sent


@pytest.mark.checklist("agent")
async def test_a_run_that_reaches_max_steps_can_go_on(requester: MakeRequester) -> None:
    """It ends with every call answered, says why, and the next question is accepted."""
    with FakeChat([calls(LOOK_UP), calls(LOOK_UP), "Everywhere."], rules=STRICT) as fake:
        agent = Agent(requester(fake), tools=[get_word], max_steps=2)
        result = await agent.run("What is ubiquitous?")
        assert (result.finish_reason, roles(agent.get_history())[-1]) == ("max_steps", "tool")
        assert await agent.chat("next") == "Everywhere."


async def test_a_run_that_reaches_its_limit_can_go_on(requester: MakeRequester) -> None:
    """The call that passes the limit is the last one, its tools still run, the session goes on."""
    with FakeChat([calls(LOOK_UP, usage=usage(900, 200)), "Hello!"], rules=STRICT) as fake:
        agent = Agent(requester(fake), tools=[get_word], limits=Limits(tokens=1_000))
        assert (await agent.run("What is ubiquitous?")).finish_reason == "limit"
        assert await agent.chat("next") == "Hello!"
    assert len(fake.requests) == 2


@pytest.mark.parametrize("name", ["get_word", "draw"])
async def test_mistral_gets_an_answer_between_results_and_the_user(
    requester: MakeRequester, name: str
) -> None:
    """It refuses a user turn right after tool results, which is what follows a limit or images."""

    @tool
    def draw(word: str) -> Image:
        """Draw a word."""
        return Image("image/png", "aGk=")

    mistral = Rules(output_limit="max_tokens", alternation=True, user_after_tool=False)
    with FakeChat([calls((name, {"word": "ubiquitous"})), "Everywhere."], rules=mistral) as fake:
        agent = Agent(requester(fake, f"mistral/m{KEY}"), tools=[get_word, draw], max_steps=1)
        await agent.run("What is ubiquitous?")
        assert await agent.chat("next") == "Everywhere."


async def test_a_model_that_fails_is_replaced_for_the_rest_of_the_run(
    requester: MakeRequester,
) -> None:
    """With several URIs the next one goes on with the same conversation; a new run starts over."""
    models = [f"openai/first{KEY}", f"openai/second{KEY}"]
    with FakeChat([status(401), calls(LOOK_UP), "Everywhere.", "Bye."], rules=STRICT) as fake:
        agent = Agent(requester(fake, models), tools=[get_word])
        result = await agent.run("What is ubiquitous?")
        await agent.run("Thanks")
    assert [r["model"] for r in fake.requests] == ["first", "second", "second", "first"]
    assert result.model == "openai/second"
    assert sent(fake, 0) == sent(fake, 1)
