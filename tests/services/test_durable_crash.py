"""`kill -9` in the middle of durable runs, with two workers, on SQLite and on PostgreSQL.

The places are a selection; `python -m tests.services.crash_matrix` goes through all of them.
"""

from __future__ import annotations

import sys

import pytest

from . import crash_program as program
from .crash_matrix import POSTGRES, SQLITE, Outcome, crash, database
from .servers import need

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="nothing can be forked and killed")

SLOW = f"tool A done{program.SLOW}"
LOST: dict[str, list[str]] = {  # what was under way and so is done again, by the place of the death
    program.NOWHERE: [],
    "model 2 answered": ["model 2"],
    "tool A begun": ["begun A"],
    "tool A done": ["begun A", "done A"],
    "before append 2": [],
    "after append 3": [],
    SLOW: ["begun A", "done A"],
}
PARALLEL = "tool B done"  # where C may be under way as well


@pytest.fixture(scope="module", params=[SQLITE, POSTGRES], ids=["sqlite", "postgres"])
def outcomes(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Outcome]:
    """What came of the run, by the place where a worker died."""
    if request.param == POSTGRES:
        need(POSTGRES, 5432)
    folder = tmp_path_factory.mktemp("crashes")
    with database(request.param) as url:
        found = crash(url, folder, [*LOST, PARALLEL])
    return {outcome.place: outcome for outcome in found}


def test_the_result_is_that_of_a_run_without_a_crash(outcomes: dict[str, Outcome]) -> None:
    """Answer, messages, usage and cost, and what the session holds."""
    whole = outcomes[program.NOWHERE]
    assert whole.result["text"] == "Done."
    assert len(whole.rows) == 6
    for place, outcome in outcomes.items():
        assert (outcome.result, outcome.rows) == (whole.result, whole.rows), place


def test_only_what_was_under_way_is_done_again(outcomes: dict[str, Outcome]) -> None:
    """No reply that was written down is paid again, and no tool that ended runs again."""
    again = {place: outcomes[place].repeated("") for place in LOST}
    assert again == LOST
    assert set(outcomes[PARALLEL].repeated("")) <= {"begun B", "begun C", "done B", "done C"}


def test_a_tool_that_runs_again_is_said(outcomes: dict[str, Outcome]) -> None:
    """In the log of the worker that runs it; nobody else has to wonder."""
    for place, outcome in outcomes.items():
        again = len(outcome.repeated("begun "))
        said = outcome.log.count("tool work was interrupted by a crash: it runs again")
        # One of several tools may have been written down as begun, and not have come to it.
        assert said == again or (place == PARALLEL and said > again), place


def test_a_worker_that_lost_its_run_does_nothing_more_in_it(outcomes: dict[str, Outcome]) -> None:
    """Stuck in a tool and taken for dead, it goes on: the other's work stands alone."""
    assert sum(outcomes[SLOW].seen.values()) == sum(outcomes[program.NOWHERE].seen.values()) + 2
