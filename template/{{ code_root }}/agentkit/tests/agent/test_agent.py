"""The agent: one conversation with tools, its prompt, its inputs, and what it hands back."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from ...agent.agent import Agent
from ...errors import AgentError, ConfigError
from ...llm.providers.offline import ScriptedProvider
from ...messages import Image, Message, Text
from ...observability.cost_tracker import CostTracker
from ...observability.run_context import RunContext, create_run_context
from ...session.sqlite_store import SqliteSessionStore
from ...session.store import MemorySessionStore, SessionStore
from ...tools.registry import ToolRegistry
from ...tools.tool import tool
from ..conftest import MODEL, MakeRequester
from ..fake_chat import FakeChat, answer, calls, usage
from .words import LOOK_UP, STRICT, get_word, roles, sent, sent_roles

ECHO = "chat://offline/echo"


class Word(BaseModel):
    """A schema with one field."""

    word: str


@pytest.mark.checklist("agent")
async def test_every_intermediate_tool_message_stays_in_the_history(
    requester: MakeRequester,
) -> None:
    """Two steps with tools leave user, call, result, call, result and answer, in that order."""
    with FakeChat(
        [calls(LOOK_UP), calls(LOOK_UP, LOOK_UP), "It means everywhere."], rules=STRICT
    ) as fake:
        agent = Agent(requester(fake), tools=[get_word])
        await agent.run("What is ubiquitous?")
    history = agent.get_history()
    assert roles(history) == ["user", "assistant", "tool", "assistant", "tool", "assistant"]
    for called, answered in zip(history[1:4:2], history[2:5:2], strict=True):
        ids = [call.id for call in called.tool_calls]
        assert [result.call_id for result in answered.tool_results] == ids
    assert "everywhere at once" in history[2].tool_results[0].text


@pytest.mark.checklist("agent")
async def test_the_next_turn_sends_the_tool_messages_of_the_last(requester: MakeRequester) -> None:
    """A second question goes out behind the whole first turn, results included."""
    with FakeChat(
        [calls(LOOK_UP), "It means everywhere.", "You are welcome."], rules=STRICT
    ) as fake:
        agent = Agent(requester(fake), tools=[get_word], system_prompt="Be brief.")
        await agent.run("What is ubiquitous?")
        await agent.run("Thanks!")
    assert sent_roles(fake) == ["system", "user", "assistant", "tool", "assistant", "user"]
    assert sent(fake)[2]["tool_calls"][0]["function"]["name"] == "get_word"
    assert "everywhere at once" in sent(fake)[3]["content"]
    assert sent(fake)[:4] == sent(fake, 1)


async def test_the_result_covers_all_steps(requester: MakeRequester) -> None:
    """Tokens are the sum of the steps; calls, results, messages and steps are all there."""
    with FakeChat(
        [calls(LOOK_UP, usage=usage(10, 5)), answer("Done.", usage=usage(30, 7))]
    ) as fake:
        result = await Agent(requester(fake), tools=[get_word]).run("What is ubiquitous?")
    assert (result.text, result.result, result.finish_reason) == ("Done.", "Done.", "stop")
    assert (result.input_tokens, result.output_tokens) == (40, 12)
    assert [call.name for call in result.tool_calls] == ["get_word"]
    assert [r.call_id for r in result.tool_results] == [call.id for call in result.tool_calls]
    assert roles(result.new_messages) == ["assistant", "tool", "assistant"]
    assert len(result.steps) == 2


@pytest.mark.checklist("costs")
async def test_costs_add_up_over_the_turns(requester: MakeRequester, costs: CostTracker) -> None:
    """The tracker holds the sum of what the results say."""
    with FakeChat([calls(LOOK_UP), "Everywhere.", "Bye."]) as fake:
        agent = Agent(requester(fake), tools=[get_word])
        results = [await agent.run("What is ubiquitous?"), await agent.run("Thanks")]
    spent = sum(result.estimated_cost or 0 for result in results)
    assert spent > 0
    assert costs.get_report()["total_cost"] == pytest.approx(spent)
    assert costs.get_report()["request_count"] == 3


async def test_a_schema_gives_a_typed_answer(requester: MakeRequester) -> None:
    """`run` validates the answer; the conversation keeps its text."""
    with FakeChat(['{"word": "ubiquitous"}']) as fake:
        agent = Agent(requester(fake))
        result = await agent.run("Give me a word", schema=Word)
    assert result.result == Word(word="ubiquitous")
    assert agent.get_history()[-1].text == '{"word": "ubiquitous"}'


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (answer(extra={"refusal": "I will not do that."}), "refused"),
        (answer("So", finish_reason="content_filter"), "blocked"),
    ],
)
async def test_chat_raises_where_there_is_no_answer(
    requester: MakeRequester, reply: Any, reason: str
) -> None:
    """A refusal or a filter raises `AgentError`, which says how it ended and carries the result."""
    with FakeChat([reply]) as fake, pytest.raises(AgentError, match=reason) as raised:
        await Agent(requester(fake)).chat("Do something bad")
    assert raised.value.result.finish_reason == reason


async def test_run_returns_what_chat_raises(requester: MakeRequester) -> None:
    """`run` returns a refusal, and the next question is accepted."""
    refusal = answer(extra={"refusal": "I will not do that."})
    with FakeChat([refusal, "Hello!"], rules=STRICT) as fake:
        agent = Agent(requester(fake))
        assert (await agent.run("Do something bad")).finish_reason == "refused"
        assert await agent.chat("Hi") == "Hello!"


async def test_chat_returns_an_answer_that_was_cut_off(requester: MakeRequester) -> None:
    """Half an answer is an answer, and `chat` gives its text."""
    with FakeChat([answer("Once upon", finish_reason="length")]) as fake:
        assert await Agent(requester(fake)).chat("Tell me a story") == "Once upon"


async def test_tools_of_the_constructor_and_of_use_reach_the_call(
    requester: MakeRequester,
) -> None:
    """`use` adds tools to those of the constructor and can be chained."""

    @tool
    def first() -> str:
        """One."""
        return "1"

    @tool
    def second() -> str:
        """Two."""
        return "2"

    with FakeChat(["ok"]) as fake:
        agent = Agent(requester(fake), tools=ToolRegistry([get_word]))
        assert agent.use(first).use(second) is agent
        await agent.run("Hi")
    names = [entry["function"]["name"] for entry in fake.requests[0]["tools"]]
    assert names == ["get_word", "first", "second"]


def test_two_tools_of_one_name_are_refused() -> None:
    """The second one is named in the error, not silently dropped."""
    with pytest.raises(ConfigError, match="two tools are named 'get_word'"):
        Agent(ECHO, tools=[get_word]).use(get_word)


async def test_the_agents_use_leaves_the_callers_list_alone(requester: MakeRequester) -> None:
    """The list and the registry that were given stay as they were."""
    given, registry = [get_word], ToolRegistry()
    with FakeChat([]) as fake:
        Agent(requester(fake), tools=given).use(tool(name="more")(get_word_again))
        Agent(requester(fake), tools=registry).use(get_word)
    assert given == [get_word]
    assert registry.schemas() == ()


async def get_word_again(word: str) -> str:
    """Look a word up once more."""
    return word


async def test_a_message_with_an_image_is_a_question(requester: MakeRequester) -> None:
    """The input may be a whole user message."""
    picture = Message("user", (Text("What is this?"), Image("image/png", "aGk=")))
    with FakeChat(["A cat."], rules=STRICT) as fake:
        agent = Agent(requester(fake))
        await agent.run(picture)
    assert agent.get_history()[0] == picture
    assert [part["type"] for part in sent(fake)[0]["content"]] == ["text", "image_url"]


@pytest.mark.parametrize(
    "wrong",
    ["", " \n", Message("user", ()), Message.assistant("Hi"), Message.system("Be brief."), None, 3],
)
async def test_an_input_that_is_no_question_is_refused(wrong: Any) -> None:
    """One line says so, before anything is sent or kept."""
    agent = Agent(ECHO)
    with pytest.raises(ConfigError, match="the input"):
        await agent.run(wrong)
    assert agent.get_history() == []


@pytest.mark.checklist("artifacts")
async def test_a_context_per_run_decides_where_its_files_go(
    requester: MakeRequester, ctx: RunContext, tmp_path: Path
) -> None:
    """The calls of a run are logged under the run id of the context that it was given."""
    other = create_run_context(ctx.logger, debug_dir=tmp_path / "debug", run_id="other")
    with FakeChat(["one", "two"]) as fake:
        agent = Agent(requester(fake))
        await agent.run("a", ctx=other)
        await agent.run("b")
    assert [path.name for path in other.run_dir.glob("agent/*.yaml")] == ["0001-chat.yaml"]
    assert [path.name for path in ctx.run_dir.glob("agent/*.yaml")] == ["0001-chat.yaml"]


@pytest.mark.parametrize("store", [MemorySessionStore(), SqliteSessionStore("sessions.db")])
def test_one_agent_serves_one_event_loop_after_another(
    requester: MakeRequester, store: SessionStore
) -> None:
    """A second `asyncio.run` goes on with the conversation, also when many runs start at once."""

    async def talk(agent: Agent, text: str) -> None:
        async with agent:
            await asyncio.gather(agent.run(text), agent.run(text), agent.run(text, "other"))

    with FakeChat(["ok"] * 6, rules=STRICT) as fake:
        agent = Agent(requester(fake), store=store)
        asyncio.run(talk(agent, "a"))
        asyncio.run(talk(agent, "b"))
        asyncio.run(store.aclose())
    said = [message.text for message in agent.get_history()]
    assert said == ["a", "ok", "a", "ok", "b", "ok", "b", "ok"]
    assert len(agent.get_history("other")) == 4


async def test_an_agent_made_of_a_uri_needs_nothing_else() -> None:
    """A model URI is enough, and the agent closes what it made of it."""
    async with Agent(ECHO, tools=[get_word]) as agent:
        assert await agent.chat('/get_word {"word": "ubiquitous"}') == (
            'get_word says: {"word":"ubiquitous","meaning":"everywhere at once"}'
        )


def test_a_uri_that_is_wrong_is_refused_at_once() -> None:
    """The error is the URI's own, in one line."""
    with pytest.raises(ConfigError, match="nonsense"):
        Agent(f"{MODEL}&nonsense=1")


async def test_a_provider_stands_for_a_model(ctx: RunContext) -> None:
    """A script in place of a model is all that a test of one's own agent needs."""
    with ScriptedProvider(["hi"]) as script:
        async with Agent(script, ctx=ctx, system_prompt="Be brief.") as agent:
            assert await agent.chat("hello") == "hi"
    assert [m.text for m in script.requests[0].messages] == ["Be brief.", "hello"]
