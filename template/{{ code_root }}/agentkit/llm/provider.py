"""The seam to a provider: one request in, one reply out, deltas on the way if someone listens."""

from __future__ import annotations

import os
import re
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Protocol

import httpx2

from ..errors import ConfigError
from ..messages import Message, Reply, ToolCall
from ..observability.redact import add_secret
from ..texts import decode_json
from ..tools.tool import Tool
from ..transport import HttpClients
from .events import TextDelta, ThinkingDelta
from .model_uri import ModelURI
from .providers.presets import PRESETS, Preset
from .schema import OutputSchema

Delta = TextDelta | ThinkingDelta


@dataclass(slots=True)
class Request:
    """One model call as a provider gets it.

    `messages` is shared with the caller and must not be changed; `settings` holds only what was
    asked for, under the names of `model_uri.SETTINGS`. `warn` hears what is left out.
    """

    messages: Sequence[Message]
    tools: Sequence[Tool] = ()
    schema: OutputSchema | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    warn: Callable[[str], None] = lambda text: None


class Provider(Protocol):
    """Calls a model. Raises `LlmError` only, never an error of an SDK or of HTTP."""

    async def complete(self, request: Request) -> Reply:
        """Return the reply of one call."""
        ...

    def stream(self, request: Request) -> AsyncGenerator[Delta | Reply, None]:
        """Yield deltas as they come, then exactly one reply."""
        ...


Create = Callable[[ModelURI, HttpClients], Provider]


def create_provider(uri: ModelURI, clients: HttpClients) -> Provider:
    """Return the provider of a URI. Raises `ConfigError` that names what to add or set.

    Adapters are found by name, so one that was not generated costs nothing and one that is added
    later needs no registration. `litellm`, where it is included, takes what nobody else does.
    """
    preset = PRESETS.get(uri.provider)
    if preset is not None and uri.protocol == "chat":
        return _compatible(uri, preset, clients)
    create = _adapter(uri.provider)
    if create is None and uri.protocol == "chat":
        if uri.base_url is not None:
            return _compatible(uri, Preset(uri.base_url, None), clients)
        create = _adapter("litellm")
    if create is not None:
        return create(uri, clients)
    known = ", ".join(sorted(PRESETS))
    raise ConfigError(
        f"model URI {uri}: this project has no adapter for {uri.protocol}://{uri.provider}. "
        f"Add its SDK (copier update --data 'sdks=[…]'), give a baseURL that speaks Chat "
        f"Completions, or use one of: {known}"
    )


def _compatible(uri: ModelURI, preset: Preset, clients: HttpClients) -> Provider:
    from .providers.openai_compatible import OpenAiCompatible

    return OpenAiCompatible(uri, preset, resolve_key(uri, preset.key), clients)


def _adapter(name: str) -> Create | None:
    """Return what makes an adapter's provider; None where this project has no such adapter."""
    if not name.isidentifier():
        return None
    path = f"{__package__}.providers.{name}"
    try:
        return getattr(import_module(path), "create", None)
    except ModuleNotFoundError as error:
        if error.name == path:
            return None
        raise ConfigError(
            f"the adapter {name} needs the package {error.name}: install it"
        ) from None


def resolve_key(uri: ModelURI, variable: str | None) -> str | None:
    """Return the key: from the URI, else from the environment; a blank one counts as missing.

    `variable` is the preset's; without one the key is optional and `{PROVIDER}_API_KEY` is used.
    An address of the user's own may need no key. Raises `ConfigError` when one is missing.
    """
    name = variable or f"{uri.provider.upper().replace('-', '_').replace('.', '_')}_API_KEY"
    key = uri.api_key or os.environ.get(name, "").strip()
    if key:
        add_secret(key)
        if not re.fullmatch(r"[!-~]+", key):  # a header cannot carry it
            raise ConfigError(f"the key of {uri.provider} holds a space or a special character")
        return key
    if variable is None or uri.base_url is not None:
        return None
    raise ConfigError(
        f"{name} is not set, and {uri.provider} needs a key. Set it in the environment or in .env, "
        "or try without a key: --model chat://offline/echo"
    )


def check_address(url: str, uri: ModelURI) -> None:
    """Raise `ConfigError` if the address that requests would go to is no valid URL."""
    try:
        httpx2.URL(url)
        return
    except httpx2.InvalidURL:
        pass  # raised below: the context of an error is shown with it
    raise ConfigError(f"model URI {uri}: its address is no valid URL")


def parse_tool_call(
    call_id: str, name: str, raw: str, replay: dict[str, Any] | None = None
) -> ToolCall:
    """Return a call from the arguments a model wrote; what is no JSON object becomes `malformed`.

    Nothing at all and `null` mean no arguments.
    """
    try:
        arguments = decode_json(raw) if raw.strip() else {}
    except ValueError:
        arguments = raw
    if arguments is None:
        arguments = {}
    if isinstance(arguments, dict):
        try:
            return ToolCall(call_id, name, arguments, None, replay)
        except ValueError:
            pass  # too deep, or a number that JSON does not have
    return ToolCall(call_id, name, {}, raw, replay)
