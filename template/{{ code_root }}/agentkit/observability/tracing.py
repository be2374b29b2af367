"""OpenTelemetry spans of runs, model calls and tools: what an observer makes of its records.

Only `opentelemetry-api` is needed: until the process sets up a tracer provider nothing is made.
A run is `invoke_agent`, a model call `chat`, a tool `execute_tool`; retries are events of the call.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import Token
from typing import NamedTuple

from opentelemetry import trace as otel
from opentelemetry.context import Context, attach, create_key, detach, get_current, get_value
from opentelemetry.context import set_value as with_value
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, TracerProvider
from opentelemetry.util.types import AnyValue

from .records import (
    AttemptFinished,
    CallFinished,
    CallStarted,
    Record,
    RunFinished,
    RunStarted,
    ToolFinished,
    ToolStarted,
)
from .redact import exception_text, mask, mask_known, shorten
from .run_context import RunContext
from .tracing_content import call_arguments, input_messages, output_messages, system_instructions

# The GenAI conventions are in development: names may still change, so all of them stand here.
# https://github.com/open-telemetry/semantic-conventions-genai
OPERATION = "gen_ai.operation.name"
PROVIDER = "gen_ai.provider.name"
AGENT = "gen_ai.agent.name"
REQUEST_MODEL = "gen_ai.request.model"
RESPONSE_MODEL = "gen_ai.response.model"
FINISH_REASONS = "gen_ai.response.finish_reasons"
OUTPUT_TYPE = "gen_ai.output.type"
TOOL_NAME = "gen_ai.tool.name"
TOOL_TYPE = "gen_ai.tool.type"
TOOL_CALL = "gen_ai.tool.call.id"
ERROR_TYPE = "error.type"
SYSTEM_INSTRUCTIONS = "gen_ai.system_instructions"
INPUT_MESSAGES = "gen_ai.input.messages"
OUTPUT_MESSAGES = "gen_ai.output.messages"
TOOL_ARGUMENTS = "gen_ai.tool.call.arguments"
TOOL_RESULT = "gen_ai.tool.call.result"
_SETTINGS = {
    "max_tokens": "gen_ai.request.max_tokens",
    "temperature": "gen_ai.request.temperature",
    "top_p": "gen_ai.request.top_p",
    "top_k": "gen_ai.request.top_k",
    "seed": "gen_ai.request.seed",
    "stop": "gen_ai.request.stop_sequences",
    "reasoning": "gen_ai.request.reasoning.level",
}
_USAGE = (  # as the fields of `Usage` follow each other
    "gen_ai.usage.input_tokens",
    "gen_ai.usage.output_tokens",
    "gen_ai.usage.cache_read.input_tokens",
    "gen_ai.usage.cache_write.input_tokens",
    "gen_ai.usage.reasoning.output_tokens",
)
_PROVIDERS = {"google": "gcp.gemini", "mistral": "mistral_ai", "xai": "x_ai"}
# No convention has these: which run of the call log it is, what it cost, and which attempt failed.
RUN_ID = "agentkit.run.id"
RUN = "agentkit.run"
COST = "agentkit.cost_usd"
ATTEMPT = "agentkit.attempt"

_TOOL_OF = create_key("agentkit-tool-of-run")  # in the OTel context: which run's tool is at work


def trace(
    ctx: RunContext, *, content: bool = False, tracer_provider: TracerProvider | None = None
) -> RunContext:
    """Make spans of all that happens in this context and in those made from it; returns it.

    `content` adds what was said, masked: prompts, answers, arguments and results of tools.
    """

    def watcher(ctx: RunContext) -> Tracing:
        return Tracing(ctx, content, tracer_provider)

    if not any(isinstance(observer, Tracing) for observer in ctx.observers):
        ctx.watch(watcher)
    return ctx


class _OpenRun(NamedTuple):
    span: Span
    tools: dict[int, tuple[Span, Token[Context]]]  # by identity of the call, which a record holds


class Tracing:
    """An observer that makes spans of one context's records.

    A run's parent is the tool that started it, else what was current where it began. While a tool
    works, its span is the current one, so that what it calls becomes its child.
    """

    def __init__(
        self, ctx: RunContext, content: bool, tracer_provider: TracerProvider | None
    ) -> None:
        self._tracer = otel.get_tracer("agentkit", tracer_provider=tracer_provider)
        self._run_id = ctx.run_id
        self._agent = mask_known(ctx.logger.context)
        self._content = content
        self._runs: dict[int, _OpenRun] = {}
        self._calls: dict[int, Span] = {}

    def __call__(self, record: Record) -> None:
        """Begin or end the span that the record is about."""
        if handle := _HANDLERS.get(type(record)):
            handle(self, record)

    def _run_started(self, record: RunStarted) -> None:
        attributes = {OPERATION: "invoke_agent", AGENT: self._agent, **self._link(record.run)}
        span = self._tracer.start_span(
            f"invoke_agent {self._agent}", self._parent_of(record), SpanKind.INTERNAL, attributes
        )
        if span.get_span_context().is_valid:  # else nobody has set up a provider
            self._runs[record.run] = _OpenRun(span, {})

    def _run_finished(self, record: RunFinished) -> None:
        run = self._runs.pop(record.run, None)
        if run is None:
            return
        for span, _ in run.tools.values():  # cancelled: such tools are not told of
            _fail(span, "cancelled", None)
            span.end()
        self._end(run.span, record)

    def _call_started(self, record: CallStarted) -> None:
        run = self._runs.get(record.run)
        if run is None:
            return
        _, _, name = record.model.partition("?")[0].rpartition("://")
        provider, _, model = mask_known(name).partition("/")
        attributes: dict[str, AnyValue] = {
            OPERATION: "chat",
            PROVIDER: _PROVIDERS.get(provider, provider),
            REQUEST_MODEL: model,
            OUTPUT_TYPE: "json" if record.schema else "text",
            **self._link(record.run),
        }
        for setting, value in record.settings.items():
            if setting in _SETTINGS:
                attributes[_SETTINGS[setting]] = value
        self._calls[record.call] = span = self._tracer.start_span(
            f"chat {model}", otel.set_span_in_context(run.span), SpanKind.CLIENT, attributes
        )
        if self._content and span.is_recording():
            span.set_attribute(SYSTEM_INSTRUCTIONS, system_instructions(record.messages))
            span.set_attribute(INPUT_MESSAGES, input_messages(record.messages))

    def _attempt_finished(self, record: AttemptFinished) -> None:
        span = self._calls.get(record.call)
        if span is None or not span.is_recording():
            return
        if record.reply is not None:
            span.set_attribute(RESPONSE_MODEL, mask_known(record.reply.model))
            if self._content:
                span.set_attribute(OUTPUT_MESSAGES, output_messages(record.reply))
        if record.error is not None:
            kind = type(record.error).__name__
            span.add_event("attempt failed", {ATTEMPT: record.attempt, ERROR_TYPE: kind})
        elif record.problem is not None:
            span.add_event("answer refused", {ATTEMPT: record.attempt, ERROR_TYPE: "invalid"})

    def _call_finished(self, record: CallFinished) -> None:
        if span := self._calls.pop(record.call, None):
            self._end(span, record)

    def _tool_started(self, record: ToolStarted) -> None:
        run = self._runs.get(record.run)
        if run is None:
            return
        call = record.call
        name = mask_known(call.name)
        attributes: dict[str, AnyValue] = {
            OPERATION: "execute_tool",
            TOOL_NAME: name,
            TOOL_TYPE: "function",
            TOOL_CALL: mask_known(call.id),
            **self._link(record.run),
        }
        parent = otel.set_span_in_context(run.span)
        span = self._tracer.start_span(f"execute_tool {name}", parent, attributes=attributes)
        if self._content and span.is_recording():
            span.set_attribute(TOOL_ARGUMENTS, call_arguments(call))
        current = with_value(_TOOL_OF, record.run, otel.set_span_in_context(span))
        run.tools[id(call)] = span, attach(current)

    def _tool_finished(self, record: ToolFinished) -> None:
        run = self._runs.get(record.run)
        span, token = run.tools.pop(id(record.call), (None, None)) if run else (None, None)
        if span is None or token is None:
            return
        detach(token)
        text = shorten(mask(record.result.text)) if self._content else None
        if text is not None:
            span.set_attribute(TOOL_RESULT, text)
        if record.result.is_error:
            _fail(span, "tool_error", text)
        span.end()

    def _parent_of(self, record: RunStarted) -> Context:
        current = get_current()
        if record.parent is None or get_value(_TOOL_OF, current) == record.parent:
            return current
        above = self._runs.get(record.parent)  # such as the run that has its history summed up
        return otel.set_span_in_context(above.span) if above else current

    def _link(self, run: int) -> dict[str, AnyValue]:
        return {RUN_ID: self._run_id, RUN: run}

    def _end(self, span: Span, record: RunFinished | CallFinished) -> None:
        if span.is_recording():
            if record.finish_reason is not None:
                span.set_attribute(FINISH_REASONS, [record.finish_reason])
            spent = zip(_USAGE, record.usage, strict=True)
            span.set_attributes({name: tokens for name, tokens in spent if tokens})
            if record.cost is not None:
                span.set_attribute(COST, record.cost)
            if record.error is not None:
                _fail(span, type(record.error).__name__, exception_text(record.error))
        span.end()


def _fail(span: Span, kind: str, text: str | None) -> None:
    span.set_attribute(ERROR_TYPE, kind)
    span.set_status(Status(StatusCode.ERROR, text))


_HANDLERS: dict[type, Callable[..., None]] = {
    RunStarted: Tracing._run_started,
    RunFinished: Tracing._run_finished,
    CallStarted: Tracing._call_started,
    CallFinished: Tracing._call_finished,
    AttemptFinished: Tracing._attempt_finished,
    ToolStarted: Tracing._tool_started,
    ToolFinished: Tracing._tool_finished,
}
