"""Backoff doubles with jitter and gives way to the server's hint, which is read in every form."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import httpx2
import pytest

from ..retry import Backoff, retry_after

NOW = datetime(2026, 11, 30, 12, 0, 0, tzinfo=UTC)


def wait(**headers: str) -> float | None:
    """Return what headers (with `_` for `-`) ask for, as if it were NOW."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return retry_after(httpx2.Headers(named), now=NOW.timestamp)


@pytest.mark.parametrize(("attempt", "seconds"), [(1, 1.0), (2, 2.0), (3, 4.0), (4, 8.0)])
def test_the_wait_doubles(attempt: int, seconds: float) -> None:
    """The first wait is the base, each further one twice the one before."""
    assert Backoff(random=lambda: 0.0).delay(attempt) == seconds


@pytest.mark.parametrize(("drawn", "seconds"), [(0.0, 4.0), (0.5, 4.4), (1.0, 4.8)])
def test_jitter_adds_up_to_a_fifth(drawn: float, seconds: float) -> None:
    """The drawn number decides how much of 20 percent is added."""
    assert Backoff(random=lambda: drawn).delay(3) == pytest.approx(seconds)


def test_base_and_jitter_can_be_set() -> None:
    """Both come from the constructor."""
    assert Backoff(base=0.25, jitter=1.0, random=lambda: 1.0).delay(2) == 1.0


@pytest.mark.parametrize("hint", [0.0, 0.5, 7.0, 86_400.0])
def test_the_server_knows_better(hint: float) -> None:
    """A hint replaces the computed wait, without jitter."""
    assert Backoff(random=lambda: 1.0).delay(3, hint) == hint


def test_a_negative_hint_means_at_once() -> None:
    """There is no negative wait."""
    assert Backoff().delay(1, -5.0) == 0.0


def test_real_jitter_stays_in_its_range() -> None:
    """The default draws between nothing and a fifth."""
    assert all(1.0 <= Backoff().delay(1) <= 1.2 for _ in range(100))


@pytest.mark.parametrize(
    ("value", "seconds"),
    [("0", 0.0), ("7", 7.0), ("1.5", 1.5), (" 3 ", 3.0), ("86400", 86_400.0)],
)
def test_seconds_are_read(value: str, seconds: float) -> None:
    """Whole and broken numbers of seconds, up to a day and more."""
    assert wait(retry_after=value) == seconds


@pytest.mark.parametrize(
    ("ahead", "seconds"),
    [
        (timedelta(seconds=30), 30.0),
        (timedelta(days=1), 86_400.0),
        (timedelta(0), 0.0),
        (timedelta(hours=-1), 0.0),
    ],
)
def test_an_http_date_is_read(ahead: timedelta, seconds: float) -> None:
    """A date counts from now; one that is over means at once."""
    assert wait(retry_after=format_datetime(NOW + ahead, usegmt=True)) == seconds


def test_a_date_with_an_offset_is_read() -> None:
    """Not every server writes GMT."""
    assert wait(retry_after="Mon, 30 Nov 2026 13:00:10 +0100") == 10.0


def test_milliseconds_come_first() -> None:
    """`retry-after-ms` is the more precise of the two."""
    assert wait(retry_after_ms="250", retry_after="1") == 0.25


def test_broken_milliseconds_leave_the_seconds() -> None:
    """A useless `retry-after-ms` does not hide a good `Retry-After`."""
    assert wait(retry_after_ms="soon", retry_after="2") == 2.0


@pytest.mark.parametrize(
    "value",
    [
        "",
        "soon",
        "-1",
        "inf",
        "nan",
        "1e999",
        "1, 2",
        "2026-11-30",
        "Mon, 99 Nov 2026 99:00 GMT",
    ],
)
def test_garbage_is_no_hint(value: str) -> None:
    """What is no wait is ignored: the computed one is used."""
    assert wait(retry_after=value) is None


def test_no_header_is_no_hint() -> None:
    """Most responses say nothing."""
    assert wait() is None
