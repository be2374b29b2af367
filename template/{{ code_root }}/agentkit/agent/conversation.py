"""One turn of a session: what is read before it, and what is stored while it happens."""

from __future__ import annotations

import asyncio
import operator
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

from ..errors import StoreConflict
from ..llm.events import Appended
from ..llm.result import GenerateResult
from ..messages import Message
from ..observability.logger import Logger
from ..observability.redact import exception_text
from ..session.seal import is_sendable, seal
from ..session.store import Compaction, Row, Rows, Session, SessionStore, apply


class Conversation:
    """Keeps a session and its store in step during one turn.

    The user's message is stored together with the first reply, so a turn that fails before it
    leaves no trace. Everything is stored before anything follows from it. `assembled` says that
    the caller made the session, so that what it holds counts even if the store has none of it.
    """

    def __init__(
        self, session: Session, store: SessionStore, user: Message, assembled: bool
    ) -> None:
        self._session = session
        self._store = store
        self._user: Message | None = user
        self._assembled = assembled
        self._prompted = False
        self.in_order = False  # whether what `open` returned can be sent as it is
        self._unsaved: list[Row] = []

    async def open(self, system: Message | None) -> list[Message]:
        """Read what is new in the store and return the messages to send.

        The agent's system prompt takes the place of one that came with the session.
        """
        assert self._user is not None
        session, rows = self._session, await self._newer_rows()
        if session.stored == 0 and rows:
            session.messages, session.checked = [], 0  # the store has them
        elif session.stored == 0:
            self._unsaved.extend(session.messages)
        apply(session, rows)
        self._prompted = system is not None
        self._seal()
        self.in_order = not session.messages or session.messages[-1].role != "user"
        return [*([system] if system else []), *session.messages, self._user]

    async def keep(self, event: Appended) -> Appended:
        """Store new messages; the first ones bring the user's along. Returns what was appended."""
        messages = event.messages if self._user is None else (self._user, *event.messages)
        await self._append([*self._unsaved, *messages])
        self._user, self._unsaved = None, []
        self._session.messages.extend(messages)
        return Appended(messages)

    async def close(self, result: GenerateResult, logger: Logger) -> None:
        """Store a compaction that happened during the turn as one marker row.

        A store that fails now costs a warning: the answer is there and stored.
        """
        working = result.history[1:] if self._prompted else result.history
        if self._user is not None or _same(working, self._session.messages):
            return
        try:
            await self._append([Compaction(tuple(working))])
        except Exception as error:  # a store is anybody's code
            logger.warn(f"a compaction was not stored: {exception_text(error)}")
        else:
            self._session.messages, self._session.checked = working, 0

    async def _newer_rows(self) -> Rows:
        """Return the rows that follow the known ones; all, if the store has not these any more.

        The last known row is read again: a session may have been deleted, and even begun anew.
        """
        session = self._session
        if session.stored:
            rows = await self._store.load(session.id, session.stored - 1)
            if rows and session.messages and _last(rows[0]) == session.messages[-1]:
                return rows[1:]
            session.stored = session.checked = 0
            if not self._assembled:
                session.messages = []
        return await self._store.load(session.id)

    def _seal(self) -> None:
        if self._is_checked():
            return
        known = self._session.messages
        sealed = seal(known)
        if self._prompted:
            sealed = [message for message in sealed if message.role != "system"]
        if _same(sealed[: len(known)], known):
            self._unsaved.extend(sealed[len(known) :])
        else:
            self._unsaved = [Compaction(tuple(sealed))]
        self._session.messages, self._session.checked = sealed, len(sealed)

    def _is_checked(self) -> bool:
        """Tell whether only the end of the conversation is new, and in order too."""
        known, checked = self._session.messages, self._session.checked
        if not 0 < checked <= len(known) or (self._prompted and known[0].role == "system"):
            return False
        if not is_sendable(known[checked:], known[checked - 1].role):
            return False
        self._session.checked = len(known)
        return True

    async def _append(self, rows: Sequence[Row]) -> None:
        session = self._session
        await self._store.append(session.id, rows, session.stored, session.user_id)
        session.stored += len(rows)


@asynccontextmanager
async def hold_turn(store: SessionStore, id: str, wait: float | None) -> AsyncIterator[None]:
    """Hold a session for one turn. Raises `StoreConflict` if it is still busy after `wait` s."""
    limit = asyncio.timeout(wait)
    async with AsyncExitStack() as held:
        try:
            async with limit:
                await held.enter_async_context(store.turn(id))
        except TimeoutError:
            if not limit.expired():
                raise
            raise StoreConflict(f'session "{id}" is busy with another turn; try later') from None
        yield


def _last(row: Row) -> Message | None:
    return row if isinstance(row, Message) else next(reversed(row.messages), None)


def _same(left: Sequence[Message], right: Sequence[Message]) -> bool:
    return len(left) == len(right) and all(map(operator.is_, left, right))
