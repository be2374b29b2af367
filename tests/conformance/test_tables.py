"""The tables: what a cell shows, and that the page has them as they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentkit.tests.litellm_routes import quiet

from .apis import APIS, Api
from .cells import problems
from .conversations import CONVERSATIONS
from .faults import FAULTS
from .scenarios import Outcome, Scenario, taken
from .table import is_good, tables

pytestmark = quiet
PAGE = Path(__file__).parents[2] / "docs" / "providers.md"
BEGIN, END = "<!-- conformance: begin -->\n", "\n<!-- conformance: end -->"


def test_the_page_shows_the_tables() -> None:
    """As the command prints them when all cells are good, which the other tests make sure of."""
    text = PAGE.read_text(encoding="utf-8")
    shown = text.partition(BEGIN)[2].partition(END)[0]
    assert shown.strip() == tables(lambda api, scenario: [], lambda first, second, failure: [])


def test_a_cell_that_does_not_hold_shows_the_reason() -> None:
    """In one line that breaks no table, in its own cell only."""

    def one_bad(api: Api, scenario: Scenario) -> list[str]:
        bad = api is APIS[1] and scenario.title == "plain"
        return ["whole: text 'a|b',\nexpected 'c'"] if bad else []

    text = tables(one_bad, lambda first, second, failure: [])
    [row] = [line for line in text.splitlines() if line.startswith("| plain |")]
    assert row.startswith("| plain | 1 | ✓ | whole: text 'a\\|b', expected 'c' | ✓ |")
    assert not is_good(text)


@pytest.mark.parametrize("api", APIS, ids=[api.name for api in APIS])
@pytest.mark.parametrize(
    ("outcome", "reason"),
    [
        (Outcome(1, "No.", usage=taken(1)), "text"),
        (Outcome(1, "Hi.", usage=taken(2)), "usage"),
        (Outcome(2, "Hi.", usage=taken(1)), "requests"),
        (Outcome(1, "Hi.", usage=taken(1), waits=(1.0,)), "waits"),
        (Outcome(1, "Hi.", "length", taken(1)), "ends"),
    ],
)
def test_another_outcome_is_a_problem(api: Api, outcome: Outcome, reason: str) -> None:
    """Each part of what a scenario expects is compared, whole and streamed."""
    found = problems(api, Scenario("plain", ("Hi.",), outcome))
    for way in ("whole", "streamed"):
        assert any(problem.startswith(f"{way}: {reason} ") for problem in found)


def test_what_the_server_refuses_or_misses_is_a_problem() -> None:
    """The fakes say so themselves."""
    scenario = Scenario("too much", ("Hi.", "left over"), Outcome(1, "Hi.", usage=taken(1)))
    found = problems(APIS[0], scenario)
    assert len(found) == 2
    assert all("never asked for" in problem for problem in found)


def test_titles_are_unique() -> None:
    """A row of the table is one scenario or one fault."""
    titles = [scenario.title for scenario in CONVERSATIONS] + [fault.title for fault in FAULTS]
    assert len(set(titles)) == len(titles)
