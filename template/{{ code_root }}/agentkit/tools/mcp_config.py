"""Where an MCP server is: a command to start, or a URL. Checked before anything is done with it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Literal

from ..errors import ConfigError
from ..observability.redact import add_secret, add_url_secrets, is_secret_name, mask


@dataclass(frozen=True, slots=True)
class StdioServer:
    """A server to start: a command with arguments, and the directory to start it in.

    It gets no variables of this process but those that programs need to run at all (such as PATH
    and HOME), and `env`.
    """

    command: str
    args: Sequence[str] = field(default=(), repr=False)
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    cwd: str | None = None
    type: Literal["stdio"] = "stdio"

    def __post_init__(self) -> None:
        if not isinstance(self.command, str) or not self.command.strip():
            raise ConfigError("`command` must be the name or the path of a program")
        if isinstance(self.args, str) or not all(isinstance(arg, str) for arg in self.args):
            raise ConfigError("`args` must be a list of texts")
        _check_texts("env", self.env)
        for name, value in (*self.env.items(), *_options(self.args)):
            if is_secret_name(name):
                add_secret(value)


@dataclass(frozen=True, slots=True)
class HttpServer:
    """A server at a URL; `headers` go with every request. `sse` is the transport before 2025."""

    url: str = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    type: Literal["http", "sse"] = "http"

    def __post_init__(self) -> None:
        _check_texts("headers", self.headers)
        for name, value in self.headers.items():
            if not value.isascii() or not value.isprintable():
                raise ConfigError(f"header {name!r} holds characters that HTTP cannot carry")
            add_secret(value.strip())
            add_secret(value.split(" ")[-1])  # of "Bearer …"
        if not isinstance(self.url, str) or not self.url.startswith(("http://", "https://")):
            raise ConfigError("`url` must begin with http:// or https://")
        add_url_secrets(self.url)


_KINDS: dict[Any, type[StdioServer] | type[HttpServer]] = {
    "stdio": StdioServer,
    "http": HttpServer,
    "sse": HttpServer,
}


def read_config(config: Any, name: str) -> StdioServer | HttpServer:
    """Return the server that a dict or a dataclass describes; values that are None do not count.

    Raises `ConfigError` that names the server and what is wrong with its description.
    """
    if dataclasses.is_dataclass(config) and not isinstance(config, type):
        config = {f.name: getattr(config, f.name) for f in dataclasses.fields(config)}
    try:
        if not isinstance(config, Mapping):
            raise ConfigError(f"{type(config).__name__} is no description; give a dict")
        return _make({key: value for key, value in config.items() if value is not None})
    except ConfigError as error:
        raise ConfigError(f"MCP server {name}: {error}") from None


def _make(values: dict[str, Any]) -> StdioServer | HttpServer:
    kind = values.get("type", "stdio" if "command" in values else "http")
    server = _KINDS.get(kind) if isinstance(kind, str) else None
    if server is None:
        raise ConfigError(f"type {kind!r} is none of {', '.join(_KINDS)}")
    needed = "command" if server is StdioServer else "url"
    known = [f.name for f in dataclasses.fields(server)]
    for key in values:
        if key not in known:
            raise ConfigError(f"there is no {key!r} for type {kind}; known: {', '.join(known)}")
    if needed not in values:
        raise ConfigError(f"type {kind} needs `{needed}`")
    if "cwd" in values:
        values["cwd"] = str(values["cwd"])
    return server(**values)


def _check_texts(what: str, values: Any) -> None:
    if not isinstance(values, Mapping):
        raise ConfigError(f"`{what}` must be a dict of texts")
    for name, value in values.items():
        if not isinstance(name, str) or not isinstance(value, str):
            raise ConfigError(f"`{what}`: {mask(str(name))!r} must be a text")


def _options(args: Sequence[str]) -> list[tuple[str, str]]:
    """Return options with their values: `--api-key K`, `--api-key=K`."""
    pairs = list(pairwise(args))
    pairs += [(name, value) for name, _, value in (arg.partition("=") for arg in args)]
    return [(name.lstrip("-"), value) for name, value in pairs if name.startswith("-")]
