"""What the routes share: the agent, the sessions' contexts, and the turns that run."""

from __future__ import annotations

import asyncio
import copy
import hashlib
import secrets
from collections import OrderedDict
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path
from typing import Annotated

from fastapi import Depends, Request

from ..agent.agent import Agent
from ..llm.events import Event
from ..messages import Message
from ..observability.run_context import RunContext
from ..observability.slug import slug
from ..session.store import MemorySessionStore, Session
from .approvals import Approvals, watched_session
from .auth import DEFAULT_USER
from .limits import Admission
from .problems import busy
from .settings import ServerSettings
from .turns import CLEANUP, Turn

CONTEXTS_KEPT = 500  # sessions whose runs go on; a later turn of another one begins a new run


class Service:
    """One agent, served to many.

    A session's id in the store is `<user>/<id>`, so nobody reaches another's, whatever the guess.
    """

    def __init__(self, agent: Agent, settings: ServerSettings) -> None:
        self.agent = agent
        self.settings = settings
        self.approvals = Approvals(settings.approval_timeout)
        self.titles: OrderedDict[str, str] = OrderedDict()  # by the store's id
        self.stopping = False
        self._admission = Admission(settings)
        self._contexts: OrderedDict[str, RunContext] = OrderedDict()
        self._turns: set[Turn] = set()
        self._watched = copy.copy(agent)  # shares all but what is set here
        if agent.approve is None:
            self._watched.approve = self.approvals.ask
        self._stateless = copy.copy(agent)
        self._stateless.store = MemorySessionStore()

    def chat(self, input: str, user: str, session: str, ctx: RunContext, watched: bool) -> Turn:
        """Begin a turn of a user's session; raises `Problem` when there is no room for it."""
        key = store_id(user, session)
        agent = self._watched if watched else self.agent
        wait = self.settings.wait
        events = agent.stream(input, key, ctx=ctx, deltas=watched, user_id=user, wait=wait)
        return self._begin(_of_session(events, key if watched else None), user, key)

    def answer(self, input: Message, session: Session, ctx: RunContext, streamed: bool) -> Turn:
        """Begin a turn over a history that the client brings, of which nothing is kept."""
        events = self._stateless.stream(input, session, ctx=ctx, deltas=streamed)
        return self._begin(self._forgetting(events, session.id), session.user_id or "", session.id)

    def context(self, user: str, session: str) -> RunContext:
        """Return the context of a session: its turns are one run in the log."""
        key = store_id(user, session)
        ctx = self._contexts.pop(key, None) or self.new_context(user)
        self._contexts[key] = ctx
        if len(self._contexts) > CONTEXTS_KEPT:
            self._contexts.popitem(last=False)
        return ctx

    def new_context(self, user: str) -> RunContext:
        """Return a context for a run of a user."""
        return self.agent.ctx.another(self.run_dir(user))

    def forget(self, user: str, session: str) -> None:
        """Let what comes later in a session be a new run, with a title of its own."""
        self._contexts.pop(store_id(user, session), None)
        self.titles.pop(store_id(user, session), None)

    def run_dir(self, user: str) -> Path:
        """Return where the runs of a user are logged: nobody else's are there."""
        folder = self.agent.ctx.debug_dir
        if user == DEFAULT_USER:
            return folder
        digest = hashlib.sha256(user.encode()).hexdigest()[:16]
        return folder / "users" / f"{slug(user)[:40]}-{digest}"

    def stop(self) -> None:
        """Take no more turns, and let those that run do so for the grace period."""
        if not self.stopping:
            self.stopping = True
            asyncio.get_running_loop().call_later(self.settings.grace, self._cancel)

    async def end(self) -> None:
        """Cancel what still runs, and wait for it."""
        self.stopping = True
        self._cancel()
        if self._turns:
            await asyncio.wait({turn.task for turn in self._turns}, timeout=CLEANUP)

    def _begin(self, events: AsyncGenerator[Event, None], user: str, key: str) -> Turn:
        if self.stopping:
            raise busy("shutting_down", "the server is shutting down")
        self._admission.enter(user, key)
        turn = Turn(events)
        self._turns.add(turn)

        def ended(task: asyncio.Task[None]) -> None:
            self._turns.discard(turn)
            self._admission.leave(key)

        turn.task.add_done_callback(ended)
        return turn

    async def _forgetting(
        self, events: AsyncGenerator[Event, None], id: str
    ) -> AsyncGenerator[Event, None]:
        try:
            async with aclosing(events):
                async for event in events:
                    yield event
        finally:
            await self._stateless.store.delete(id)

    def _cancel(self) -> None:
        for turn in tuple(self._turns):
            turn.cancel()


def store_id(user: str, session: str) -> str:
    """Return the id that a user's session has in the store."""
    return f"{user}/{session}"


def new_session_id() -> str:
    """Return an id that nobody has yet."""
    return secrets.token_hex(16)


async def _of_session(
    events: AsyncGenerator[Event, None], watched: str | None
) -> AsyncGenerator[Event, None]:
    """Yield the events; tools that need approval learn which session's client to ask."""
    watched_session.set(watched)
    async with aclosing(events):
        async for event in events:
            yield event


async def service_of(request: Request) -> Service:
    """Return the service of the application."""
    service: Service = request.app.state.service
    return service


ServiceOf = Annotated[Service, Depends(service_of)]
