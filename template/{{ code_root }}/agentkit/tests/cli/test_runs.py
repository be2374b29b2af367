"""Tests of `runs`."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ...cli import tables
from ...cli.run_names import find_run, short_name
from ...errors import BadRequest, ConfigError
from ...messages import Message, ToolCall
from ...observability.call_reader import read_runs
from ...observability.run_context import started_at
from .commands import echo_agent, edit, invoke, only_line, scripted

CALL = Message("assistant", (ToolCall("c1", "shout", {"text": "hi"}),))
ONE, TWO = "251606281613567-9999999-d480", "251606281613566-9999998-d480"


def rows(*arguments: str) -> list[list[str]]:
    """Return the table of `runs` without its head, cell by cell."""
    result = invoke(echo_agent, "runs", *arguments)
    assert result.exit_code == 0
    return [re.split(r"\s{2,}", line.strip()) for line in result.stdout.splitlines()[1:]]


def test_no_runs_are_no_error() -> None:
    """A project that ran nothing yet is told how to begin."""
    result = invoke(echo_agent, "runs")
    assert (result.exit_code, result.stdout) == (0, "")
    assert only_line(result.stderr) == "no runs in debug; my-agent ask and my-agent chat leave some"


def test_runs_are_listed_newest_first() -> None:
    """The order is that of time, the last one on top."""
    for text in "abc":
        invoke(echo_agent, "ask", text)
    names = [row[1] for row in rows()]
    assert names == [str(run["run_id"])[-4:] for run in read_runs(Path("debug"))]
    assert len(set(names)) == 3


def test_a_run_has_when_name_model_steps_tokens_cost_and_outcome() -> None:
    """Each row says what the run was and what it came to, in local time."""
    invoke(scripted(CALL, "Done."), "ask", "hello")
    run = read_runs(Path("debug"))[0]
    started = started_at(run["run_id"])
    assert started is not None
    (row,) = rows()
    assert abs(datetime.fromisoformat(row[0]).astimezone(UTC) - started).total_seconds() < 5
    assert row[1:] == [run["run_id"][-4:], "chat://offline/echo", "2", "12", "$0.0000", "stop"]


def test_the_outcome_of_a_failed_run_is_its_error() -> None:
    """A run that ended with an error says which, on one line and as plain text."""
    invoke(scripted(BadRequest("no\nway [bold]x[/bold]")), "ask", "hello")
    assert rows()[0][-1] == "BadRequest: no way [bold]x[/bold]"


def test_a_run_that_was_broken_off_is_cancelled() -> None:
    """Ctrl-C is no error."""
    invoke(scripted("Done."), "ask", "hello")
    run_id = read_runs(Path("debug"))[0]["run_id"]
    outcome = 'error: {type: CancelledError, message: ""}'
    edit(
        Path("debug", run_id, "run.yaml"),
        lambda text: text.replace("finish_reason: stop", outcome),
    )
    assert rows()[0][-1] == "cancelled"


def test_no_line_ends_in_spaces() -> None:
    """In a pipe a row is as long as its text, however long the others are."""
    for reply in ("ok", BadRequest("no way " * 20)):
        invoke(scripted(reply), "ask", "hello")
    lines = invoke(echo_agent, "runs").stdout.splitlines()
    assert len(lines) == 3
    assert lines == [line.rstrip() for line in lines]


@pytest.mark.parametrize("options", [(), ("--limit", "1"), ("--debug-dir", "logs")])
def test_runs_list_is_runs(options: tuple[str, ...]) -> None:
    """Who types the word gets the same."""
    for directory in ("debug", "debug", "logs"):
        invoke(echo_agent, "ask", "x", "--debug-dir", directory)
    alone = invoke(echo_agent, "runs", *options).stdout
    assert len(alone.splitlines()) == (3 if not options else 2)
    assert invoke(echo_agent, "runs", "list", *options).stdout == alone


def test_a_price_that_is_not_known_is_not_zero() -> None:
    """The cost of a model without a price is told as unknown."""
    invoke(scripted("x", uri="chat://openai/no-such-model"), "ask", "hello")
    assert rows()[0][5] == "unknown"


def test_on_a_narrow_terminal_only_model_and_outcome_are_cut(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Names and numbers stay whole where a line has little room."""
    invoke(scripted(BadRequest("no way " * 50)), "ask", "hello")
    monkeypatch.setattr(tables, "PIPED_WIDTH", 80)
    shown = invoke(echo_agent, "runs").stdout
    name = read_runs(Path("debug"))[0]["run_id"][-4:]
    assert re.search(rf"^\d{{4}}-\d\d-\d\d \d\d:\d\d:\d\d  {name}  .*  \$0\.0000  .*…", shown, re.M)
    assert max(map(len, shown.splitlines())) <= 80


def test_limit_limits_the_rows() -> None:
    """`--limit` is how many runs are listed."""
    for text in "abc":
        invoke(echo_agent, "ask", text)
    assert len(rows("--limit", "2")) == 2


def test_debug_dir_says_where_to_look() -> None:
    """`--debug-dir` is the folder whose runs are listed."""
    invoke(echo_agent, "ask", "x", "--debug-dir", "logs")
    assert rows() == []
    assert len(rows("--debug-dir", "logs")) == 1


def test_a_broken_run_is_listed_as_unreadable() -> None:
    """A damaged file is named, and the other runs are listed all the same."""
    for text in "ab":
        invoke(echo_agent, "ask", text)
    run_id = read_runs(Path("debug"))[0]["run_id"]
    Path("debug", run_id, "run.yaml").write_text("{[", encoding="utf-8")
    first, second = rows()
    assert "unreadable: " in first[-1]
    assert second[-1] == "stop"


def test_a_short_name_is_as_long_as_it_must_be() -> None:
    """The short form of a run means no other run."""
    assert short_name(ONE, [ONE]) == "d480"
    assert short_name(ONE, [ONE, TWO]) == "9-d480"
    assert find_run(short_name(TWO, [ONE, TWO]), [ONE, TWO], "x") == TWO


def test_a_name_of_the_users_own_stays_whole() -> None:
    """A run id that was given is what people know the run by."""
    assert short_name("nightly", [ONE, "nightly"]) == "nightly"


@pytest.mark.parametrize("name", [ONE, ONE[:15], "9-d480"])
def test_a_run_is_found_by_its_beginning_or_end(name: str) -> None:
    """What only one id begins or ends with finds it."""
    assert find_run(name, [ONE, TWO], "x") == ONE


def test_a_whole_id_wins_over_longer_ones() -> None:
    """An id that is also the beginning of another one can still be named."""
    assert find_run("a", ["a", "ab"], "x") == "a"


@pytest.mark.parametrize(
    ("name", "problem"),
    [("d480", "2 runs match"), ("zz", 'no run "zz"; my-agent runs lists'), ("..", 'no run ".."')],
)
def test_a_name_that_fits_not_one_run_is_refused(name: str, problem: str) -> None:
    """None and several are told apart."""
    with pytest.raises(ConfigError, match=re.escape(problem)):
        find_run(name, [ONE, TWO], "my-agent")
