"""Every pair of adapters, the second standing in for the first."""

from __future__ import annotations

import pytest

from agentkit.tests.litellm_routes import quiet

from .apis import Api
from .fallbacks import FAILURES, PAIRS, Failure, problems

pytestmark = quiet


@pytest.mark.parametrize("failure", FAILURES, ids=[failure.error for failure in FAILURES])
@pytest.mark.parametrize(
    ("first", "second"), PAIRS, ids=[f"{first.name}, {second.name}" for first, second in PAIRS]
)
def test_another_model_goes_on(first: Api, second: Api, failure: Failure) -> None:
    """With the calls and results so far, nothing opaque, and for all the rest of the run."""
    assert problems(first, second, failure) == []
