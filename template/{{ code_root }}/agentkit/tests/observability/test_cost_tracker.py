"""Sums of costs and tokens."""

from __future__ import annotations

import threading

import pytest

from ...observability.cost_tracker import CostTracker

pytestmark = pytest.mark.checklist("costs")


def test_costs_and_tokens_add_up_across_requests() -> None:
    """Every request counts, with its USD and its tokens."""
    costs = CostTracker()
    for usd, tokens in ((0.5, (100, 20)), (0.25, (50, 10)), (0.0, (0, 0))):
        costs.add_cost(usd)
        costs.add_tokens(*tokens)
    assert costs.get_report() == {
        "total_cost": 0.75,
        "total_input_tokens": 150,
        "total_output_tokens": 30,
        "total_tokens": 180,
        "request_count": 3,
    }


def test_the_formatted_report_names_cost_tokens_and_requests() -> None:
    """The report for people has one line for each sum."""
    costs = CostTracker()
    costs.add_cost(0.01234)
    costs.add_tokens(1_000, 234)
    assert costs.get_formatted_report().splitlines() == [
        "Total cost: $0.0123",
        "Total tokens: 1234 (1000 input, 234 output)",
        "Total requests: 1",
    ]


def test_reset_sets_all_sums_to_zero() -> None:
    """After a reset the tracker is as good as new."""
    costs = CostTracker()
    costs.add_cost(1.0)
    costs.add_tokens(5, 5)
    costs.reset()
    assert costs.get_report() == CostTracker().get_report()


def test_trackers_are_independent() -> None:
    """Two runs with trackers of their own do not see each other's costs."""
    one, other = CostTracker(), CostTracker()
    one.add_cost(1.0)
    assert other.get_report()["total_cost"] == 0.0


def test_the_shared_tracker_is_one_per_process() -> None:
    """Whoever asks for the shared tracker gets the same one."""
    assert CostTracker.shared() is CostTracker.shared()
    assert CostTracker.shared() is not CostTracker()


def test_nothing_is_lost_between_threads() -> None:
    """Threads that add at the same time lose no addition."""
    costs = CostTracker()

    def add() -> None:
        for _ in range(2_000):
            costs.add_cost(0.5)
            costs.add_tokens(1, 2)

    threads = [threading.Thread(target=add) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    report = costs.get_report()
    assert (report["total_cost"], report["request_count"]) == (4_000.0, 8_000)
    assert report["total_tokens"] == 24_000
