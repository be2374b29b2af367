"""Tests of the limits: turns in a minute, at once, per session; bodies; and waiting."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from ...observability.run_context import RunContext
from ...server import ServerSettings
from ...server.limits import Admission
from ...server.problems import Problem
from .serving import Gate, call, client, problem, running, said, scripted, serving


def test_an_allowance_grows_back() -> None:
    """A user may take so many turns at once, then one each time a share of the minute is over."""
    now = 0.0
    admission = Admission(ServerSettings(turns_per_minute=2), lambda: now)

    def enter(user: str) -> int:
        try:
            admission.enter(user, "s")
        except Problem as refused:
            return int(refused.headers["Retry-After"])
        admission.leave("s")
        return 0

    assert [enter("alice"), enter("alice"), enter("alice"), enter("bob")] == [0, 0, 30, 0]
    now = 30.0
    assert [enter("alice"), enter("alice")] == [0, 30]


async def test_too_many_turns_in_a_minute_are_429(ctx: RunContext) -> None:
    """The answer says when to come back."""
    async with serving(scripted(ctx, "one"), ServerSettings(turns_per_minute=1)) as http:
        await said(http, "First")
        response = await http.post("/chat/stream", json={"input": "Second"})
    assert problem(response) == (429, "rate_limited")
    assert response.headers["retry-after"] == "60"


@pytest.mark.parametrize(
    ("settings", "session", "expected"),
    [
        (ServerSettings(turns_at_once=1), "b", (503, "overloaded")),
        (ServerSettings(turns_per_session=1), "a", (409, "session_busy")),
        (ServerSettings(wait=0.0), "a", (409, "session_busy")),
    ],
)
async def test_a_turn_for_which_there_is_no_room_is_refused(
    settings: ServerSettings, session: str, expected: tuple[int, str], ctx: RunContext
) -> None:
    """When all run that may, when too many wait for the session, or when it stays busy."""
    gate = Gate()
    agent = scripted(ctx, call("hold"), "Done.", tools=[gate.tool()])
    async with running(agent, settings) as app, client(app) as http:
        first = asyncio.create_task(said(http, "Hold", session_id="a"))
        await gate.entered.wait()
        response = await http.post("/chat", json={"input": "Second", "session_id": session})
        gate.opened.set()
        assert (await first)["text"] == "Done."
    assert problem(response) == expected
    assert int(response.headers["retry-after"]) >= 1


async def test_turns_of_one_session_wait_for_each_other(ctx: RunContext) -> None:
    """The second one sees what the first one said; another session's does not wait."""
    gate = Gate()
    agent = scripted(ctx, call("hold"), "other", "first", "second", tools=[gate.tool()])
    async with running(agent) as app, client(app) as http:
        first = asyncio.create_task(said(http, "First", session_id="a"))
        await gate.entered.wait()
        second = asyncio.create_task(said(http, "Second", session_id="a"))
        assert (await said(http, "Other", session_id="b"))["text"] == "other"
        gate.opened.set()
        assert [(await first)["text"], (await second)["text"]] == ["first", "second"]


async def test_a_body_is_limited_whatever_it_claims(ctx: RunContext) -> None:
    """By its length if it tells one, else by what arrives."""

    async def body() -> AsyncIterator[bytes]:
        for _ in range(20):
            yield b" " * 10

    async with serving(scripted(ctx), ServerSettings(max_body=100)) as http:
        told = await http.post("/chat", content=b" " * 101)
        headers = {"Content-Type": "application/json"}
        untold = await http.post("/chat", content=body(), headers=headers)
    assert problem(told) == problem(untold) == (413, "too_large")


async def test_a_body_that_takes_too_long_is_not_waited_for(ctx: RunContext) -> None:
    """However much of it keeps arriving; the connection is of no use any more."""

    async def body() -> AsyncIterator[bytes]:
        while True:
            yield b" "
            await asyncio.sleep(0)

    async with serving(scripted(ctx), ServerSettings(upload=0.0)) as http:
        response = await http.post("/chat", content=body())
    assert problem(response) == (408, "too_slow")
    assert response.headers["connection"] == "close"
