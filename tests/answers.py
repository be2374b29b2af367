"""The answers that the tests go through, and which files each of them brings.

A new module or SDK is one line here: the patterns of its files, below the project's folder.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

Answers = dict[str, Any]

SDKS: dict[str, tuple[str, ...]] = {}
MODULES: dict[str, tuple[str, ...]] = {}
CI: dict[str, tuple[str, ...]] = {"github": (".github/*",), "none": ()}


def every() -> list[Answers]:
    """Every combination of answers that decides about files."""
    return [
        {"sdks": list(sdks), "modules": list(modules), "ci": ci}
        for sdks in _subsets(SDKS, len(SDKS))
        for modules in _subsets(MODULES, len(MODULES))
        for ci in CI
    ]


def rendered() -> list[Answers]:
    """The combinations that are worth rendering: none, all, each one and every pair."""
    names = [("sdks", name) for name in SDKS] + [("modules", name) for name in MODULES]
    chosen = [*_subsets(names, 2), *([tuple(names)] if len(names) > 2 else [])]
    return [{**_split(names), "ci": ci} for names in chosen for ci in CI]


def covering() -> list[Answers]:
    """The combinations whose generated suites are run: nothing, everything, each SDK alone."""
    alone = [_split((("sdks", name),)) for name in SDKS]
    full = {"sdks": list(SDKS), "modules": list(MODULES)}
    rows = [{"sdks": [], "modules": []}, *alone, full]
    return [row for index, row in enumerate(rows) if row not in rows[:index]]


def label(answers: Answers) -> str:
    """Name a set of answers in the test report."""
    chosen = [*answers.get("sdks", ()), *answers.get("modules", ())]
    return "+".join([*chosen, *([answers["ci"]] if "ci" in answers else [])]) or "core"


def _subsets(names: Any, largest: int) -> list[tuple[Any, ...]]:
    return [subset for size in range(largest + 1) for subset in combinations(names, size)]


def _split(names: tuple[tuple[str, str], ...]) -> Answers:
    return {
        "sdks": [name for kind, name in names if kind == "sdks"],
        "modules": [name for kind, name in names if kind == "modules"],
    }
