"""Providers that speak Chat Completions: address, key variable, and where they differ.

Sources are the providers' own API references. `{NAME}` in an address is an environment variable.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

_OPENAI_ONLY = {"reasoning": "reasoning_effort"}
_SAMPLERS = {"top_k": "top_k", "reasoning": "reasoning_effort"}


class Preset(NamedTuple):
    """What an adapter must know of a provider.

    `key` names the variable of its key, None if it needs none. `settings` maps our names to the
    wire's for what not every provider takes; a setting without a name is refused. `answer` says
    how a typed answer is asked for: by `response_format`, or by a tool where that is not to be
    had (or not together with tools). `replay` lists fields of a reply that must be sent back.
    Without `user_after_tool` the user may not speak right after tool results, as happens when a
    run ended at a limit.
    """

    base_url: str
    key: str | None
    max_tokens: str = "max_tokens"
    settings: Mapping[str, str] = _SAMPLERS
    answer: Literal["response_format", "tool"] = "response_format"
    replay: tuple[str, ...] = ()
    user_after_tool: bool = True


PRESETS: dict[str, Preset] = {
    "openai": Preset(
        "https://api.openai.com/v1", "OPENAI_API_KEY", "max_completion_tokens", _OPENAI_ONLY
    ),
    "groq": Preset(
        "https://api.groq.com/openai/v1",
        "GROQ_API_KEY",
        "max_completion_tokens",
        _OPENAI_ONLY,
        "tool",
    ),
    "ollama": Preset("http://localhost:11434/v1", None, settings=_OPENAI_ONLY),
    "openrouter": Preset(
        "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY", replay=("reasoning_details",)
    ),
    "workersai": Preset(
        "https://api.cloudflare.com/client/v4/accounts/{CLOUDFLARE_ACCOUNT_ID}/ai/v1",
        "CLOUDFLARE_API_TOKEN",
        settings={"top_k": "top_k"},
    ),
    "cerebras": Preset(
        "https://api.cerebras.ai/v1", "CEREBRAS_API_KEY", "max_completion_tokens", _OPENAI_ONLY
    ),
    "deepseek": Preset(
        "https://api.deepseek.com/v1",
        "DEEPSEEK_API_KEY",
        settings={},
        answer="tool",
        replay=("reasoning_content",),
    ),
    "mistral": Preset(
        "https://api.mistral.ai/v1", "MISTRAL_API_KEY", settings={}, user_after_tool=False
    ),
    "together": Preset("https://api.together.xyz/v1", "TOGETHER_API_KEY"),
    "fireworks": Preset("https://api.fireworks.ai/inference/v1", "FIREWORKS_API_KEY"),
    "xai": Preset("https://api.x.ai/v1", "XAI_API_KEY", settings=_OPENAI_ONLY),
    "vllm": Preset("http://localhost:8000/v1", None),
    "lmstudio": Preset("http://localhost:1234/v1", None),
}
