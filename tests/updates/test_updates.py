"""The update matrix, on a template with few files: every edit, in a new and an existing project."""

from __future__ import annotations

from pathlib import Path

import pytest

from .places import Change, changes_of_answers, make_template
from .runs import Column, run, stand_ins
from .table import PAGE, ROWS, is_good, page_rows, table


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A template with two releases, without most of agentkit's files."""
    return make_template(tmp_path_factory.mktemp("updates") / "template", stand_ins(), whole=False)


# The command runs all four, on the whole template.
@pytest.mark.parametrize("change", changes_of_answers()[1:3], ids=lambda change: change.name)
def test_no_edit_is_lost_without_a_word(template: Path, tmp_path: Path, change: Change) -> None:
    """Every row of the column has the outcome that the table promises."""
    column = run(template, tmp_path, change)
    assert {title: problems for title, problems in column.items() if problems} == {}
    assert column.keys() <= ROWS.keys()


def test_a_problem_is_in_the_table_and_makes_it_bad() -> None:
    """A cell is a check mark, what is wrong, or nothing where the edit does not apply."""
    title, other, *_ = ROWS
    column: Column = {title: [], other: ["a|b", "c"]}
    lines = table({"core": column}).splitlines()
    assert lines[2].endswith("| ✓ |")
    assert lines[3].endswith("| a\\|b; c |")
    assert lines[4].endswith("|  |")
    assert not is_good({"core": column})
    assert is_good({"core": {title: []}})


def test_the_page_has_the_rows_of_the_matrix() -> None:
    """Its table was printed by the command, with the same edits and outcomes, all good."""
    assert page_rows(PAGE.read_text(encoding="utf-8")) == list(ROWS.items())
