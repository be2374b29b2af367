"""Every scenario and every fault, against every adapter."""

from __future__ import annotations

import pytest

from agentkit.tests.litellm_routes import quiet

from .apis import APIS, Api
from .cells import problems
from .conversations import CONVERSATIONS
from .faults import FAULTS
from .scenarios import Scenario

pytestmark = quiet
every_api = pytest.mark.parametrize("api", APIS, ids=[api.name for api in APIS])
STAY = [fault.stays for fault in FAULTS]
PASS = [fault.passes for fault in FAULTS if fault.passes]


@every_api
@pytest.mark.parametrize("scenario", CONVERSATIONS, ids=[s.title for s in CONVERSATIONS])
def test_a_conversation_ends_the_same_everywhere(api: Api, scenario: Scenario) -> None:
    """With the same text or value, the same usage, and the same number of requests."""
    assert problems(api, scenario) == []


@every_api
@pytest.mark.parametrize("scenario", STAY, ids=[s.title for s in STAY])
def test_a_fault_that_stays_is_the_same_error_everywhere(api: Api, scenario: Scenario) -> None:
    """After the same number of requests and the same waits, whatever the SDK makes of it."""
    assert problems(api, scenario) == []


@every_api
@pytest.mark.parametrize("scenario", PASS, ids=[s.title for s in PASS])
def test_a_fault_that_passes_costs_one_request_everywhere(api: Api, scenario: Scenario) -> None:
    """The second request gets the answer; what was streamed before it is void."""
    assert problems(api, scenario) == []
