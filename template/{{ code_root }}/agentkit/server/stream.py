"""Server-sent events of a turn: one line of JSON each, `[DONE]` at the end."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from typing import Any

from sse_starlette import EventSourceResponse, ServerSentEvent
from sse_starlette.sse import SendTimeoutError
from starlette.types import Receive, Scope, Send

from ..errors import AgentkitError
from .problems import Problem, as_problem, masked_json
from .service import Service
from .turns import CLEANUP, Turn

SEPARATOR = "\n"


class EventStream(EventSourceResponse):
    """Sends data as it comes; the turn ends with the connection, whoever ends it.

    `lines` is what the turn's events become. What fails on the way is the last line but one.
    """

    media_type = "text/event-stream"

    def __init__(
        self, turn: Turn, lines: AsyncGenerator[Mapping[str, Any], None], service: Service
    ):
        settings = service.settings
        super().__init__(
            _events(lines, service),
            sep=SEPARATOR,
            ping=settings.ping,
            ping_message_factory=lambda: ServerSentEvent(comment="ping", sep=SEPARATOR),
            send_timeout=settings.send_timeout,
            # The service ends turns itself at shutdown; this is for when it does not come to that.
            shutdown_grace_period=settings.grace + CLEANUP,
        )
        self._turn = turn
        self._logger = service.agent.ctx.logger

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the stream."""
        try:
            await super().__call__(scope, receive, send)
        except SendTimeoutError:
            self._logger.warn("a client did not read its stream in time; its turn was cancelled")
        finally:
            await self._turn.end()


async def _events(
    lines: AsyncGenerator[Mapping[str, Any], None], service: Service
) -> AsyncIterator[dict[str, str]]:
    try:
        async with aclosing(lines):
            async for line in lines:
                yield {"data": masked_json(line)}
    except Exception as error:
        logger = service.agent.ctx.logger
        if not isinstance(error, (AgentkitError, Problem)):
            logger.error("a turn failed", error)
        problem = as_problem(error, logger)
        yield {"data": masked_json({"type": "error", **problem.data()})}
    yield {"data": "[DONE]"}
