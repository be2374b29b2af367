"""What rate-limit headers ask for."""

from __future__ import annotations

import pytest

from ...content.json_api import rate_limit_wait

NOW = 1_790_000_000.0
MONTH_LEFT = 1_419_704  # seconds


def wait(
    reset: str | None = None,
    remaining: str | None = None,
    policy: str | None = None,
    limit: str | None = None,
) -> float | None:
    """Return the wait that these values ask for."""
    values = {"reset": reset, "remaining": remaining, "policy": policy, "limit": limit}
    headers = {f"x-ratelimit-{name}": value for name, value in values.items() if value is not None}
    return rate_limit_wait(headers, now=lambda: NOW)


@pytest.mark.parametrize(
    ("reset", "remaining", "expected"),
    [
        ("1, 1419704", None, 1),
        ("1, 1419704", "0, 1999", 1),
        ("1,1419704", "0,1999", 1),
        ("1, 1419704", "1, 0", MONTH_LEFT),
        ("1, 1419704", "0, 0", MONTH_LEFT),
        ("1, 1419704", "1, 1999", 1),
        ("1", "0, 0", 2_592_000),
        ("1, 1419704", "-1, 1999", 1),
        ("7", "0", 7),
        ("0.5", "0", 0.5),
        (str(int(NOW) + 9), "0", 9),
        (str(int(NOW) - 9), "0", 0),
    ],
)
def test_the_window_that_is_full_is_waited_for(
    reset: str, remaining: str | None, expected: float
) -> None:
    """Of several windows the longest full one counts; if none is known to be, the shortest."""
    assert wait(reset, remaining) == expected


def test_windows_come_from_the_policy_without_a_reset() -> None:
    """A policy says how long each window is, which is the longest that a wait can be."""
    policy = "1;w=1, 15000;w=2592000"
    assert wait(policy=policy, remaining="0, 9") == 1
    assert wait(policy=policy, remaining="9, 0") == 2_592_000


def test_a_month_is_the_second_of_two_bare_numbers() -> None:
    """With no header but the remaining requests, a second and a month are what they count."""
    assert wait(remaining="0, 9") == 1
    assert wait(remaining="0, 0") == 2_592_000


def test_a_limit_of_zero_is_no_limit() -> None:
    """A plan without a monthly quota has 0 of 0 requests left, which nobody has to wait for."""
    assert wait("1, 1419704", "0, 0", limit="20, 0") == 1
    assert wait("1, 1419704", "0, 0", policy="20;w=1, 0;w=2592000") == 1


@pytest.mark.parametrize("junk", [None, "", "soon", "nan", ","])
def test_no_hint_is_none(junk: str | None) -> None:
    """What is no number asks for nothing."""
    assert wait(junk) is None
