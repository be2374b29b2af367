"""What a run has spent: summed upwards, known or not, and compared with limits."""

from __future__ import annotations

import pytest

from ...llm.result import Limits
from ...llm.spend import Spend
from ...messages import Message, Usage
from ...tools.tool import tool
from ..conftest import MODEL, MakeRequester
from ..fake_chat import FakeChat, answer, calls, usage

HELLO = [Message.user("hello")]


@pytest.mark.checklist("costs")
def test_costs_add_up() -> None:
    """Tokens and USD of all calls."""
    spend = Spend(1, None)
    spend.add(Usage(10, 5), 0.5)
    spend.add(Usage(1, 2, 3), 0.25)
    assert (spend.usage, spend.cost) == (Usage(11, 7, 3), 0.75)


@pytest.mark.checklist("costs")
def test_a_run_inside_a_run_is_paid_by_both() -> None:
    """Each run above gets it once; the run beside it does not."""
    top = Spend(1, None)
    middle, beside = Spend(2, top), Spend(3, top)
    Spend(4, middle).add(Usage(10), 0.5)
    assert [spend.cost for spend in (top, middle, beside)] == [0.5, 0.5, 0.0]
    assert top.usage == middle.usage == Usage(10)


def test_one_unknown_price_makes_the_sum_unknown() -> None:
    """A sum that leaves something out is not shown as one; the tokens are."""
    top = Spend(1, None)
    Spend(2, top).add(Usage(10), None)
    top.add(Usage(5), 0.5)
    assert top.cost is None
    assert top.usage == Usage(15)


@pytest.mark.parametrize(
    ("limits", "reached"),
    [
        (None, False),
        (Limits(), False),
        (Limits(cost_usd=0.51), False),
        (Limits(cost_usd=0.5), True),
        (Limits(tokens=16), False),
        (Limits(tokens=15), True),
        (Limits(cost_usd=9.0, tokens=15), True),
        (Limits(cost_usd=0.5, tokens=99), True),
    ],
)
def test_a_limit_is_reached(limits: Limits | None, reached: bool) -> None:
    """As soon as either sum is as high."""
    spend = Spend(1, None)
    spend.add(Usage(10, 5), 0.5)
    assert spend.reaches(limits) is reached


def test_what_has_no_price_still_counts_in_tokens() -> None:
    """A limit in USD cannot be reached by calls of unknown price, one in tokens can."""
    spend = Spend(1, None)
    spend.add(Usage(10, 5), None)
    assert not spend.reaches(Limits(cost_usd=1e-9))
    assert spend.reaches(Limits(tokens=15))


@pytest.mark.checklist("costs")
@pytest.mark.parametrize("in_thread", [False, True])
async def test_a_run_inside_a_tool_counts_towards_the_limit(
    in_thread: bool, requester: MakeRequester
) -> None:
    """A sub-agent's tokens are the outer run's tokens, and end it."""

    @tool
    async def ask_other(question: str) -> str:
        """Ask another model."""
        return (await llm([Message.user(question)], tools=[notes] if in_thread else None)).text

    @tool
    def notes() -> str:
        """Read notes in a thread."""
        return "notes"

    inner = [calls(("notes", {}), usage=usage(50, 0))] if in_thread else []
    outer = calls(("ask_other", {"question": "x"}), usage=usage(10, 0))
    with FakeChat([outer, *inner, answer("42", usage=usage(50, 0))]) as fake:
        llm = requester(fake)
        limits = Limits(tokens=60 + 50 * in_thread)
        result = await llm(HELLO, tools=[ask_other], limits=limits)
    assert result.finish_reason == "limit"
    assert result.input_tokens == 60 + 50 * in_thread


async def test_runs_side_by_side_do_not_count_for_each_other(requester: MakeRequester) -> None:
    """Each run's limit is against its own sum, whatever the tracker says."""
    with FakeChat(["a", "b", "c"]) as fake:
        llm = requester(fake)
        for _ in range(3):
            assert (await llm(HELLO, limits=Limits(tokens=100))).finish_reason == "stop"


async def test_an_unknown_price_leaves_the_answer(requester: MakeRequester) -> None:
    """The text comes, the cost is None, the tokens are counted."""
    with FakeChat(["hi"]) as fake:
        result = await requester(fake, MODEL.replace("gpt-5-mini", "corp-llm-7"))(HELLO)
    assert (result.text, result.estimated_cost) == ("hi", None)
    assert result.usage.total_tokens == 120
