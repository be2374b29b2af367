"""The description of an MCP server."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from ...errors import ConfigError
from ...observability.redact import mask
from ...tools.mcp_config import HttpServer, StdioServer, read_config


@dataclass
class Foreign:
    """A description that somebody's own settings hold."""

    command: str = "srv"
    args: tuple[str, ...] = ("-v",)
    env: None = None


def test_dicts_and_dataclasses_describe_a_server() -> None:
    """A type can be left out, since a command and a URL tell it; None is as good as nothing."""
    stdio = StdioServer("srv", ["-v"], {"A": "1"}, "/")
    given = {"type": "stdio", "command": "srv", "args": ["-v"], "env": {"A": "1"}, "cwd": "/"}
    assert read_config(given, "s") == stdio
    assert read_config(stdio, "s") == stdio
    assert read_config(Foreign(), "s") == StdioServer("srv", ("-v",))
    assert read_config({"url": "http://a/"}, "s") == HttpServer("http://a/")
    assert read_config({"type": "sse", "url": "http://a/"}, "s").type == "sse"


@pytest.mark.parametrize(
    ("config", "problem"),
    [
        ([], "list is no description; give a dict"),
        ({"type": "ws", "url": "ws://a"}, "type 'ws' is none of stdio, http, sse"),
        ({"type": "stdio"}, "type stdio needs `command`"),
        ({"type": "http"}, "type http needs `url`"),
        ({"command": " "}, "`command` must be the name or the path of a program"),
        ({"command": "a", "args": "-v"}, "`args` must be a list of texts"),
        ({"command": "a", "env": {"A": 1}}, "`env`: 'A' must be a text"),
        ({"command": "a", "headers": {}}, "there is no 'headers' for type stdio; known: command"),
        ({"url": "mcp.example"}, "`url` must begin with http:// or https://"),
        ({"url": "http://a", "headers": {"X": None}}, "`headers`: 'X' must be a text"),
        ({"url": "http://a", "headers": {"X": "a\r\nb"}}, "header 'X' holds characters"),
    ],
)
def test_a_wrong_description_is_refused(config: Any, problem: str) -> None:
    """The error names the server and what to correct."""
    with pytest.raises(ConfigError) as caught:
        read_config(config, "web")
    assert str(caught.value).startswith(f"MCP server web: {problem}")


@pytest.mark.checklist("secrets")
@pytest.mark.parametrize(
    "config",
    [
        {"url": "https://a/mcp?key=canary-123456"},
        {"url": "https://u:canary-123456@a/mcp"},
        {"url": "https://a/mcp", "headers": {"Authorization": "Bearer canary-123456"}},
        {"url": "https://a/mcp", "headers": {"X-Thing": "canary-123456"}},
        {"command": "a", "env": {"GITHUB_TOKEN": "canary-123456"}},
        {"command": "a", "args": ["--api-key", "canary-123456"]},
        {"command": "a", "args": ["--api-key=canary-123456"]},
    ],
)
def test_secrets_in_a_description_are_known_from_then_on(config: Any) -> None:
    """They are in no repr, and masked wherever they turn up."""
    assert "canary" not in repr(read_config(config, "s"))
    assert mask("leaks canary-123456") == "leaks ***"
