"""Standard streams that are closed or full: one line or none, and the right exit code."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

import pytest

from ...cli import run
from ...cli.terminal import OutputLost, prepare_streams, say, say_aside
from .commands import PROG, echo_agent, only_line

FULL = Path("/dev/full")


@contextmanager
def standard(**streams: TextIO) -> Iterator[None]:
    """Have these standard streams, the others closed; what is opened in their place is closed."""
    before = {name: getattr(sys, name) for name in ("stdin", "stdout", "stderr")}
    try:
        for name in before:
            setattr(sys, name, streams.get(name))
        yield
        opened = {getattr(sys, name) for name in before} - {None, *streams.values()}
        for stream in opened:
            stream.close()
    finally:
        for name, stream in before.items():
            setattr(sys, name, stream)


def ended(monkeypatch: pytest.MonkeyPatch, *arguments: str, **streams: TextIO) -> object:
    """Run a command as a process with these streams would; return its exit code."""
    monkeypatch.setattr(sys, "argv", [PROG, *arguments])
    with standard(**streams), pytest.raises(SystemExit) as caught:
        run(echo_agent, PROG)
    return caught.value.code


def test_closed_streams_are_opened() -> None:
    """Input is empty, notes go nowhere, and output that has nowhere to go is an error."""
    with standard():
        prepare_streams()
        assert sys.stdin.read() == ""
        say_aside("a note")
        with pytest.raises(OutputLost, match="standard output"):
            say("an answer")


@pytest.mark.parametrize("command", ["chat", "runs"])
def test_a_command_with_nothing_to_say_needs_no_streams(
    monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    """As where a service starts it."""
    assert ended(monkeypatch, command) == 0


@pytest.mark.skipif(not FULL.exists(), reason="needs /dev/full")
@pytest.mark.parametrize("command", [("ask", "hi"), ("ask", "hi", "--json"), ("chat",), ("tools",)])
def test_an_answer_that_cannot_be_written_is_an_error(
    monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    """A full disk is one line, and the exit code says that the answer is lost."""
    errors = io.StringIO()
    with FULL.open("w") as full:
        typed = io.StringIO("hi\nagain\n")
        code = ended(monkeypatch, *command, stdin=typed, stdout=full, stderr=errors)
        with pytest.raises(OSError, match="No space"):
            full.close()
    assert code == 1
    line = only_line(errors.getvalue().partition("lists the commands\n")[2] or errors.getvalue())
    assert line == "error: standard output: No space left on device"


@pytest.mark.skipif(not FULL.exists(), reason="needs /dev/full")
def test_notes_that_cannot_be_written_cost_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The answers come all the same."""
    answers, typed = io.StringIO(), io.StringIO("one\ntwo\n")
    with FULL.open("w") as full:
        assert ended(monkeypatch, "chat", stdin=typed, stdout=answers, stderr=full) == 0
        with pytest.raises(OSError, match="No space"):
            full.close()
    assert answers.getvalue() == "You said: one\nYou said: two\n"
