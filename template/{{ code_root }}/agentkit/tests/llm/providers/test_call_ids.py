"""Ids pair results with calls, so each call of a reply has one of its own."""

from __future__ import annotations

import pytest

from ....errors import MalformedReply
from ....llm.providers.call_ids import MOST_CALLS, CallIds


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (["a", "b"], ["a", "b"]),
        (["", ""], ["call_0", "call_1"]),
        (["x", "x"], ["x", "x_1"]),
        (["x_2", "x", "x"], ["x_2", "x", "x_3"]),
        (["x", "x", "x_1", "x"], ["x", "x_1", "x_1_2", "x_3"]),
        (["call_1", ""], ["call_1", "call_2"]),
        (["", "call_0"], ["call_0", "call_0_1"]),
    ],
)
def test_an_id_is_kept_unless_it_is_missing_or_taken(given: list[str], expected: list[str]) -> None:
    """What is made instead is not taken either."""
    ids = CallIds("openai")
    assert [ids.own(call_id) for call_id in given] == expected


def test_there_is_an_end_to_the_calls_of_a_reply() -> None:
    """A model that went wild would have thousands of tools run."""
    ids = CallIds("openai")
    assert len({ids.own("x") for _ in range(MOST_CALLS)}) == MOST_CALLS
    with pytest.raises(MalformedReply, match="more than 128 calls"):
        ids.own("y")
