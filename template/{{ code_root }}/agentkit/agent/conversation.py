"""One turn of a session: what is read before it, and what is stored while it happens."""

from __future__ import annotations

import operator
from collections.abc import Sequence

from ..errors import ConfigError
from ..llm.events import Appended
from ..llm.result import GenerateResult
from ..messages import Message
from ..session.seal import is_empty, seal
from ..session.store import Compaction, Row, Session, SessionStore, apply


class Conversation:
    """Keeps a session and its store in step during one turn.

    The user's message is stored together with the first reply, so a turn that fails before it
    leaves no trace. Everything is stored before anything follows from it.
    """

    def __init__(self, session: Session, store: SessionStore, user: Message) -> None:
        if user.role != "user" or is_empty(user):
            raise ConfigError("the input must be a user message that says something")
        self._session = session
        self._store = store
        self._user: Message | None = user
        self._unsaved: list[Row] = []

    async def open(self, system: Message | None) -> list[Message]:
        """Read what is new in the store and return the messages to send."""
        session, assembled = self._session, self._session.stored == 0
        given = list(session.messages) if assembled else []
        apply(session, await self._store.load(session.id, session.stored))
        self._unsaved.extend(given if session.stored == 0 else [])
        sealed = seal(session.messages)
        if not _same(sealed[: len(session.messages)], session.messages):
            self._unsaved = [Compaction(tuple(sealed))]
        else:
            self._unsaved.extend(sealed[len(session.messages) :])
        session.messages = sealed
        assert self._user is not None
        return [*([system] if system else []), *sealed, self._user]

    async def keep(self, event: Appended) -> Appended:
        """Store new messages; the first ones bring the user's along. Returns what was appended."""
        messages = event.messages
        if self._user is not None:
            messages = (self._user, *messages)
            self._user = None
        await self._append([*self._unsaved, *messages])
        self._unsaved = []
        self._session.messages.extend(messages)
        return Appended(messages)

    async def close(self, result: GenerateResult) -> None:
        """Store a compaction that happened during the turn as one marker row."""
        working = [message for message in result.history if message.role != "system"]
        if self._user is None and not _same(working, self._session.messages):
            await self._append([Compaction(tuple(working))])
            self._session.messages = working

    async def _append(self, rows: Sequence[Row]) -> None:
        session = self._session
        await self._store.append(session.id, rows, session.stored, session.user_id)
        session.stored += len(rows)


def _same(left: Sequence[Message], right: Sequence[Message]) -> bool:
    return len(left) == len(right) and all(map(operator.is_, left, right))
