"""A session store that a run may go through twice: what it stored before is not stored again."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager

from ..agent.agent import Agent
from ..errors import StoreConflict
from ..session.store import Row, Rows, SessionInfos, SessionStore
from .steps import DurableProvider, around_tool, current_steps


class DurableStore:
    """Inside a run, sessions are as they were when it began, with what it has appended since.

    Outside of one it is the store that it wraps.
    """

    def __init__(self, store: SessionStore) -> None:
        self._store = store

    async def load(self, id: str, after: int = 0) -> Rows:
        """Return the rows from index `after` on; an unknown session has none."""
        rows = await self._store.load(id, after)
        steps = current_steps.get()
        if steps is None:
            return rows
        known = steps.rows.get(id)
        if known is None:
            known = await steps.first_rows(id, after + len(rows))
        return rows[: max(0, known - after)]

    async def append(
        self, id: str, rows: Sequence[Row], at: int, user_id: str | None = None
    ) -> None:
        """Append the rows, if they are not there yet; raises `StoreConflict` if others are."""
        steps = current_steps.get()
        try:
            await self._store.append(id, rows, at, user_id)
        except StoreConflict:
            if steps is None or (await self._store.load(id, at))[: len(rows)] != list(rows):
                raise
        if steps is not None:
            steps.rows[id] = at + len(rows)

    async def delete(self, id: str) -> None:
        """Forget a session; an unknown one is no error."""
        await self._store.delete(id)

    async def delete_user(self, user_id: str) -> None:
        """Forget all sessions of a user."""
        await self._store.delete_user(user_id)

    async def list(self, user_id: str | None = None) -> SessionInfos:
        """Return the sessions of a user, or of all, the last changed one first."""
        return await self._store.list(user_id)

    def turn(self, id: str) -> AbstractAsyncContextManager[None]:
        """Hold the session for one turn; others wait."""
        return self._store.turn(id)

    async def aclose(self) -> None:
        """Release what the store holds open."""
        await self._store.aclose()


def make_durable(agent: Agent) -> None:
    """Put steps between an agent and its models, tools and store; twice changes nothing."""
    for model in agent.llm.models:
        if not isinstance(model.provider, DurableProvider):
            model.provider = DurableProvider(model.provider)
    agent.llm.around_tool = around_tool
    if not isinstance(agent.store, DurableStore):
        agent.store = DurableStore(agent.store)
