"""What a run comes to, and the limits it keeps."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ..errors import ConfigError
from ..messages import FinishReason, Message, Reply, ToolCall, ToolResult, Usage


@dataclass(frozen=True, slots=True)
class Limits:
    """What one run may cost, in USD and in tokens, sub-agents included; None is no limit.

    Checked before each model call, so the call that passes a limit is the last one.
    """

    cost_usd: float | None = None
    tokens: int | None = None

    def __post_init__(self) -> None:
        for name, value in (("cost_usd", self.cost_usd), ("tokens", self.tokens)):
            if value is not None and value <= 0:
                raise ConfigError(f"Limits: {name} must be more than 0")


@dataclass(slots=True)
class GenerateResult:
    """The outcome of a run.

    `result` is the validated value, or the text when no schema was asked for. `history` is the
    list to go on with, `new_messages` what this run added to it. `finish_reason` is stop, length,
    refused, blocked, empty, max_steps, limit or invalid. `estimated_cost` is USD, None if a model's
    price is unknown.
    """

    result: Any = None
    text: str = ""
    tool_calls: list[ToolCall] = field(default_factory=list)
    tool_results: list[ToolResult] = field(default_factory=list)
    new_messages: list[Message] = field(default_factory=list)
    history: list[Message] = field(default_factory=list)
    steps: list[Reply] = field(default_factory=list)
    finish_reason: FinishReason = "stop"
    model: str = ""
    estimated_cost: float | None = 0.0
    usage: Usage = Usage()  # noqa: RUF009  frozen
    validation_error: str | None = None
    raw_response: str | None = None

    @property
    def input_tokens(self) -> int:
        """Tokens read over all calls, cached ones included."""
        return self.usage.input_tokens

    @property
    def output_tokens(self) -> int:
        """Tokens written over all calls, reasoning included."""
        return self.usage.output_tokens
