"""Spans: which there are, whose children they are, and what they say of each call and tool."""

from __future__ import annotations

import asyncio
import io
import json

import pytest
from opentelemetry import trace as otel

from ...agent.agent import Agent
from ...errors import AuthenticationFailed
from ...llm.events import ToolStarted
from ...messages import Message
from ...observability.redact import add_secret
from ...observability.run_context import RunContext
from ...observability.tracing import Tracing, trace
from ...session.summary import LlmSummaryGenerator, SummarizingHistoryCompactor
from ...tools.tool import tool
from ..conftest import MakeRequester
from ..fake_chat import FakeChat, answer, calls, status, usage
from .fake_tracer import FakeSpan, FakeTracer

RUN = "invoke_agent test"
CALL = "chat gpt-5-mini"


@tool
async def look_up(word: str) -> str:
    """Look a word up."""
    await asyncio.sleep(0)
    with otel.get_tracer("test").start_as_current_span("inside") as span:
        assert span.get_span_context().is_valid
    return f"{word} means everywhere"


@tool
async def broken() -> str:
    """Fail."""
    raise ValueError("nobody is told of this")


@pytest.fixture
def tracer() -> FakeTracer:
    """What keeps the spans."""
    return FakeTracer()


@pytest.fixture
def ctx(ctx: RunContext, tracer: FakeTracer) -> RunContext:
    """A context that is traced."""
    return trace(ctx, tracer_provider=tracer)


def parents(tracer: FakeTracer) -> list[tuple[str, str | None]]:
    """Return each span's name with its parent's, in the order in which they began."""
    found = [(span.name, span.parent) for span in tracer.spans]
    return [(name, up.name if isinstance(up, FakeSpan) else None) for name, up in found]


async def test_a_run_has_its_calls_and_tools_below_it(
    requester: MakeRequester, tracer: FakeTracer
) -> None:
    """One span each, all of them ended once and none with an error."""
    with FakeChat([calls(("look_up", {"word": "ubiquitous"})), "Everywhere."]) as fake:
        await Agent(requester(fake), tools=[look_up]).run("What does it mean?")
    tree = [(RUN, None), (CALL, RUN), ("execute_tool look_up", RUN), (CALL, RUN)]
    assert parents(tracer) == tree
    assert [span.ends for span in tracer.spans] == [1, 1, 1, 1]
    assert [span.status for span in tracer.spans] == [None] * 4


async def test_parallel_sub_agents_are_below_the_tools_that_asked_them(
    requester: MakeRequester, tracer: FakeTracer
) -> None:
    """Each of two runs at once has a tool of its own above it, and its own call below."""
    with FakeChat([calls(("expert", {"question": "a"}), ("expert", {"question": "b"})), "1", "2",
                   "Done."]) as fake:  # fmt: skip
        expert = Agent(requester(fake)).as_tool("expert", "Knows words.")
        await Agent(requester(fake), tools=[expert]).run("Ask twice")
    asked = [span for span in tracer.spans if span.name == "execute_tool expert"]
    inner = [span for span in tracer.spans if span.name == RUN and span.parent is not None]
    assert [span.parent for span in asked] == [tracer.spans[0]] * 2
    assert {id(span.parent) for span in inner} == {id(span) for span in asked}
    calls_below = [span.parent for span in tracer.spans if span.name == CALL]
    assert sum(parent in inner for parent in calls_below) == 2


async def test_what_a_tool_does_is_below_it(
    requester: MakeRequester, tracer: FakeTracer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Libraries that make spans of their own find the tool's as the current one."""
    monkeypatch.setattr(otel, "get_tracer", lambda *names, **named: tracer)
    with FakeChat([calls(("look_up", {"word": "a"}), ("look_up", {"word": "b"})), "Done."]) as fake:
        await Agent(requester(fake), tools=[look_up]).run("Look both up")
    inside = [span.parent for span in tracer.spans if span.name == "inside"]
    assert [isinstance(p, FakeSpan) and p.name for p in inside] == ["execute_tool look_up"] * 2
    assert inside[0] is not inside[1]
    assert not otel.get_current_span().get_span_context().is_valid


async def test_a_summary_is_below_the_run_that_needs_it(
    requester: MakeRequester, tracer: FakeTracer
) -> None:
    """Its run was started by no tool."""
    with FakeChat(["a" * 4_000, "Yes.", "A summary.", "Done."]) as fake:
        llm = requester(fake)
        compactor = SummarizingHistoryCompactor(20_000, 1_000, LlmSummaryGenerator(llm))
        agent = Agent(llm, compactor=compactor)
        for question in ("b" * 1_000, "c", "d"):
            await agent.run(question)
    *_, third, summary = [span for span in tracer.spans if span.name == RUN]
    assert (third.parent, summary.parent) == (None, third)


async def test_a_call_tells_model_settings_usage_and_cost(
    requester: MakeRequester, tracer: FakeTracer, ctx: RunContext
) -> None:
    """The names are those of the GenAI conventions; the run id leads to the call log."""
    with FakeChat([answer("Everywhere.", usage=usage(1_000, 100))]) as fake:
        settings = {"temperature": 0.5, "max_tokens": 50}
        await requester(fake)([Message.user("What?")], settings=settings)
    attributes = tracer.named(CALL).attributes
    assert attributes.pop("agentkit.cost_usd") > 0
    assert attributes.pop("gen_ai.response.model")
    assert attributes == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "gpt-5-mini",
        "gen_ai.request.temperature": 0.5,
        "gen_ai.request.max_tokens": 50,
        "gen_ai.output.type": "text",
        "gen_ai.response.finish_reasons": ["stop"],
        "gen_ai.usage.input_tokens": 1_000,
        "gen_ai.usage.output_tokens": 100,
        "agentkit.run.id": ctx.run_id,
        "agentkit.run": 1,
    }


async def test_nothing_that_was_said_is_in_a_span(
    requester: MakeRequester, tracer: FakeTracer
) -> None:
    """Neither prompts nor answers, arguments, results or errors of tools."""
    words = ["secret-prompt", "secret-word", "secret-answer", "means", "nobody is told"]
    script = calls(("look_up", {"word": "secret-word"}), ("broken", {}))
    with FakeChat([script, "secret-answer"]) as fake:
        agent = Agent(requester(fake), system_prompt="secret-prompt", tools=[look_up, broken])
        await agent.run("secret-prompt")
    told = [(span.name, span.attributes, span.events) for span in tracer.spans]
    why = [span.status.description for span in tracer.spans if span.status]
    assert [word for word in words if word in repr((told, why))] == []


async def test_content_is_there_for_who_asks_for_it(
    requester: MakeRequester, ctx: RunContext, tracer: FakeTracer
) -> None:
    """Prompts, answers, arguments and results as the conventions' JSON, secrets masked."""
    add_secret("s3cret-key-value")
    ctx.observers[:] = [Tracing(ctx, True, tracer)]
    with FakeChat([calls(("look_up", {"word": "s3cret-key-value"})), "Everywhere."]) as fake:
        await Agent(requester(fake), system_prompt="You know words.", tools=[look_up]).run("What?")
    _, first, work, last = [span.attributes for span in tracer.spans]
    assert json.loads(first["gen_ai.system_instructions"]) == [_text("You know words.")]
    asked = {"role": "user", "parts": [_text("What?")]}
    assert json.loads(first["gen_ai.input.messages"]) == [asked]
    assert json.loads(work["gen_ai.tool.call.arguments"]) == {"word": "***"}
    assert work["gen_ai.tool.call.result"] == "*** means everywhere"
    kinds = [[p["type"] for p in m["parts"]] for m in json.loads(last["gen_ai.input.messages"])]
    assert kinds == [["text"], ["tool_call"], ["tool_call_response"]]
    assert json.loads(last["gen_ai.output.messages"]) == [
        {"role": "assistant", "parts": [_text("Everywhere.")], "finish_reason": "stop"}
    ]


async def test_a_retry_is_an_event_of_its_call(
    requester: MakeRequester, tracer: FakeTracer
) -> None:
    """The call itself did not fail."""
    with FakeChat([status(503), "Here."]) as fake:
        await requester(fake)([Message.user("Are you there?")])
    call = tracer.named(CALL)
    failed = {"agentkit.attempt": 1, "error.type": "Overloaded"}
    assert (call.events, call.status) == ([("attempt failed", failed)], None)


async def test_an_error_is_said_by_its_type(requester: MakeRequester, tracer: FakeTracer) -> None:
    """The call and the run that it ended both say it."""
    with FakeChat([status(401)]) as fake, pytest.raises(AuthenticationFailed):
        await requester(fake)([Message.user("May I?")])
    assert [span.attributes["error.type"] for span in tracer.spans] == ["AuthenticationFailed"] * 2
    assert all(s.status is not None and not s.status.is_ok and s.ends == 1 for s in tracer.spans)


async def test_a_tool_that_fails_says_so(requester: MakeRequester, tracer: FakeTracer) -> None:
    """Its span does, the run goes on."""
    with FakeChat([calls(("broken", {})), "It did not work."]) as fake:
        await Agent(requester(fake), tools=[broken]).run("Try")
    assert tracer.named("execute_tool broken").attributes["error.type"] == "tool_error"
    assert tracer.named(RUN).status is None


async def test_a_tool_that_is_cancelled_has_an_end(
    requester: MakeRequester, tracer: FakeTracer
) -> None:
    """A consumer that stops listening leaves no span open."""
    with FakeChat([calls(("look_up", {"word": "a"}))]) as fake:
        events = Agent(requester(fake), tools=[look_up]).stream("Look it up", deltas=False)
        async for event in events:
            if isinstance(event, ToolStarted):
                break
        await events.aclose()
    assert [span.ends for span in tracer.spans] == [1, 1, 1]
    assert tracer.named("execute_tool look_up").attributes["error.type"] == "cancelled"


async def test_without_a_provider_nothing_is_made(
    requester: MakeRequester, ctx: RunContext, log: io.StringIO
) -> None:
    """A process that exports nothing only pays for looking."""
    ctx.observers[:] = [tracing := Tracing(ctx, True, None)]
    with FakeChat([calls(("broken", {})), "Done."]) as fake:
        await Agent(requester(fake), tools=[broken]).run("Try")
    assert (tracing._runs, tracing._calls, ctx.observers) == ({}, {}, [tracing])


def test_tracing_twice_makes_each_span_once(ctx: RunContext) -> None:
    """Whoever builds several agents over one context may say it each time."""
    trace(ctx)
    assert sum(isinstance(observer, Tracing) for observer in ctx.observers) == 1


def test_a_context_made_from_one_that_is_traced_is_traced(ctx: RunContext) -> None:
    """A server has a context for each conversation, with spans that lead to that one's log."""
    (own,) = [o for o in ctx.another().observers if isinstance(o, Tracing)]
    assert own._run_id != ctx.run_id


def _text(text: str) -> dict[str, str]:
    return {"type": "text", "content": text}
