"""Tests of `python -m <package>.agentkit`, the command line with a plain agent."""

from __future__ import annotations

from pathlib import Path

import pytest

from ...__main__ import build_agent
from .commands import ECHO, invoke, only_line


def test_it_answers_with_the_model_of_the_option() -> None:
    """`--model` is all that it needs."""
    assert invoke(build_agent, "ask", "hi", "--model", ECHO).stdout == "You said: hi\n"


def test_it_answers_with_the_model_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without `--model` it takes AGENT_MODEL."""
    monkeypatch.setenv("AGENT_MODEL", ECHO)
    assert invoke(build_agent, "ask", "hi").stdout == "You said: hi\n"


def test_without_a_model_it_says_what_to_set() -> None:
    """No model is one line that names the option and the variable."""
    line = only_line(invoke(build_agent, "ask", "hi").stderr)
    assert line.startswith("error: no model: give --model or set AGENT_MODEL")


def test_it_keeps_sessions_in_a_file() -> None:
    """Sessions go to `.agentkit/sessions.db`, so that a later chat goes on with them."""
    invoke(build_agent, "ask", "hi", "--model", ECHO, "--session", "s1")
    assert Path(".agentkit/sessions.db").is_file()
    shown = invoke(build_agent, "chat", "--model", ECHO, "--session", "s1").stderr
    assert shown.startswith("session s1 (2 messages so far)")


def test_it_has_no_tools() -> None:
    """The plain agent can only talk."""
    assert invoke(build_agent, "tools").stderr == "the agent has no tools\n"
