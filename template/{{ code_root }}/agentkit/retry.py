"""Backoff and Retry-After: one place for everything that waits before it tries again."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime


@dataclass(frozen=True, slots=True)
class Backoff:
    """How long to wait between attempts, in seconds. `sleep` and `random` are there for tests."""

    base: float = 1.0
    jitter: float = 0.2
    longest: float = 60.0
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep
    random: Callable[[], float] = random.random

    def delay(self, attempt: int, hint: float | None = None) -> float:
        """Return the wait after a failed attempt (from 1): the hint, else a doubling one."""
        if hint is not None:
            return max(0.0, hint)
        return self.base * 2.0 ** (attempt - 1) * (1 + self.jitter * self.random())


def retry_after(headers: Mapping[str, str], now: Callable[[], float] = time.time) -> float | None:
    """Return the wait in seconds that response headers ask for, or None.

    Reads `retry-after-ms`, and `Retry-After` as seconds or as an HTTP date (RFC 9110, 10.2.3).
    """
    millis = _number(headers.get("retry-after-ms", ""))
    if millis is not None:
        return millis / 1000
    value = headers.get("retry-after", "")
    seconds = _number(value)
    if seconds is not None:
        return seconds
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - now())
    except (ValueError, TypeError):
        return None


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if 0 <= number < float("inf") else None
