"""The tables in Markdown: scenario by adapter, fault by adapter, and who stands in for whom."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from . import cells, fallbacks
from .apis import APIS, Api
from .conversations import CONVERSATIONS
from .fallbacks import FAILURES, Failure
from .faults import FAULTS
from .scenarios import Scenario

CellProblems = Callable[[Api, Scenario], list[str]]
PairProblems = Callable[[Api, Api, Failure], list[str]]
GOOD = "✓"
LONGEST = 300  # characters of a reason


def tables(
    of_cell: CellProblems = cells.problems, of_pair: PairProblems = fallbacks.problems
) -> str:
    """Return all tables; a cell is a check mark, or the reason why not."""
    return "\n\n".join([_conversations(of_cell), _faults(of_cell), _fallbacks(of_pair)])


def _conversations(of_cell: CellProblems) -> str:
    rows = [
        [scenario.title, str(scenario.outcome.requests), *_cells([scenario], of_cell)]
        for scenario in CONVERSATIONS
    ]
    return _markdown(["scenario", "requests", *_names()], rows)


def _faults(of_cell: CellProblems) -> str:
    rows = []
    for fault in FAULTS:
        passes = str(fault.passes.outcome.requests) if fault.passes else ""
        scenarios = [fault.stays, *([fault.passes] if fault.passes else [])]
        head = [fault.title, f"`{fault.error.__name__}`", str(fault.requests), passes]
        rows.append([*head, *_cells(scenarios, of_cell)])
    head = ["fault", "error if it stays", "requests", "if it passes", *_names()]
    return _markdown(head, rows)


def _fallbacks(of_pair: PairProblems) -> str:
    rows = []
    for first in APIS:
        row = [first.name]
        for second in APIS:
            if first is second:
                row.append("")
                continue
            found = [p for failure in FAILURES for p in of_pair(first, second, failure)]
            row.append(_mark(found))
        rows.append(row)
    return _markdown(["fails ↓, stands in →", *_names()], rows)


def _names() -> list[str]:
    return [api.name for api in APIS]


def _cells(scenarios: Sequence[Scenario], of_cell: CellProblems) -> list[str]:
    return [_mark([p for s in scenarios for p in of_cell(api, s)]) for api in APIS]


def _mark(found: Sequence[str]) -> str:
    reasons = " ".join("; ".join(found).split()).replace("|", "\\|")
    return reasons[:LONGEST] or GOOD


def _markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def is_good(text: str) -> bool:
    """Tell whether all cells of the tables are check marks."""
    return text == tables(lambda api, scenario: [], lambda first, second, failure: [])
