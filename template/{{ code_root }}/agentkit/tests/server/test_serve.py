"""Tests of `serve`: its options and settings, and what it refuses."""

from __future__ import annotations

import socket

import pytest

from ...agent.agent import Agent
from ...errors import ConfigError
from ...observability.run_context import RunContext
from ...server import run
from ...server.serve import _parse
from ...server.settings import ServerSettings, tokens_from_environment
from .serving import ECHO


def build_agent(model: str | None = None, ctx: RunContext | None = None) -> Agent:
    return Agent(model or ECHO, ctx=ctx)


def test_tokens_come_from_the_environment() -> None:
    """One for a backend, and one for each user."""
    found = tokens_from_environment({"AGENT_TOKEN": " t0 ", "AGENT_TOKENS": "a=t1, b = t2,"})
    assert found == {"t0": None, "t1": "a", "t2": "b"}
    assert tokens_from_environment({"AGENT_TOKEN": " "}) == {}


@pytest.mark.parametrize("pairs", ["hidden", "hidden=", "=hidden", "alice=hidden,bob=hidden"])
@pytest.mark.checklist("secrets")
def test_a_pair_that_is_none_is_refused_without_being_shown(pairs: str) -> None:
    """It could be a token: the line says which entry it is and what one looks like."""
    with pytest.raises(ConfigError, match=r"AGENT_TOKENS, entry [12]: write user=token") as raised:
        tokens_from_environment({"AGENT_TOKENS": pairs})
    assert "hidden" not in str(raised.value)


@pytest.mark.checklist("secrets")
def test_tokens_are_never_shown() -> None:
    """Not in the settings' repr."""
    assert "secret-token" not in repr(ServerSettings({"secret-token": None}))


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "example.org"])
def test_without_a_token_only_this_machine_is_served(
    host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One line names the variables that lift it."""
    monkeypatch.delenv("AGENT_TOKENS", raising=False)
    with pytest.raises(ConfigError, match="set AGENT_TOKEN or AGENT_TOKENS to listen on"):
        run(build_agent, "my-agent", ["--host", host])


def test_a_port_that_is_taken_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """It says which."""
    monkeypatch.delenv("AGENT_TOKENS", raising=False)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ConfigError, match=f"cannot listen on 127.0.0.1 port {port}"):
            run(build_agent, "my-agent", ["--port", str(port)])


def test_the_limits_are_options() -> None:
    """Each with the default of the settings, and of its kind."""
    options = _parse("my-agent", ["--max-input", "5", "--grace", "1.5"])
    assert (options.max_input, options.grace) == (5, 1.5)
    assert options.turns_at_once == ServerSettings().turns_at_once


@pytest.mark.parametrize(
    "option", [("--turns-per-minute", "0"), ("--grace", "nan"), ("--wait", "-1")]
)
def test_a_limit_that_cannot_be_one_is_one_line(option: tuple[str, str]) -> None:
    """It says which, before anything is served."""
    name = option[0].strip("-").replace("-", "_")
    with pytest.raises(ConfigError, match=f"{name} is .*: use a number of at least"):
        run(build_agent, "my-agent", option)
