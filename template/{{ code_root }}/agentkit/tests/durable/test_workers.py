"""What the workers of a database agree on; that runs are taken over is tested by real deaths."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ...durable import workers
from ...durable.workers import Workers
from ...observability.logger import Logger


@pytest.fixture
def pair(tmp_path: Path, logger: Logger) -> Iterator[list[Workers]]:
    """Two workers of one database."""
    url = f"sqlite:///{tmp_path / 'runs.db'}"
    both = [Workers(url, f"elsewhere:1:{name}", "queue", logger) for name in "ab"]
    for worker in both:
        worker.join()
    yield both
    for worker in both:
        worker.leave()


def test_a_session_counts_its_runs_for_all_workers(pair: list[Workers]) -> None:
    """Whoever starts a run, the numbers go up; each session has its own."""
    first, second = pair
    numbers = [first.next_turn("s"), second.next_turn("s"), first.next_turn("other")]
    assert [*numbers, first.next_turn("s")] == [1, 2, 1, 3]


def test_a_worker_is_there_until_it_leaves(pair: list[Workers]) -> None:
    """Then others need not wait for its signs to grow old."""
    first, second = pair
    assert sorted(second._seen()) == ["elsewhere:1:a", "elsewhere:1:b"]
    first.leave()
    assert second._seen() == ["elsewhere:1:b"]


def test_a_sign_of_life_that_is_too_old_counts_no_more(
    pair: list[Workers], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the clock of the database; the next sign counts again."""
    first, _ = pair
    first._run("UPDATE agentkit_workers SET seen = seen - :age WHERE id = :id", age="31",
               id="elsewhere:1:b")  # fmt: skip
    assert first._seen() == ["elsewhere:1:a"]
    monkeypatch.setattr(workers, "LEASE", 60.0)
    assert sorted(first._seen()) == ["elsewhere:1:a", "elsewhere:1:b"]
