"""The gate that every request passes: who it is, how large it is, and what becomes of a failure."""

from __future__ import annotations

import asyncio

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..observability.logger import Logger
from .auth import identify
from .problems import Problem, as_problem, problem_response
from .settings import ServerSettings

OPEN = ("/", "/healthz", "/readyz", "/docs", "/openapi.json", "/static/")  # hold nobody's data


class Gate:
    """Lets those in who may come in, before a byte of a body is read.

    What fails behind it and was not foreseen is logged here, masked, and never reaches the client
    or the log of the HTTP server.
    """

    def __init__(self, app: ASGIApp, settings: ServerSettings, logger: Logger) -> None:
        self._app = app
        self._settings = settings
        self._logger = logger

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = False

        async def watched(message: Message) -> None:
            nonlocal started
            started = started or message["type"] == "http.response.start"
            await send(message)

        try:
            self._check(scope)
            await self._app(scope, _limited(receive, self._settings), watched)
        except Exception as error:
            if not isinstance(error, Problem):
                self._logger.error(f"{scope['method']} {scope['path']} failed", error)
            if not started:
                response = problem_response(Request(scope), as_problem(error, self._logger))
                await response(scope, receive, send)

    def _check(self, scope: Scope) -> None:
        path = scope["path"]
        is_open = path in OPEN or path.startswith(OPEN[-1])
        if not (is_open and self._settings.tokens):
            scope["caller"] = identify(scope, self._settings.tokens)
        length = Request(scope).headers.get("content-length", "")
        if length.isascii() and length.isdigit() and int(length) > self._settings.max_body:
            raise Problem(413, "too_large", _too_large(self._settings.max_body))


def _limited(receive: Receive, settings: ServerSettings) -> Receive:
    """Return `receive` that fails once a body has become too large, or takes too long."""
    read, whole = 0, False
    due = asyncio.get_running_loop().time() + settings.upload

    async def limited() -> Message:
        nonlocal read, whole
        try:
            async with asyncio.timeout_at(None if whole else due):
                message = await receive()
        except TimeoutError:
            raise HTTPException(408, "the body took too long", {"Connection": "close"}) from None
        whole = not message.get("more_body", False)
        read += len(message.get("body", b""))
        if read > settings.max_body:
            raise HTTPException(413, _too_large(settings.max_body))
        return message

    return limited


def _too_large(most: int) -> str:
    return f"the body is too large; {most} bytes are allowed"
