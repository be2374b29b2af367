"""Model URIs: `[protocol://]provider/model[?params]`, the one string that configures a model.

    chat://openai/gpt-6-luna?timeout=60000&temperature=0.2
    ollama/qwen3:8b
    vllm/meta-llama/Llama-3.1-8B?baseURL=http://localhost:8000/v1

Parameters: apiKey, baseURL, timeout (milliseconds per attempt), maxTokens, temperature, topP, topK,
stop (repeat it for several), seed, maxRetries (after the first attempt), reasoning (an effort such
as `low`, or a budget in tokens). `%` escapes what `&`, `#` or `%` would break.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from ..errors import ConfigError
from ..observability.redact import MASK, add_secret, add_url_secrets, mask

PROTOCOLS = ("chat", "responses")
DEFAULT_TIMEOUT = 120.0  # seconds per attempt: reasoning models think for minutes
DEFAULT_RETRIES = 2
EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh")


def _text(value: str) -> str:
    if not value.strip():
        raise ValueError("must not be empty")
    return value.strip()


def _url(value: str) -> str:
    try:
        parts = urlsplit(_text(value))
        valid = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:  # its text may show the password
        valid = False
    if not valid or re.search(r"[\s\x00-\x1f#]", value.strip()):
        raise ValueError("must be an http:// or https:// URL")
    return value.strip().rstrip("/")


def _number(low: float, high: float, of: type[int] | type[float] = float) -> Callable[[str], Any]:
    def parse(value: str) -> float | int:
        number = of(value)
        if not low <= number <= high:
            raise ValueError
        return number

    def check(value: str) -> float | int:
        try:
            return parse(value)
        except ValueError:
            kind = "a whole number" if of is int else "a number"
            upper = f" to {high:g}" if high < 1e9 else " or more"
            raise ValueError(f"must be {kind}, {low:g}{upper}") from None

    return check


def _reasoning(value: str) -> str | int:
    if value.isdigit() and int(value) > 0:
        return int(value)
    if value in EFFORTS:
        return value
    raise ValueError(f"must be one of {', '.join(EFFORTS)}, or a number of tokens")


_PARAMETERS: dict[str, Callable[[str], Any]] = {
    "apiKey": lambda value: value.strip(),
    "baseURL": _url,
    "timeout": _number(1, 1e9),
    "maxTokens": _number(1, 1e9, int),
    "temperature": _number(0, 2),
    "topP": _number(0, 1),
    "topK": _number(1, 1e9, int),
    "stop": _text,
    "seed": _number(-(2.0**63), 2.0**63, int),
    "maxRetries": _number(0, 20, int),
    "reasoning": _reasoning,
}
_SETTINGS = {
    "maxTokens": "max_tokens",
    "temperature": "temperature",
    "topP": "top_p",
    "topK": "top_k",
    "stop": "stop",
    "seed": "seed",
    "reasoning": "reasoning",
}
SETTINGS = tuple(_SETTINGS.values())


@dataclass(frozen=True, slots=True, repr=False)
class ModelURI:
    """A parsed model URI. `str()` and `repr()` mask secrets; `timeout` is in seconds here.

    `settings` holds what was given of max_tokens, temperature, top_p, top_k, stop, seed and
    reasoning; what was not given is not sent.
    """

    protocol: str
    provider: str
    model: str
    api_key: str | None = None
    base_url: str | None = None
    timeout: float = DEFAULT_TIMEOUT
    max_retries: int = DEFAULT_RETRIES
    settings: dict[str, Any] = field(default_factory=dict)
    query: tuple[tuple[str, str], ...] = ()

    @classmethod
    def parse(cls, text: str) -> ModelURI:
        """Parse a URI. Raises `ConfigError`, which never repeats a secret."""
        head, _, query = text.strip().partition("?")
        match = re.fullmatch(r"(?:([a-z][a-z0-9+.-]*)://)?([^/]*)/?(.*)", head, re.DOTALL)
        protocol, provider, model = match.groups() if match else (None, "", "")
        model = unquote(model).strip("/")
        _check(protocol, provider, model)
        values, pairs = _parameters(query)
        add_secret(values.get("apiKey"))
        add_url_secrets(values.get("baseURL", ""))
        return cls(
            protocol or "chat",
            provider.lower(),
            model,
            values.get("apiKey") or None,
            values.get("baseURL"),
            values["timeout"] / 1000 if "timeout" in values else DEFAULT_TIMEOUT,
            values.get("maxRetries", DEFAULT_RETRIES),
            {ours: values[name] for name, ours in _SETTINGS.items() if name in values},
            pairs,
        )

    def __str__(self) -> str:
        shown = "&".join(f"{name}={_shown(name, value)}" for name, value in self.query)
        head = f"{self.protocol}://{self.provider}/{mask(self.model)}"
        return head + (f"?{shown}" if shown else "")

    def __repr__(self) -> str:
        return f"ModelURI({str(self)!r})"


def _check(protocol: str | None, provider: str, model: str) -> None:
    form = "expected [protocol://]provider/model[?params], such as chat://openai/gpt-6-luna"
    if protocol is not None and protocol not in PROTOCOLS:
        known = " and ".join(f"{name}://" for name in PROTOCOLS)
        raise ConfigError(f"model URI: unknown protocol {mask(protocol)!r}; known: {known}")
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]*", provider):
        raise ConfigError(f"model URI: no provider before the first '/'; {form}")
    if not model or re.search(r"[\s\x00-\x1f]", model):
        raise ConfigError(f"model URI: no model after the provider; {form}")


def _parameters(query: str) -> tuple[dict[str, Any], tuple[tuple[str, str], ...]]:
    values: dict[str, Any] = {}
    pairs = []
    for pair in filter(None, query.split("&")):
        name, _, raw = pair.partition("=")
        if name not in _PARAMETERS:
            shown = f" {name!r}" if re.fullmatch(r"[A-Za-z_-]{1,24}", name) else ""
            known = ", ".join(_PARAMETERS)
            raise ConfigError(f"model URI: unknown parameter{shown}; known: {known}")
        if name in values and name != "stop":
            raise ConfigError(f"model URI: {name} is given twice")
        value, problem = _value(name, unquote(raw))
        if problem:  # raised here: the context of the first error may hold what was given
            raise ConfigError(f"model URI: {name} {problem}")
        values[name] = [*values.get("stop", ()), value] if name == "stop" else value
        pairs.append((name, unquote(raw)))
    return values, tuple(pairs)


def _value(name: str, text: str) -> tuple[Any, str]:
    try:
        return _PARAMETERS[name](text), ""
    except ValueError as error:
        return None, str(error)


def _shown(name: str, value: str) -> str:
    return MASK if name == "apiKey" else quote(mask(value), safe=":/,.@?=*")
