"""Tests of who may do what: tokens, users, and this machine only."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx2
import pytest

from ...observability.run_context import RunContext
from ...server import ServerSettings
from ...server.auth import is_local
from .serving import TOKENS, call, client, problem, running, said, scripted, serving

ALICE, BOB, TRUSTED = "alice-0123456789", "bob-0123456789", "trusted-0123456789"
GUARDED = ("/sessions", "/sessions/s1", "/runs", "/runs/r1", "/v1/models")
SETTINGS = ServerSettings(TOKENS)


@pytest.mark.parametrize("sent", [None, "Bearer nobody", "Bearer ", f"Basic {ALICE}", ALICE])
@pytest.mark.checklist("secrets")
async def test_without_a_valid_token_there_is_nothing(sent: str | None, ctx: RunContext) -> None:
    """Every path that holds somebody's data says 401 and how to do it, and nothing else."""
    headers = {} if sent is None else {"Authorization": sent}
    async with running(scripted(ctx), SETTINGS) as app, client(app, **headers) as http:
        for path in GUARDED:
            response = await http.get(path)
            assert problem(response) == (401, "unauthorized")
            assert response.headers["www-authenticate"] == "Bearer"


async def test_a_body_is_not_read_before_the_token(ctx: RunContext) -> None:
    """Who may not come in cannot make the server read either."""

    async def body() -> AsyncIterator[bytes]:
        raise AssertionError("the body was read")
        yield b""

    async with running(scripted(ctx), SETTINGS) as app, client(app) as http:
        assert problem(await http.post("/chat", content=body())) == (401, "unauthorized")


async def test_nobody_sees_what_is_anothers(ctx: RunContext) -> None:
    """Sessions and runs of others are as unknown as those that do not exist."""
    agent = scripted(ctx, "for alice", "for bob")
    async with (
        running(agent, SETTINGS) as app,
        client(app, ALICE) as alice,
        client(app, BOB) as bob,
    ):
        run_id = (await said(alice, "A secret", session_id="s1"))["run_id"]
        await said(bob, "Tell me", session_id="s1")
        for path in ("/sessions/unknown", f"/runs/{run_id}", "/runs/users", "/runs/r1"):
            assert problem(await bob.get(path)) == (404, "not_found")
        listed = (await bob.get("/runs")).text + (await bob.get("/sessions/s1")).text
        assert (await bob.delete("/sessions/s1")).status_code == 204
        mine = (await alice.get("/sessions/s1")).json()
        assert (await alice.get(f"/runs/{run_id}")).status_code == 200
    assert "secret" not in listed
    assert [message["role"] for message in mine["messages"]] == ["user", "assistant"]
    requests = agent.llm.models[0].provider.requests  # type: ignore[attr-defined]
    assert len(requests[1].messages) == 1


async def test_a_users_token_speaks_for_that_user_only(ctx: RunContext) -> None:
    """Naming another user is refused, in the body and in the header."""
    async with running(scripted(ctx), SETTINGS) as app, client(app, BOB) as http:
        said_so = await http.post("/chat", json={"input": "Hi", "user_id": "alice"})
        asked = await http.get("/sessions", headers={"X-User-Id": "alice"})
    assert problem(said_so) == problem(asked) == (403, "forbidden")


async def test_a_trusted_token_speaks_for_any_user(ctx: RunContext) -> None:
    """A backend names its user, whom the tools learn as well; letters of all kinds are fine."""
    agent = scripted(ctx, call("who"), "Done.")
    async with running(agent, SETTINGS) as app, client(app, TRUSTED) as http:
        await said(http, "Who am I?", session_id="s1", user_id="Zoë")
        shown = await http.get("/sessions/s1", headers={b"X-User-Id": "Zoë".encode()})
        assert problem(await http.get("/sessions/s1")) == (404, "not_found")
    assert shown.json()["messages"][2]["parts"][0]["text"] == "Zoë"


async def test_a_token_may_have_letters_of_all_kinds(ctx: RunContext) -> None:
    """Headers carry bytes; those of a token are UTF-8."""
    headers = {b"Authorization": "Bearer Schlüssel-0123".encode()}
    settings = ServerSettings({"Schlüssel-0123": None})
    async with running(scripted(ctx), settings) as app, client(app) as http:
        assert (await http.get("/sessions", headers=headers)).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": "localhost.evil.example"},
        {"Host": "[::1"},
        {"Host": "evil.example@localhost"},
        {"Host": "localhost/evil.example"},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://["},
        {"Origin": "http://localhost:1234"},
    ],
)
async def test_without_tokens_web_pages_of_others_get_nothing(
    headers: dict[str, str], ctx: RunContext
) -> None:
    """Neither a name that points here nor another site's script reaches the agent."""
    async with serving(scripted(ctx)) as http:
        response = await http.post("/chat", json={"input": "Hi"}, headers=headers)
        assert problem(response) == (403, "forbidden")


async def test_without_tokens_the_own_page_is_served(ctx: RunContext) -> None:
    """A script of the server's own origin may ask, on any port."""
    headers = {"Host": "127.0.0.1:8000", "Origin": "http://127.0.0.1:8000"}
    async with serving(scripted(ctx, "Hello.")) as http:
        response = await http.post("/chat", json={"input": "Hi"}, headers=headers)
    assert response.status_code == 200


async def test_without_tokens_other_machines_get_nothing(ctx: RunContext) -> None:
    """Whatever Host they claim."""
    async with running(scripted(ctx)) as app:
        transport = httpx2.ASGITransport(app, client=("192.0.2.1", 5000))
        async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as http:
            assert problem(await http.get("/sessions")) == (403, "forbidden")


@pytest.mark.parametrize(
    ("host", "local"),
    [
        ("localhost", True),
        ("127.0.0.2", True),
        ("::1", True),
        ("0.0.0.0", False),
        ("::", False),
        ("example.org", False),
        ("", False),
    ],
)
def test_which_hosts_are_this_machine(host: str, local: bool) -> None:
    """Loopback, by name or address."""
    assert is_local(host) is local
