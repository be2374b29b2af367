"""Run ids, debug files and observers."""

from __future__ import annotations

import io
import json
import os
import sys
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

import pytest

from ...errors import ConfigError
from ...observability import run_context
from ...observability.logger import Logger
from ...observability.records import Record, RunStarted
from ...observability.redact import add_secret
from ...observability.run_context import (
    RunContext,
    create_run_context,
    get_sub_debug_dir,
    new_run_id,
    slug,
    started_at,
)

# What tells the clock: time.time_ns of the module under test.
CLOCK = "time.time_ns"


def _set_clock(monkeypatch: pytest.MonkeyPatch, milliseconds: int) -> None:
    """Set the clock of a process just started."""
    monkeypatch.setattr(run_context, "_least_left", [run_context._LAST_MS])
    monkeypatch.setattr(CLOCK, lambda: milliseconds * 1_000_000)


@pytest.mark.checklist("run_ids")
def test_a_later_run_sorts_before_an_earlier_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """A plain directory listing shows the newest run first, over years."""
    ids = []
    for milliseconds in (0, 1, 999, 1_000, 1_700_000_000_000, 1_700_000_000_001, 9_999_999_999_999):
        _set_clock(monkeypatch, milliseconds)
        ids.append(new_run_id())
    assert sorted(ids) == ids[::-1]


@pytest.mark.checklist("run_ids")
def test_runs_of_one_millisecond_sort_newest_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also what begins within one tick of the clock keeps its order."""
    _set_clock(monkeypatch, 1_700_000_000_000)
    ids = [new_run_id() for _ in range(200)]
    assert sorted(ids) == ids[::-1]


@pytest.mark.checklist("run_ids")
def test_a_clock_that_is_set_back_does_not_change_the_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Within a process the newest run sorts first, whatever the clock says."""
    _set_clock(monkeypatch, 1_700_000_000_000)
    ids = [new_run_id()]
    for milliseconds in (1_600_000_000_000, 1_650_000_000_000, 1_700_000_000_001):
        monkeypatch.setattr(CLOCK, lambda now=milliseconds: now * 1_000_000)
        ids.append(new_run_id())
    assert sorted(ids) == ids[::-1]


@pytest.mark.checklist("run_ids")
def test_two_processes_do_not_share_an_id(monkeypatch: pytest.MonkeyPatch) -> None:
    """A random tail tells apart what clock and counter cannot."""
    _set_clock(monkeypatch, 1_700_000_000_000)
    ids = set()
    for _ in range(20):
        monkeypatch.setattr(run_context, "_sequence", count())  # as in a process just started
        ids.add(new_run_id())
    assert len(ids) > 10


@pytest.mark.checklist("run_ids")
def test_an_id_is_a_plain_file_name_on_every_system() -> None:
    """No colon, no slash, nothing to escape in a shell."""
    run_id = new_run_id()
    assert slug(run_id) == run_id
    assert len(run_id) < 40


@pytest.mark.checklist("run_ids")
def test_an_id_tells_when_its_run_began(monkeypatch: pytest.MonkeyPatch) -> None:
    """The start can be had from the id alone, to the millisecond."""
    _set_clock(monkeypatch, 1_700_000_000_123)
    assert started_at(new_run_id()) == datetime(2023, 11, 14, 22, 13, 20, 123_000, tzinfo=UTC)
    assert started_at("my-run") is None


def test_a_context_knows_its_directory_and_start(logger: Logger, tmp_path: Path) -> None:
    """Files of a run go to a directory of its own, made when the first is written."""
    ctx = create_run_context(logger, tmp_path / "debug", "run-1")
    assert ctx.run_dir == tmp_path / "debug" / "run-1"
    assert ctx.start_time.tzinfo is UTC
    assert not ctx.run_dir.exists()


@pytest.mark.parametrize("run_id", ["", "../up", "a/b", "a:b", "ä", "two words"])
def test_a_run_id_that_is_no_file_name_is_refused(run_id: str, logger: Logger) -> None:
    """The error says what is allowed."""
    with pytest.raises(ConfigError, match="use letters, digits"):
        create_run_context(logger, run_id=run_id)


def test_text_is_saved_as_it_is_and_anything_else_as_json(ctx: RunContext) -> None:
    """Debug files hold what they were given."""
    page = ctx.save_debug_file("page.html", "<p>\n", "fetch")
    data = ctx.save_debug_file("data.json", {"n": 1, "error": ValueError("x"), "raw": b"12"})
    assert page == ctx.run_dir / "fetch" / "page.html"
    assert page.read_text() == "<p>\n"
    assert data is not None
    saved = json.loads(data.read_text())
    assert (saved["n"], saved["raw"], saved["error"]["type"]) == (1, "[2 bytes]", "ValueError")


@pytest.mark.checklist("secrets")
def test_secrets_are_masked_in_debug_files(ctx: RunContext) -> None:
    """Known keys reach no file, as text or inside data."""
    add_secret("canary-0123456789")
    for content in ("text canary-0123456789", {"deep": ["canary-0123456789"]}):
        path = ctx.save_debug_file("file.txt", content)
        assert path is not None
        assert "canary" not in path.read_text()


@pytest.mark.skipif(sys.platform == "win32", reason="no POSIX modes")
def test_debug_files_are_for_their_owner_only(ctx: RunContext) -> None:
    """Nobody else on the machine reads a conversation."""
    path = ctx.save_debug_file("file.txt", "x")
    assert path is not None
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("name", ["../../escape", "/etc/passwd", "a/../../b", "c:\\x", "..", ""])
def test_debug_files_stay_inside_the_run_directory(name: str, ctx: RunContext) -> None:
    """Names and stages from outside cannot lead elsewhere."""
    path = ctx.save_debug_file(name, "x", name)
    assert path is not None
    assert path.resolve().is_relative_to(ctx.run_dir.resolve())
    assert get_sub_debug_dir(ctx, name).is_relative_to(ctx.run_dir)


def test_a_stage_may_have_stages(ctx: RunContext) -> None:
    """Slashes in a stage make directories."""
    assert get_sub_debug_dir(ctx, "plan/step 1") == ctx.run_dir / "plan" / "step-1"


def test_a_disk_that_refuses_costs_a_warning(logger: Logger, log: io.StringIO) -> None:
    """A debug file that cannot be written is not worth a failed run."""
    Path("taken").write_text("a file where the directory should be")
    ctx = create_run_context(logger, "taken")
    assert ctx.save_debug_file("file.txt", "x") is None
    assert log.getvalue().count("WARN") == 1


def test_text_that_is_no_unicode_is_saved(ctx: RunContext) -> None:
    """A lone surrogate does not stop the writing."""
    path = ctx.save_debug_file("file.txt", "a\ud83d")
    assert path is not None
    assert path.read_bytes() == b"a?"


def test_observers_are_told_in_order(logger: Logger) -> None:
    """Every observer gets every record, the same object."""
    told: list[tuple[str, Record]] = []
    ctx = create_run_context(
        logger, observers=[lambda r: told.append(("a", r)), lambda r: told.append(("b", r))]
    )
    record = RunStarted(1, "test")
    ctx.notify(record)
    assert [name for name, _ in told] == ["a", "b"]
    assert all(seen is record for _, seen in told)


def test_an_observer_that_fails_is_off_and_the_others_go_on(
    logger: Logger, log: io.StringIO
) -> None:
    """A broken observer costs one warning, never the run."""
    told: list[Record] = []

    def broken(record: Record) -> None:
        raise RuntimeError("observer bug")

    ctx = create_run_context(logger, observers=[broken, told.append])
    ctx.notify(RunStarted(1, "test"))
    ctx.notify(RunStarted(2, "test"))
    assert len(told) == 2
    assert log.getvalue().count("WARN") == 1
    assert "observer broken failed and is off: RuntimeError: observer bug" in log.getvalue()


def test_ids_of_a_context_are_different() -> None:
    """Runs, calls and tools of one context never share a number."""
    ctx = create_run_context(Logger("test"))
    assert len({ctx.next_id() for _ in range(100)}) == 100


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("plan", "plan"),
        ("Plan step: 1/2", "Plan-step-1-2"),
        ("..", "unnamed"),
        ("", "unnamed"),
        ("数据", "unnamed"),
        ("x" * 79 + ". more", "x" * 79),
    ],
)
def test_a_slug_is_a_safe_file_name(text: str, name: str) -> None:
    """Any text becomes a name that every file system takes."""
    assert slug(text) == name
    assert os.path.basename(name) == name


def test_another_context_is_watched_as_the_first_one(ctx: RunContext) -> None:
    """It has an id and observers of its own, and shares logger and directory."""
    told: list[tuple[str, Record]] = []
    ctx.watch(lambda own: lambda record: told.append((own.run_id, record)))
    other = ctx.another()
    record = RunStarted(1, "test")
    other.notify(record)
    assert told == [(other.run_id, record)]
    assert other.run_id != ctx.run_id
    assert (other.logger, other.debug_dir) == (ctx.logger, ctx.debug_dir)
