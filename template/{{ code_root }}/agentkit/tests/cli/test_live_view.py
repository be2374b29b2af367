"""Tests of how a conversation is shown while it happens."""

from __future__ import annotations

import io
import sys

import pytest

from ...cli.live_view import LiveView
from ...llm.events import Appended, Finished, Retrying, TextDelta, ToolStarted
from ...llm.result import GenerateResult
from ...messages import Message, ToolCall
from ...observability.logger import Logger
from ...observability.redact import add_secret


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def open_screen(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Return a terminal that stdout and stderr share from now on."""
    monkeypatch.setenv("NO_COLOR", "1")
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    monkeypatch.setattr(sys, "stderr", terminal)
    return terminal


def test_text_appears_as_it_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each piece is shown at once, and the end of a message ends the line."""
    screen = open_screen(monkeypatch)
    view = LiveView()
    view.show(TextDelta("Hel"))
    assert screen.getvalue() == "Hel"
    view.show(TextDelta("lo"))
    view.show(Appended((Message.user("x"), Message.assistant("Hello"))))
    view.show(Finished(GenerateResult(text="Hello")))
    assert screen.getvalue() == "Hello\n"


def test_an_answer_that_was_not_streamed_is_shown_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """A provider that sends no pieces is not silent."""
    screen = open_screen(monkeypatch)
    view = LiveView()
    view.show(Appended((Message.assistant("Hello"),)))
    assert screen.getvalue() == "Hello\n"


def test_other_lines_do_not_run_into_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tools and log lines begin on a line of their own."""
    screen = open_screen(monkeypatch)
    view = LiveView()
    view.show(TextDelta("Let me see"))
    view.show(ToolStarted(ToolCall("c1", "look")))
    view.show(TextDelta("Well"))
    Logger("test", "warn", view.log).warn("careful")
    lines = screen.getvalue().splitlines()
    assert lines[:3] == ["Let me see", "tool look {}", "Well"]
    assert lines[3].endswith("WARN  [test] careful")


def test_a_retry_on_a_terminal_begins_a_new_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was shown cannot be taken back, so it is said that it starts over."""
    screen = open_screen(monkeypatch)
    view = LiveView()
    view.show(TextDelta("Hel"))
    view.show(Retrying(1, "connection lost", 1.0))
    view.show(TextDelta("Hello"))
    view.show(Appended((Message.assistant("Hello"),)))
    assert screen.getvalue() == "Hel\ntrying again in 1.0 s: connection lost\nHello\n"


def test_nothing_is_written_into_an_open_question(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines that come while a question waits are shown after it."""
    screen = open_screen(monkeypatch)
    view = LiveView()
    with view.question("sure? "):
        view.show(ToolStarted(ToolCall("c1", "look")))
        assert screen.getvalue() == "sure? "
    assert screen.getvalue() == "sure? tool look {}\n"


def test_a_known_secret_in_a_call_is_masked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key among a tool's arguments is not shown."""
    screen = open_screen(monkeypatch)
    add_secret("sk-0123456789abcdef")
    LiveView().show(ToolStarted(ToolCall("c1", "look", {"key": "sk-0123456789abcdef"})))
    assert screen.getvalue() == 'tool look {"key":"***"}\n'


@pytest.mark.parametrize(
    ("no_color", "shown"), [("", "\x1b[2mtool a {}\x1b[0m\n"), ("1", "tool a {}\n")]
)
def test_what_is_not_the_answer_is_dim(
    monkeypatch: pytest.MonkeyPatch, no_color: str, shown: str
) -> None:
    """On a terminal it steps back, unless NO_COLOR asks for no styles."""
    screen = open_screen(monkeypatch)
    monkeypatch.setenv("NO_COLOR", no_color)
    LiveView().show(ToolStarted(ToolCall("c1", "a")))
    assert screen.getvalue() == shown


def test_elsewhere_only_the_final_answer_is_written(capsys: pytest.CaptureFixture[str]) -> None:
    """In a pipe a reply that broke off leaves no trace."""
    view = LiveView()
    view.show(TextDelta("Hel"))
    view.show(Retrying(1, "connection lost", 0.0))
    view.show(TextDelta("Hello"))
    view.show(Appended((Message.assistant("Hello"),)))
    view.show(Finished(GenerateResult(text="Hello")))
    assert capsys.readouterr() == ("Hello\n", "trying again: connection lost\n")
