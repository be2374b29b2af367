"""A user's sessions: the list, one as a conversation, and its end."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Response

from ..messages import Message
from ..session.store import Compaction, Row
from .auth import User
from .events import message_data
from .problems import Problem
from .schemas import LONGEST_SESSION, SESSION, SessionList, SessionMessages
from .service import Service, ServiceOf, store_id

TITLE = 80  # characters
TITLES_KEPT = 10_000

router = APIRouter(tags=["sessions"])
Id = Annotated[str, Path(pattern=SESSION, max_length=LONGEST_SESSION)]
Limit = Annotated[int, Query(ge=1, le=200, description="How many, at most.")]


@router.get("/sessions", response_model=SessionList)
async def sessions(service: ServiceOf, user: User, limit: Limit = 50) -> dict[str, Any]:
    """List the sessions, the last changed one first."""
    prefix = store_id(user, "")
    found = [i for i in await service.agent.store.list(user) if i.id.startswith(prefix)][:limit]
    return {
        "sessions": [
            {
                "session_id": info.id.removeprefix(prefix),
                "updated": info.updated.isoformat(),
                "length": info.length,
                "title": await _title(service, info.id),
            }
            for info in found
        ]
    }


@router.get("/sessions/{session_id}", response_model=SessionMessages)
async def session(session_id: Id, service: ServiceOf, user: User) -> dict[str, Any]:
    """Show a conversation from its beginning, also what the model is no longer sent."""
    rows = await _rows(service, user, session_id)
    return {"session_id": session_id, "messages": [message_data(m) for m in _messages(rows)]}


@router.delete("/sessions/{session_id}", status_code=204, response_class=Response)
async def delete_session(session_id: Id, service: ServiceOf, user: User) -> None:
    """Forget a conversation; the log of its runs stays."""
    await _rows(service, user, session_id)
    await service.agent.store.delete(store_id(user, session_id))
    service.forget(user, session_id)


def title_of(messages: Iterable[Message]) -> str:
    """Return the beginning of what the user said first."""
    return shorten_title(next((message.text for message in messages if message.role == "user"), ""))


def shorten_title(text: str) -> str:
    """Return the beginning of a text, on one line."""
    words = " ".join(text[: 4 * TITLE].split())
    return words if len(words) <= TITLE else words[: TITLE - 1].rstrip() + "…"


async def _rows(service: Service, user: str, session_id: str) -> list[Row]:
    rows = await service.agent.store.load(store_id(user, session_id))
    if not rows:
        raise Problem(404, "not_found", "there is no such session")
    return rows


def _messages(rows: Iterable[Row]) -> list[Message]:
    """Return what was said; a compaction only stands for what the store no longer has."""
    messages: list[Message] = []
    for row in rows:
        if not isinstance(row, Compaction):
            messages.append(row)
        elif not messages:
            messages.extend(row.messages)
    return messages


async def _title(service: Service, id: str) -> str:
    """Return a session's title, which does not change once it has begun."""
    titles: OrderedDict[str, str] = service.titles
    if id not in titles:
        titles[id] = title_of(_messages(await service.agent.store.load(id)))
        if len(titles) > TITLES_KEPT:
            titles.popitem(last=False)
    return titles[id]
