"""Debug directories that cannot be written: one warning, and the conversation goes on."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ...agent.agent import Agent
from ...observability.logger import Logger
from ...observability.run_context import create_run_context
from ..agent.words import LOOK_UP, get_word
from ..conftest import MakeRequester
from ..fake_chat import FakeChat, calls

pytestmark = [
    pytest.mark.checklist("artifacts"),
    pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX files"),
]


def a_file(debug: Path) -> None:
    """Put a file where the directory should be."""
    debug.write_text("in the way")


def read_only(debug: Path) -> None:
    """Make a directory that takes no files."""
    debug.mkdir(mode=0o500)
    if os.access(debug, os.W_OK):  # root may write anywhere but into /proc
        debug.rmdir()
        debug.symlink_to("/proc/debug")


def a_device(debug: Path) -> None:
    """Point at the device that is always full."""
    debug.symlink_to("/dev/full")


def full(debug: Path) -> None:
    """Let the disk be full from the first byte on."""
    (debug / "r").mkdir(parents=True)
    (debug / "r" / "run.yaml").symlink_to("/dev/full")


@pytest.mark.parametrize("deltas", [False, True])
@pytest.mark.parametrize("spoil", [a_file, read_only, a_device, full])
async def test_a_debug_directory_that_cannot_be_written_costs_one_warning(
    requester: MakeRequester,
    logger: Logger,
    log: io.StringIO,
    tmp_path: Path,
    spoil: Callable[[Path], None],
    deltas: bool,
) -> None:
    """Two turns with tools end as if nothing were wrong, and the warning says what is off."""
    spoil(tmp_path / "spoiled")
    ctx = create_run_context(logger, debug_dir=tmp_path / "spoiled", run_id="r")
    with FakeChat([calls(LOOK_UP), "Everywhere.", "Sure."]) as fake:
        agent = Agent(requester(fake, ctx=ctx), tools=[get_word])
        for question in ("What is ubiquitous?", "Thanks"):
            async for _ in agent.stream(question, deltas=deltas):
                pass
    assert agent.get_history()[-1].text == "Sure."
    (warning,) = [line for line in log.getvalue().splitlines() if "WARN" in line]
    assert "the call log is off for this run" in warning


async def test_a_disk_that_fills_up_in_the_middle_keeps_what_was_written(
    requester: MakeRequester, logger: Logger, log: io.StringIO, tmp_path: Path
) -> None:
    """Files from before stay readable, and the run goes on without more of them."""
    import yaml  # type: ignore[import-untyped, unused-ignore]

    ctx = create_run_context(logger, debug_dir=tmp_path / "debug", run_id="r")
    with FakeChat(["one", "two", "three"]) as fake:
        agent = Agent(requester(fake, ctx=ctx))
        await agent.run("a")
        (ctx.run_dir / "run.yaml").unlink()
        (ctx.run_dir / "run.yaml").symlink_to("/dev/full")
        await agent.run("b")
        await agent.run("c")
    (first,) = ctx.run_dir.glob("agent/*.yaml")
    assert yaml.safe_load(first.read_text(encoding="utf-8"))["call"] == 1
    assert agent.get_history()[-1].text == "three"
    assert log.getvalue().count("WARN") == 1


async def test_a_debug_file_that_cannot_be_saved_costs_one_warning(
    logger: Logger, log: io.StringIO, tmp_path: Path
) -> None:
    """A tool that keeps a file of its own is told that there is none."""
    (tmp_path / "debug").write_text("in the way")
    ctx = create_run_context(logger, debug_dir=tmp_path / "debug")
    assert ctx.save_debug_file("page.html", "<p>hi</p>") is None
    assert log.getvalue().count("WARN") == 1
