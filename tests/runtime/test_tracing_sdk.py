"""Spans as the SDK of OpenTelemetry exports them; agentkit's own tests use a double of it."""

from __future__ import annotations

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF

from agentkit.agent.agent import Agent
from agentkit.llm.providers.offline import ScriptedProvider
from agentkit.messages import Message, ToolCall
from agentkit.observability.run_context import RunContext
from agentkit.observability.tracing import trace
from agentkit.tools.tool import tool


@tool
async def look_up(word: str) -> str:
    """Look a word up."""
    return f"{word} means everywhere"


async def answer(ctx: RunContext) -> None:
    """Have an agent answer with the help of a tool."""
    call = Message("assistant", (ToolCall("1", "look_up", {"word": "ubiquitous"}),))
    with ScriptedProvider([call, "Everywhere."]) as script:
        await Agent(script, ctx=ctx, tools=[look_up]).run("What does it mean?")


async def test_the_sdk_exports_one_trace_with_all_spans(ctx: RunContext) -> None:
    """All attributes are of a type that it takes, and every span leads up to the run's."""
    exporter, provider = InMemorySpanExporter(), TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    await answer(trace(ctx, content=True, tracer_provider=provider))
    *below, run = exporter.get_finished_spans()
    assert [span.name for span in below] == [
        "chat provider",
        "execute_tool look_up",
        "chat provider",
    ]
    assert {span.parent and span.parent.span_id for span in below} == {run.context.span_id}
    assert all(span.attributes and None not in span.attributes.values() for span in (*below, run))


async def test_a_trace_that_is_not_sampled_costs_no_content(ctx: RunContext) -> None:
    """Nothing is exported, and no message was laid out for it."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider(sampler=ALWAYS_OFF, shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    await answer(trace(ctx, content=True, tracer_provider=provider))
    assert exporter.get_finished_spans() == ()
