"""The ten lines that the generated tests back, and the counts behind each."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from console import Marks

# In the order of printing. "tests" stands for the whole suite, the others for a test marker.
LINES = {
    "imports": "All modules import and lint",
    "tests": "Tests pass",
    "requester": "Requester retries and self-corrects",
    "agent": "Agent keeps every intermediate tool message",
    "compactor": "Compactor keeps call/result pairs",
    "run_ids": "Run ids sort newest first",
    "logger": "Logger serialises exceptions",
    "costs": "Costs add up across requests",
    "artifacts": "Every model call leaves a YAML artifact",
    "secrets": "Keys are masked everywhere",
}


@dataclass(frozen=True)
class Counts:
    """How many tests ended how."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0


@dataclass(frozen=True)
class Results:
    """The whole suite, and the tests of each checklist line by its slug."""

    total: Counts = Counts()
    by_slug: Mapping[str, Counts] = field(default_factory=dict)


def read_results(path: Path) -> Results | None:
    """Read the report of the generated suite; None when there is none that can be read."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        slugs = {str(slug): _counts(counts) for slug, counts in data["checklist"].items()}
        return Results(_counts(data), slugs)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def format_checklist(
    results: Results, *, suite_passed: bool, lint_clean: bool | None, marks: Marks
) -> list[str]:
    """Return the ten lines, marked; `lint_clean` is None when ruff could not run."""
    lines = []
    for slug, text in LINES.items():
        counts = results.total if slug == "tests" else results.by_slug.get(slug, Counts())
        mark, note = _judge(counts, marks)
        if slug == "tests" and counts.passed:
            mark, note = _judge_suite(counts, suite_passed, marks)
        if slug == "imports" and mark == marks.passed and not lint_clean:
            mark, note = _judge_lint(lint_clean, marks)
        lines.append(f"  {mark} {text}" + (f" ({note})" if note else ""))
    return lines


def _judge(counts: Counts, marks: Marks) -> tuple[str, str]:
    if counts.failed:
        return marks.failed, f"{counts.failed} failed"
    if not counts.passed:
        return marks.not_run, "did not run"
    if counts.skipped:
        return marks.not_run, f"{counts.skipped} of {counts.passed + counts.skipped} did not run"
    return marks.passed, ""


def _judge_suite(counts: Counts, passed: bool, marks: Marks) -> tuple[str, str]:
    if not passed:
        note = f"{counts.failed} failed" if counts.failed else "the run did not end well"
        return marks.failed, note
    return marks.passed, f"{counts.skipped} skipped" if counts.skipped else ""


def _judge_lint(clean: bool | None, marks: Marks) -> tuple[str, str]:
    return (
        (marks.not_run, "ruff did not run") if clean is None else (marks.failed, "ruff complains")
    )


def _counts(data: Mapping[str, object]) -> Counts:
    passed, failed, skipped = (data[key] for key in ("passed", "failed", "skipped"))
    if not (isinstance(passed, int) and isinstance(failed, int) and isinstance(skipped, int)):
        raise TypeError("counts are numbers")
    return Counts(passed, failed, skipped)
