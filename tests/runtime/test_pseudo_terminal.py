"""Tests of `ask` and `chat` on a terminal, where keys are pressed."""

from __future__ import annotations

import sys

import pytest

from agentkit.tests.cli.commands import stored

from .pseudo_terminal import CTRL_C, CTRL_D, UP, PseudoTerminal

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pseudo-terminals")
REMOVE = '/remove {"path": "x"}'


def test_ctrl_c_cancels_the_turn_and_keeps_the_session() -> None:
    """A cancelled turn leaves the chat, its session and its earlier turns as they were."""
    with PseudoTerminal("chat", "--session", "s1") as terminal:
        terminal.expect("> ")
        terminal.type("one\nwait\n")
        terminal.expect("Well, ")
        terminal.type(CTRL_C)
        terminal.expect("cancelled; the session goes on")
        terminal.expect("> ")
        terminal.type("two\n")
        terminal.expect("You said: two\n")
        terminal.expect("> ")
        terminal.type("/exit\n")
        assert terminal.end() == 0
    assert len(stored("s1")) == 4


@pytest.mark.parametrize("key", [CTRL_C, CTRL_D])
def test_ctrl_c_and_ctrl_d_at_the_prompt_end_the_chat(key: str) -> None:
    """At the prompt both keys end the chat with exit code 0."""
    with PseudoTerminal("chat") as terminal:
        terminal.expect("> ")
        terminal.insist(key, "go on with: my-agent chat --session ")
        assert terminal.end() == 0
        assert "Traceback" not in terminal.seen


def test_ctrl_c_ends_ask_with_130() -> None:
    """Ctrl-C says one line behind what had streamed, and ends with what shells expect."""
    with PseudoTerminal("ask", "wait") as terminal:
        terminal.expect("Well, ")
        terminal.type(CTRL_C)
        assert terminal.end() == 130
        assert terminal.seen == "Well, ^C\ninterrupted\n"


def test_the_prompt_has_a_history() -> None:
    """The up key brings the last line back."""
    pytest.importorskip("readline")
    with PseudoTerminal("chat") as terminal:
        terminal.expect("> ")
        terminal.type("once more\n")
        terminal.expect("You said: once more")
        terminal.expect("> ")
        terminal.type(UP + "\n")
        terminal.expect("You said: once more")
        terminal.expect("> ")
        terminal.type(CTRL_D)
        assert terminal.end() == 0


def test_a_tool_runs_when_the_person_says_yes() -> None:
    """The question waits for the person's answer."""
    with PseudoTerminal("chat") as terminal:
        terminal.expect("> ")
        terminal.type(REMOVE + "\n")
        terminal.expect('run remove {"path":"x"}? [y/N] ')
        terminal.type("y\n")
        terminal.expect(": removed x")
        terminal.expect("> ")
        terminal.type(CTRL_D)
        assert terminal.end() == 0


def test_what_was_typed_before_the_question_does_not_approve() -> None:
    """A `y` that was typed ahead is no answer to a question nobody had seen."""
    with PseudoTerminal("chat") as terminal:
        terminal.expect("> ")
        terminal.type(REMOVE + "\ny\n")
        terminal.expect("[y/N] ")
        terminal.type("n\n")
        terminal.expect("did not approve")
        terminal.expect("> ")
        terminal.type(CTRL_D)
        assert terminal.end() == 0
        assert "removed x" not in terminal.seen


def test_ask_asks_for_approval_on_a_terminal() -> None:
    """Where a person sits, `ask` asks as well."""
    with PseudoTerminal("ask", REMOVE) as terminal:
        terminal.expect("[y/N] ")
        terminal.type("y\n")
        assert terminal.end() == 0
        assert "\nremove says: removed x\n" in terminal.seen


def test_ctrl_c_at_a_question_cancels_the_turn() -> None:
    """A question that is not answered runs nothing, and the chat goes on."""
    with PseudoTerminal("chat") as terminal:
        terminal.expect("> ")
        terminal.type(REMOVE + "\n")
        terminal.expect("[y/N] ")
        terminal.type(CTRL_C)
        terminal.expect("cancelled; the session goes on")
        terminal.expect("> ")
        terminal.type(CTRL_D)
        assert terminal.end() == 0
        assert "removed x" not in terminal.seen
