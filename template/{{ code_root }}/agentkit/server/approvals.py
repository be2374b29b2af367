"""Tools that wait until a client says yes or no."""

from __future__ import annotations

import asyncio
from contextvars import ContextVar

from ..messages import ToolCall

watched_session: ContextVar[str | None] = ContextVar("agentkit_watched_session", default=None)


class Approvals:
    """The calls that wait, by session and call id, in this process."""

    def __init__(self, timeout: float) -> None:
        self._timeout = timeout
        self._waiting: dict[tuple[str, str], asyncio.Future[bool]] = {}

    async def ask(self, call: ToolCall) -> bool:
        """Wait for the answer of the client that watches; no answer in time means no.

        So does a second call with the id of one that waits: nobody could tell them apart.
        """
        key = (watched_session.get() or "", call.id)
        if key in self._waiting:
            return False
        answer = self._waiting[key] = asyncio.get_running_loop().create_future()
        try:
            return await asyncio.wait_for(answer, self._timeout)
        except TimeoutError:
            return False
        finally:
            del self._waiting[key]

    def answer(self, session: str, call_id: str, approved: bool) -> bool:
        """Answer a call; returns whether it waited."""
        future = self._waiting.get((session, call_id))
        if future is None or future.done():
            return False
        future.set_result(approved)
        return True
