"""The fake server fails tests whose script and requests do not match, or that leave things open."""

from __future__ import annotations

import httpx2
import pytest

from agentkit.tests.fake_chat import FakeChat

from .test_fake_chat import QUESTION, URL, ask


async def test_a_reply_that_was_not_asked_for_fails_the_test() -> None:
    """Leaving the block with replies left is a failure that shows them."""
    left = pytest.raises(pytest.fail.Exception, match=r"never asked for: \['two'\]")
    with left, FakeChat(["one", "two"]) as fake:
        await ask(fake)


async def test_an_unscripted_request_fails_the_test_at_once() -> None:
    """It raises what no `except Exception` can swallow, and fails once more at the end."""
    fake = FakeChat([])
    with pytest.raises(pytest.fail.Exception, match="unscripted request 1"):
        await ask(fake)
    with pytest.raises(pytest.fail.Exception, match="1 more requests"), fake:
        pass


async def test_an_error_of_the_test_is_not_covered_up() -> None:
    """What the block raises goes on, whatever is left."""
    with pytest.raises(KeyError), FakeChat(["left"]):
        raise KeyError


async def test_a_response_left_open_fails_the_test() -> None:
    """Every response must be closed when the block ends."""
    body = {"model": "m", "messages": QUESTION}
    headers = {"authorization": "Bearer sk-test"}
    client = httpx2.AsyncClient(transport=(fake := FakeChat(["x"])).transport)
    request = client.build_request("POST", URL, json=body, headers=headers)
    with pytest.raises(pytest.fail.Exception, match="1 responses were not closed"), fake:
        response = await client.send(request, stream=True)
    await response.aclose()
    assert fake.open == 0


async def test_an_unannounced_refusal_fails_the_test() -> None:
    """A refused request consumes no reply, and must be expected with `refusals=`."""
    with pytest.raises(pytest.fail.Exception, match="0 refusals announced"), FakeChat([]) as fake:
        assert (await ask(fake, top_k=4)).status_code == 400
    with FakeChat(["hi"], refusals=1) as fake:
        assert (await ask(fake, top_k=4)).status_code == 400
        assert (await ask(fake)).status_code == 200
    assert fake.refused == ["Unknown parameter: 'top_k'"]
