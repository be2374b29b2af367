"""A tracer that keeps the spans it was asked for: OpenTelemetry's SDK as far as tests need it."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from typing import Any

from opentelemetry import trace as otel
from opentelemetry.trace import Span, SpanContext, Status, TraceFlags, Tracer, TracerProvider


class FakeSpan(Span):
    """What was said about a span; `parent` is the span above it, or None."""

    def __init__(self, name: str, number: int, parent: Span | None, attributes: Any) -> None:
        self.name = name
        self.parent = parent
        self.attributes: dict[str, Any] = dict(attributes or {})
        self.events: list[tuple[str, dict[str, Any]]] = []
        self.status: Status | None = None
        self.ends = 0
        self._context = SpanContext(1, number, is_remote=False, trace_flags=TraceFlags(1))

    def end(self, end_time: int | None = None) -> None:
        self.ends += 1

    def get_span_context(self) -> SpanContext:
        return self._context

    def set_attributes(self, attributes: Mapping[str, Any]) -> None:
        for key, value in attributes.items():
            self.set_attribute(key, value)

    def set_attribute(self, key: str, value: Any) -> None:
        assert not self.ends, f"{key} is set after the end"
        self.attributes[key] = value

    def add_event(self, name: str, attributes: Any = None, timestamp: int | None = None) -> None:
        self.events.append((name, dict(attributes or {})))

    def update_name(self, name: str) -> None:
        self.name = name

    def is_recording(self) -> bool:
        return not self.ends

    def set_status(self, status: Any, description: str | None = None) -> None:
        self.status = status

    def record_exception(self, exception: BaseException, *rest: Any, **named: Any) -> None:
        raise AssertionError("a traceback may hold what was said")


class FakeTracer(Tracer, TracerProvider):
    """A provider and its one tracer; `spans` are in the order in which they began."""

    def __init__(self) -> None:
        self.spans: list[FakeSpan] = []
        self._numbers = count(1)

    def get_tracer(self, *names: Any, **named: Any) -> Tracer:
        return self

    def start_span(
        self, name: str, context: Any = None, kind: Any = None, attributes: Any = None, *rest: Any,
        **named: Any,
    ) -> FakeSpan:  # fmt: skip
        above = otel.get_current_span(context)
        parent = above if above.get_span_context().is_valid else None
        self.spans.append(FakeSpan(name, next(self._numbers), parent, attributes))
        return self.spans[-1]

    def start_as_current_span(self, name: str, *rest: Any, **named: Any) -> Any:
        return otel.use_span(self.start_span(name))

    def named(self, name: str) -> FakeSpan:
        """Return the only span of this name."""
        (found,) = [span for span in self.spans if span.name == name]
        return found
