"""Settings as fields of a request to the Messages API."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...errors import ConfigError

# The API has no default. Every current model takes 64,000 and more
# (https://platform.claude.com/docs/en/about-claude/models/overview); this leaves room for thinking,
# which counts as output, and ends within some minutes.
MAX_TOKENS = 16_000
LEAST_BUDGET = 1_024  # tokens of thinking, says the API
_EFFORTS = ("low", "medium", "high", "xhigh", "max")
_TAKEN = ("max_tokens", "stop", "reasoning")


def wire_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings as fields of a request. Raises `ConfigError` that names a refused one."""
    refused = [name for name in settings if name not in _TAKEN]
    if refused:
        raise ConfigError(
            f"anthropic does not take {', '.join(refused)}: "
            f"Claude's models have no such setting. It takes: {', '.join(_TAKEN)}"
        )
    fields: dict[str, Any] = {"max_tokens": settings.get("max_tokens", MAX_TOKENS)}
    if "stop" in settings:
        stop = settings["stop"]
        fields["stop_sequences"] = [stop] if isinstance(stop, str) else stop
    if "reasoning" in settings:
        fields |= _reasoning(settings["reasoning"], settings.get("max_tokens"))
    return fields


def _reasoning(value: Any, max_tokens: int | None) -> dict[str, Any]:
    """Return the fields for an effort, for `none`, or for a budget of thinking in tokens."""
    if value == "none":
        return {"thinking": {"type": "disabled"}}
    if value in _EFFORTS:
        return {"thinking": {"type": "adaptive"}, "output_config": {"effort": value}}
    if not isinstance(value, int) or value < LEAST_BUDGET:
        raise ConfigError(
            f"anthropic does not take reasoning={value}; it takes none, {', '.join(_EFFORTS)}, "
            f"or a budget of at least {LEAST_BUDGET} tokens"
        )
    if max_tokens is not None and max_tokens <= value:
        raise ConfigError(
            f"anthropic counts thinking as output: max_tokens ({max_tokens}) must be more than "
            f"the budget of reasoning ({value})"
        )
    thinking = {"type": "enabled", "budget_tokens": value}
    return {"thinking": thinking, "max_tokens": max_tokens or MAX_TOKENS + value}
