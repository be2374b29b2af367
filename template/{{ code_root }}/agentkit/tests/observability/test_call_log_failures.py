"""A disk that fails costs the call log, never the call."""

from __future__ import annotations

import io
import os
import shutil
import threading
from pathlib import Path
from typing import Any

import pytest

from ...messages import Message
from ...observability.call_log import CallLog
from ...observability.records import RunStarted
from .log_records import attempt, finished, play, reply, started

pytestmark = pytest.mark.checklist("artifacts")

QUESTION = Message.user("What does it mean?\nIn one line.")
ANSWER = Message.assistant("Everywhere at once.")


def _files(run_dir: Path) -> list[str]:
    return sorted(path.relative_to(run_dir).as_posix() for path in run_dir.glob("*/*.yaml"))


def test_an_open_call_keeps_no_file_open(call_log: CallLog) -> None:
    """Hundreds of calls at once leave the descriptors to their connections."""
    if not Path("/dev/fd").exists():
        pytest.skip("needs /dev/fd")
    before = len(os.listdir("/dev/fd"))
    for _ in range(20):
        call_log(started([QUESTION]))
    assert len(os.listdir("/dev/fd")) == before


def test_a_directory_that_cannot_be_made_costs_one_warning(
    call_log: CallLog, run_dir: Path, log: io.StringIO
) -> None:
    """The log is off for the run, and no call hears of it."""
    run_dir.parent.mkdir()
    run_dir.write_text("a file where the directory should be")
    call_log(RunStarted(1, "chat"))
    for _ in range(3):
        play(call_log, [QUESTION], ANSWER)
    assert log.getvalue().count("WARN") == 1
    assert "the call log is off for this run" in log.getvalue()


def test_a_link_to_nowhere_costs_one_warning(
    call_log: CallLog, run_dir: Path, log: io.StringIO
) -> None:
    """A stage directory that cannot be made is not tried for ever."""
    run_dir.mkdir(parents=True)
    (run_dir / "main").symlink_to(run_dir / "nowhere" / "at-all")
    play(call_log, [QUESTION], ANSWER)
    assert log.getvalue().count("WARN") == 1


def test_a_disk_that_fills_up_costs_one_warning(
    call_log: CallLog, run_dir: Path, log: io.StringIO
) -> None:
    """No space in the middle of a call: the rest of the run is not logged and not retried."""
    if not Path("/dev/full").exists():
        pytest.skip("needs /dev/full")
    call = started([QUESTION])
    call_log(call)
    path = run_dir / "main" / "0001-chat.yaml"
    path.unlink()
    path.symlink_to("/dev/full")
    call_log(attempt(call, reply(ANSWER)))
    call_log(finished(call))
    play(call_log, [QUESTION], ANSWER)
    assert _files(run_dir) == ["main/0001-chat.yaml"]
    assert log.getvalue().count("WARN") == 1
    assert "No space left" in log.getvalue()


def test_a_record_that_fits_only_in_part_is_taken_back(
    call_log: CallLog, run_dir: Path, log: io.StringIO
) -> None:
    """The file stays whole YAML when the disk takes half a record."""
    resource = pytest.importorskip("resource")
    call = started([QUESTION])
    call_log(call)
    path = run_dir / "main" / "0001-chat.yaml"
    whole = path.read_bytes()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(whole) + 50, limits[1]))
    try:
        call_log(attempt(call, reply(ANSWER)))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert path.read_bytes() == whole
    assert log.getvalue().count("WARN") == 1


def test_a_directory_deleted_while_running_costs_one_warning(
    call_log: CallLog, run_dir: Path, log: io.StringIO
) -> None:
    """Somebody cleans up the debug directory in the middle of a call."""
    call = started([QUESTION])
    call_log(call)
    shutil.rmtree(run_dir)
    call_log(attempt(call, reply(ANSWER)))
    call_log(finished(call))
    assert log.getvalue().count("WARN") == 1


class Interrupted(tuple[Message, ...]):
    """Messages during whose comparison `meanwhile` happens."""

    meanwhile: threading.Thread

    def __getitem__(self, index: Any) -> Any:
        if not self.meanwhile.ident:
            self.meanwhile.start()
            self.meanwhile.join(0.05)  # it has to wait, if all is well
        return super().__getitem__(index)


def test_a_run_in_several_threads_is_logged_whole(
    call_log: CallLog, run_dir: Path, log: io.StringIO
) -> None:
    """A call that begins while another one is written does not disturb it."""
    play(call_log, [QUESTION], ANSWER)
    messages = Interrupted([QUESTION, ANSWER, QUESTION])
    messages.meanwhile = threading.Thread(target=play, args=(call_log, [ANSWER], ANSWER))
    call_log(started(messages))
    messages.meanwhile.join(5)
    assert len(_files(run_dir)) == 3
    assert log.getvalue() == ""
