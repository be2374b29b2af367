"""Talking to the agent: whole answers, streamed ones, and yes or no to its tools."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from fastapi import APIRouter, Request, Response

from ..observability.run_context import RunContext
from .auth import AskedUser, Caller, CallerOf
from .events import event_data, reply_data
from .problems import Problem
from .schemas import Approval, ChatReply, ChatRequest
from .service import Service, ServiceOf, new_session_id, store_id
from .stream import EventStream
from .turns import Turn

router = APIRouter(tags=["chat"])
_STREAM = {"description": "JSON objects with a `type`; `[DONE]` at the end."}


@router.post("/chat", response_model=ChatReply)
async def chat(
    body: ChatRequest, request: Request, service: ServiceOf, caller: CallerOf, asked: AskedUser
) -> dict[str, Any]:
    """Say something, and wait for the answer.

    A tool that needs approval is refused, unless the agent itself decides.
    """
    turn, session, ctx = _begin(service, body, caller, asked, watched=False)
    return reply_data(await turn.result(request), session, ctx.run_id)


@router.post(
    "/chat/stream",
    response_class=Response,
    responses={200: {"content": {"text/event-stream": {}}} | _STREAM},
)
async def chat_stream(
    body: ChatRequest, service: ServiceOf, caller: CallerOf, asked: AskedUser
) -> EventStream:
    """Say something, and watch what happens, as server-sent events.

    `session` first; `text`, `thinking`, `tool_started`, `tool_progress`, `tool_finished`,
    `approval_needed`, `retrying` (the text since the model's last call began is void); at the end
    `final`, which is what `POST /chat` answers, or `error`; then `[DONE]`. Who disconnects ends
    the turn.
    """
    turn, session, ctx = _begin(service, body, caller, asked, watched=True)
    return EventStream(turn, _lines(turn, session, ctx.run_id), service)


@router.post("/approvals", status_code=204, response_class=Response)
async def approvals(body: Approval, service: ServiceOf, caller: CallerOf, asked: AskedUser) -> None:
    """Approve a call that waits, or refuse it; the process that serves the stream must be asked."""
    session = store_id(caller.user_for(body.user_id or asked), body.session_id)
    if not service.approvals.answer(session, body.call_id, body.approved):
        raise Problem(404, "not_found", "no such call waits for approval")


def _begin(
    service: Service, body: ChatRequest, caller: Caller, asked: str | None, watched: bool
) -> tuple[Turn, str, RunContext]:
    most = service.settings.max_input
    if len(body.input) > most:
        raise Problem(413, "too_large", f"the input is too long; {most} characters are allowed")
    user = caller.user_for(body.user_id or asked)
    session = body.session_id or new_session_id()
    ctx = service.context(user, session)
    return service.chat(body.input, user, session, ctx, watched), session, ctx


async def _lines(turn: Turn, session: str, run_id: str) -> AsyncGenerator[dict[str, Any], None]:
    yield {"type": "session", "session_id": session, "run_id": run_id}
    async with aclosing(turn.events()) as events:
        async for event in events:
            if data := event_data(event, session, run_id):
                yield data
