"""A new debug directory hides itself from git."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from ...messages import Message
from ...observability.call_log import CallLog
from ...observability.logger import Logger
from ...observability.run_context import RunContext
from .log_records import play

QUESTION, ANSWER = Message.user("What does it mean?"), Message.assistant("Everywhere at once.")


def test_the_call_log_hides_the_directory_that_it_makes(call_log: CallLog, run_dir: Path) -> None:
    """Conversations are not committed by accident, whatever the project's own .gitignore says."""
    play(call_log, [QUESTION], ANSWER)
    assert (run_dir.parent / ".gitignore").read_text(encoding="utf-8") == "*\n"


def test_a_debug_file_hides_the_directory_that_it_makes(ctx: RunContext) -> None:
    """Also where no model was called."""
    ctx.save_debug_file("note.txt", "x", "stage")
    assert (ctx.debug_dir / ".gitignore").read_text(encoding="utf-8") == "*\n"


def test_a_directory_that_was_there_is_left_alone(call_log: CallLog, run_dir: Path) -> None:
    """It may hold files that are meant to be committed."""
    run_dir.parent.mkdir()
    play(call_log, [QUESTION], ANSWER)
    assert [path.name for path in run_dir.parent.iterdir()] == [run_dir.name]


def test_the_current_directory_is_left_alone(logger: Logger) -> None:
    """A debug directory of "." is not a new one."""
    play(CallLog(Path("run-1"), logger), [QUESTION], ANSWER)
    assert sorted(path.name for path in Path.cwd().iterdir()) == ["run-1"]


def test_a_gitignore_that_cannot_be_written_costs_nothing(
    call_log: CallLog, run_dir: Path, log: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The call is logged all the same, without a warning."""

    def refuse(path: Path, *arguments: object, **named: object) -> int:
        raise OSError(f"no space for {path}")

    monkeypatch.setattr(Path, "write_text", refuse)
    play(call_log, [QUESTION], ANSWER)
    assert (run_dir / "main" / "0001-chat.yaml").exists()
    assert log.getvalue() == ""
