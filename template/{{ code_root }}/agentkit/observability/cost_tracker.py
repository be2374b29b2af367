"""What model calls cost: USD and tokens, summed per run or for the whole process."""

from __future__ import annotations

import threading
from functools import cache
from typing import TypedDict


class CostReport(TypedDict):
    """Sums since the last reset: USD, tokens, and the number of requests that were paid for."""

    total_cost: float
    total_input_tokens: int
    total_output_tokens: int
    total_tokens: int
    request_count: int


class CostTracker:
    """Adds up costs; one per run, or `CostTracker.shared()` for the process. Safe in threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.reset()

    @staticmethod
    @cache
    def shared() -> CostTracker:
        """Return the tracker of this process."""
        return CostTracker()

    def add_cost(self, usd: float) -> None:
        """Add the cost of one request in USD and count the request."""
        with self._lock:
            self._cost += usd
            self._requests += 1

    def add_tokens(self, input: int, output: int) -> None:
        """Add the tokens of one request."""
        with self._lock:
            self._input += input
            self._output += output

    def get_report(self) -> CostReport:
        """Return the sums."""
        with self._lock:
            return CostReport(
                total_cost=self._cost,
                total_input_tokens=self._input,
                total_output_tokens=self._output,
                total_tokens=self._input + self._output,
                request_count=self._requests,
            )

    def get_formatted_report(self) -> str:
        """Return the sums for people, three lines."""
        report = self.get_report()
        return (
            f"Total cost: ${report['total_cost']:.4f}\n"
            f"Total tokens: {report['total_tokens']} "
            f"({report['total_input_tokens']} input, {report['total_output_tokens']} output)\n"
            f"Total requests: {report['request_count']}"
        )

    def reset(self) -> None:
        """Set all sums to zero."""
        with self._lock:
            self._cost = 0.0
            self._input = self._output = self._requests = 0
