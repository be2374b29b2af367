"""Tests of what a person sees when something is wrong: one line, and an exit code."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from ...agent.agent import Agent
from ...errors import (
    AgentkitError,
    AuthenticationFailed,
    BadRequest,
    ContextTooLong,
    LlmError,
    QuotaExhausted,
    RateLimited,
    UnknownModel,
)
from ...observability.run_context import RunContext
from .commands import STORE, echo_agent, invoke, only_line, scripted

KEY = "sk-secret-0123456789abcdef"


def failure(*arguments: str, code: int = 1) -> str:
    """Run a command that fails and return its one line, behind `error: `."""
    result = invoke(echo_agent, *arguments)
    assert (result.exit_code, result.stdout) == (code, "")
    line = only_line(result.stderr)
    assert line.startswith("error: ")
    return line.removeprefix("error: ")


def test_a_missing_key_names_the_variable() -> None:
    """The line says which variable to set, and how to go on without a key."""
    line = failure("ask", "x", "--model", "chat://openai/gpt-5-mini")
    assert "OPENAI_API_KEY is not set" in line
    assert "chat://offline/echo" in line


def test_an_unknown_provider_names_those_that_are_known() -> None:
    """The line lists what can be used."""
    assert "openrouter" in failure("ask", "x", "--model", "responses://nobody/some-model")


@pytest.mark.parametrize("uri", ["nonsense", "ftp://openai/x", "chat://openai/x?colour=red"])
def test_a_bad_uri_is_refused(uri: str) -> None:
    """What is no model URI is told as one line in every command that takes one."""
    for command in (("ask", "x"), ("chat",)):
        result = invoke(echo_agent, *command, "--model", uri)
        assert result.exit_code == 1
        assert "model URI" in only_line(result.stderr)


def test_a_key_in_a_bad_uri_is_masked() -> None:
    """An error never repeats a secret."""
    uri = f"chat://openai/x?apiKey={KEY}&maxTokens=none"
    assert KEY not in failure("ask", "x", "--model", uri)


@pytest.mark.usefixtures("loopback")
def test_an_unreachable_server_is_one_line() -> None:
    """The line names the address and asks whether anything runs there."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))  # bound but not listening: refuses connections
        address = f"http://127.0.0.1:{unused.getsockname()[1]}/v1"
        uri = f"chat://vllm/x?baseURL={address}&maxRetries=0"
        line = failure("ask", "x", "--model", uri)
    assert address in line
    assert "is the server running?" in line


@pytest.mark.parametrize(
    ("error", "advice"),
    [
        (AuthenticationFailed("no"), "check the key"),
        (QuotaExhausted("no"), "add credit"),
        (UnknownModel("no"), "check the model's name"),
        (ContextTooLong("no"), "start a new session"),
        (RateLimited("no", retry_after=99.0), "wait a while"),
        (BadRequest("no"), ""),
    ],
)
def test_an_error_of_the_provider_says_what_to_do(error: LlmError, advice: str) -> None:
    """Each kind of error comes with its own advice."""
    replies = [error, error] if isinstance(error, ContextTooLong) else [error]
    result = invoke(scripted(*replies), "ask", "x", "--log-level", "error")
    assert (result.exit_code, result.stdout) == (1, "")
    line = result.stderr.splitlines()[-1]
    assert line.startswith(f"error: no; {advice}" if advice else "error: no")


def test_a_broken_session_file_is_named() -> None:
    """A file that is no database is one line with its name."""
    STORE.write_text("no database " * 100, encoding="utf-8")
    for command in (("ask", "x"), ("chat", "--session", "s1")):
        assert str(STORE) in failure(*command)


def test_an_unwritable_folder_is_named() -> None:
    """Sessions that cannot be stored are one line with the path."""
    Path("taken").write_text("", encoding="utf-8")

    def build(model: str | None = None, ctx: RunContext | None = None) -> Agent:
        agent = echo_agent(model, ctx)
        agent.store = type(agent.store)("taken/sessions.db")  # type: ignore[call-arg]
        return agent

    result = invoke(build, "ask", "x")
    assert result.exit_code == 1
    assert "taken" in only_line(result.stderr)


def test_a_debug_folder_that_cannot_be_written_costs_one_warning() -> None:
    """The answer comes all the same."""
    Path("taken").write_text("", encoding="utf-8")
    result = invoke(echo_agent, "ask", "x", "--debug-dir", "taken")
    assert (result.exit_code, result.stdout) == (0, "You said: x\n")
    assert "the call log is off" in only_line(result.stderr)


def test_an_error_in_the_users_code_says_where() -> None:
    """A fault in build_agent is one line with the file and line it happened in."""

    def build(model: str | None = None, ctx: RunContext | None = None) -> Agent:
        raise KeyError("missing")

    result = invoke(build, "ask", "x")
    assert result.exit_code == 1
    line = only_line(result.stderr)
    assert line.startswith("error: KeyError: 'missing'")
    assert line.endswith("--log-level debug shows the traceback")


def test_debug_level_shows_the_traceback() -> None:
    """Who looks for a fault of their own gets all of it."""

    def build(model: str | None = None, ctx: RunContext | None = None) -> Agent:
        raise KeyError("missing")

    assert "Traceback (most recent" in invoke(build, "ask", "x", "--log-level", "debug").stderr


def test_build_agent_that_returns_nothing_is_told() -> None:
    """A forgotten return is named as what it is."""
    result = invoke(lambda model=None, ctx=None: None, "ask", "x")  # type: ignore[arg-type]
    assert "build_agent returned NoneType; it must return the Agent" in only_line(result.stderr)


def test_a_long_message_is_cut() -> None:
    """A provider that answers with a whole page does not fill the screen."""
    result = invoke(scripted(BadRequest("<p>\n" * 5_000)), "ask", "x")
    assert len(only_line(result.stderr)) < 1_200


def test_control_sequences_in_an_error_are_dropped() -> None:
    """A hostile server's error text cannot drive the terminal either."""
    error: AgentkitError = BadRequest("a\x1b[2Jb\x9b1mc")
    assert only_line(invoke(scripted(error), "ask", "x").stderr) == "error: abc"
