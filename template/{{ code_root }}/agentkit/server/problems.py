"""What goes wrong, as JSON: `{"error": {"type", "message"}}`, without tracebacks and secrets."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from ..errors import (
    AgentkitError,
    ContextTooLong,
    LlmError,
    Overloaded,
    RateLimited,
    StoreConflict,
    StoreError,
)
from ..observability.logger import Logger
from ..observability.redact import exception_text, mask, mask_known, shorten
from ..texts import clean

LONGEST = 1_000  # characters of a message; some providers answer with a page of HTML
OPENAI = "/v1/"  # paths whose errors have OpenAI's shape, which has two keys more

_KINDS: tuple[tuple[type[AgentkitError], int, str], ...] = (
    (StoreConflict, 409, "session_busy"),
    (ContextTooLong, 400, "context_too_long"),
    (RateLimited, 503, "model_busy"),
    (Overloaded, 503, "model_busy"),
    (LlmError, 502, "model_failed"),
    (AgentkitError, 500, "agent_failed"),
)
_STATUSES = {404: "not_found", 405: "method_not_allowed", 408: "too_slow", 413: "too_large"}


class Problem(Exception):
    """An error that the client is told: HTTP status, a type for programs, a line for people."""

    def __init__(
        self, status: int, type: str, message: str, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.type = type
        self.headers = dict(headers or {})

    def data(self, path: str = "") -> dict[str, Any]:
        """Return it as JSON data, in the shape that a path's clients expect."""
        error: dict[str, Any] = {"type": self.type, "message": str(self)}
        if path.startswith(OPENAI):
            error |= {"code": self.type, "param": None}
        return {"error": error}


class MaskedJson(JSONResponse):
    """JSON in which no secret that this process knows is left."""

    def render(self, content: Any) -> bytes:
        """Return the body."""
        return masked_json(content).encode()


def masked_json(content: Any) -> str:
    """Return data as JSON without known secrets; numbers stay, whatever somebody's password is."""
    return json.dumps(_masked(content), ensure_ascii=False, separators=(",", ":"))


def _masked(value: Any) -> Any:
    if isinstance(value, str):
        return mask_known(value)
    if isinstance(value, Mapping):
        return {mask_known(str(key)): _masked(item) for key, item in value.items()}
    return [_masked(item) for item in value] if isinstance(value, (list, tuple)) else value


def busy(type: str, message: str, after: float = 1, status: int = 503) -> Problem:
    """Return the problem of a limit that is reached; it tells the client to come back."""
    return Problem(status, type, message, {"Retry-After": str(max(1, round(after)))})


def as_problem(error: Exception, logger: Logger) -> Problem:
    """Return what a client may know of an exception; where a store is, only the log says."""
    if isinstance(error, Problem):
        return error
    if isinstance(error, StoreError):
        logger.error(f"the session store failed: {exception_text(error)}")
        return busy("store_unavailable", "sessions cannot be read or written; the log says why")
    if not isinstance(error, AgentkitError):
        return Problem(500, "internal_error", "something went wrong; the log says what")
    status, type = next((s, t) for kind, s, t in _KINDS if isinstance(error, kind))
    message = " ".join(shorten(mask(clean(str(error))), LONGEST).split())
    if status not in (409, 503):
        return Problem(status, type, message)
    return busy(type, message, getattr(error, "retry_after", None) or 1, status)


def problem_response(request: Request, problem: Problem) -> MaskedJson:
    """Return the answer that tells a problem."""
    return MaskedJson(problem.data(request.url.path), problem.status, problem.headers)


async def on_problem(request: Request, error: Exception) -> MaskedJson:
    """Answer with what the server itself, or agentkit, says is wrong."""
    logger = request.app.state.service.agent.ctx.logger
    return problem_response(request, as_problem(error, logger))


async def on_http_error(request: Request, error: Exception) -> MaskedJson:
    """Answer for FastAPI: no such path or method."""
    assert isinstance(error, HTTPException)
    type = _STATUSES.get(error.status_code, "invalid_request")
    problem = Problem(error.status_code, type, str(error.detail), error.headers)
    return problem_response(request, problem)


async def on_invalid(request: Request, error: Exception) -> MaskedJson:
    """Answer for a request of the wrong form; OpenAI's clients know status 400 for it."""
    assert isinstance(error, RequestValidationError)
    found = [f"{'.'.join(map(str, item['loc']))}: {item['msg']}" for item in error.errors()]
    status = 400 if request.url.path.startswith(OPENAI) else 422
    message = clean(shorten("; ".join(found), LONGEST))
    return problem_response(request, Problem(status, "invalid_request", message))
