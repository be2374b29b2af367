"""Durable runs: what they come to, in which order, and how they go on after they were cut off."""

from __future__ import annotations

import json
import os
import sqlite3
import stat
import sys
from contextlib import closing
from pathlib import Path

import pytest

from ...agent.agent import Agent
from ...durable import DurableAgent
from ...errors import AgentError, BadRequest, ConfigError, StoreError
from ...llm.providers.offline import ScriptedProvider
from .runs import Told, go_through


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the runs leave their files."""
    return tmp_path_factory.mktemp("durable")


@pytest.fixture(scope="module")
def told(folder: Path) -> Told:
    """What became of the runs."""
    return go_through(folder)


def test_a_run_is_answered_with_the_help_of_tools(told: Told) -> None:
    """The result is that of any run; tools know the session and the user."""
    result = told.results["look"]
    assert (result.text, result.finish_reason) == ("That was look.", "stop")
    assert [r.text for r in result.tool_results] == ["ubiquitous, asked for by ann in s1"]
    assert len(result.steps) == 2
    assert result.usage.total_tokens > 0


def test_an_id_that_was_used_names_the_run_that_it_began(told: Told) -> None:
    """Whoever is not sure whether a run was started starts it again, and pays once."""
    assert told.results["same id"] == told.results["look"]
    assert "another question" not in told.asked


def test_runs_of_one_session_keep_their_order(told: Told) -> None:
    """One at a time, as they were started."""
    assert [q for q in told.asked if q in ("one", "two", "three")] == ["one", "two", "three"]
    assert told.results["three"].text == "That was three."


def test_a_run_that_failed_raises_what_it_failed_with(told: Told) -> None:
    """With the status that the provider gave."""
    error = told.errors["bad"]
    assert isinstance(error, BadRequest)
    assert (str(error), error.status) == ("no such thing", 400)


@pytest.mark.parametrize(
    ("name", "kind", "says"),
    [
        ("unknown", ConfigError, "there is no run 'nobody'"),
        ("empty", ConfigError, "the input is empty: it must say something"),
        ("id", ConfigError, "run id '../x': use letters, digits, '.', '_' and '-' only"),
        ("second", ConfigError, "this process has an open DurableAgent; close it"),
        ("cancelled", AgentError, "run late-1 was cancelled"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_line(
    told: Told, name: str, kind: type[Exception], says: str
) -> None:
    """What was wrong, and with which run."""
    error = told.errors[name]
    assert isinstance(error, kind)
    assert str(error).startswith(says)


def test_a_run_that_was_cut_off_comes_to_its_end(told: Told) -> None:
    """Nobody started it again."""
    assert told.results["hang"].text == "That was hang."


def test_no_reply_is_paid_twice(told: Told) -> None:
    """Before it was cut off it asked in vain, then got a reply; only the last one was missing."""
    asked, _ = told.before
    assert [told.asked[:asked].count("hang"), told.asked[asked:]] == [2, ["hang"]]


def test_no_tool_that_ended_runs_twice(told: Told) -> None:
    """The one that was running is not run again either, because `rerun` says so."""
    _, ran = told.before
    assert (sorted(told.ran[:ran]), told.ran[ran:]) == (["look_up", "look_up", "wait"], [])


def test_the_model_and_the_log_are_told_of_a_tool_that_may_have_run(told: Told) -> None:
    """In the place of its result."""
    found, interrupted = told.results["hang"].tool_results
    assert (found.is_error, found.text) == (False, "ubiquitous, asked for by ann in s3")
    assert (interrupted.is_error, interrupted.text) == (True, "interrupted, may have run")
    assert "tool wait was interrupted by a crash: it may have run" in told.log


def test_the_session_holds_the_run_once(told: Told) -> None:
    """What was stored before it was cut off is not stored again."""
    roles = [getattr(row, "role", None) for row in told.session]
    assert roles == ["user", "assistant", "tool", "assistant"]


def test_a_run_is_logged_under_its_id(told: Told) -> None:
    """The call log of both processes is in one directory."""
    assert told.logs == ["bad-1", "hang-1", "look-1", "order-one", "order-three", "order-two"]


def test_rows_are_json_that_anybody_can_read(told: Told, folder: Path) -> None:
    """Nothing is pickled, so that reading a row runs no code."""
    with closing(sqlite3.connect(folder / "runs" / "runs.db")) as database:
        rows = database.execute("SELECT inputs, output, error FROM workflow_status").fetchall()
        rows += database.execute("SELECT output, error, NULL FROM operation_outputs").fetchall()
    texts = [text for row in rows for text in row if text is not None]
    assert len(texts) > 20
    assert all(json.loads(text) is not None for text in texts)


@pytest.mark.skipif(sys.platform == "win32", reason="permissions are those of POSIX")
def test_the_database_is_for_its_owner_only(told: Told, folder: Path) -> None:
    """And its folder is hidden from git."""
    mode = os.stat(folder / "runs" / "runs.db").st_mode
    assert stat.S_IMODE(mode) == 0o600
    assert (folder / "runs" / ".gitignore").read_text(encoding="utf-8") == "*\n"


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("runs.db", "its address is no URL"),
        ("sqlite://", "sqlite is none of sqlite:///path, postgresql://"),
        ("mysql://user:pa55word@host/name", "mysql is none of sqlite:///path, postgresql://"),
    ],
)
def test_an_address_that_cannot_be_used_is_refused(url: str, says: str) -> None:
    """Without a word of what it holds."""
    with pytest.raises(ConfigError, match=says) as caught:
        DurableAgent(Agent(ScriptedProvider([])), url)
    assert "pa55word" not in str(caught.value)


@pytest.mark.parametrize("name", ["", "ab", "My Agent", "a/b/c"])
def test_a_name_is_checked(name: str) -> None:
    """It becomes the queue's and the program's."""
    with pytest.raises(ConfigError, match="use 3 to 60 lower-case letters"):
        DurableAgent(Agent(ScriptedProvider([])), "sqlite:///runs.db", name=name)


async def test_a_file_that_is_no_database_is_said_in_a_line(tmp_path: Path) -> None:
    """And another one can be opened after it."""
    path = tmp_path / "runs.db"
    path.write_text("This is no database. " * 100, encoding="utf-8")
    for _ in range(2):
        with pytest.raises(StoreError, match="file is not a database"):
            await DurableAgent(Agent(ScriptedProvider([])), f"sqlite:///{path}").open()
