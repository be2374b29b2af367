"""The application: an agent behind HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from fastapi import Depends, FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.security import HTTPBearer
from starlette.exceptions import HTTPException

from ..agent.agent import Agent
from ..errors import AgentkitError, ConfigError
from . import chat, health, openai_api, runs, sessions
from .gate import Gate
from .page import page_router
from .problems import MaskedJson, Problem, on_http_error, on_invalid, on_problem
from .schemas import ProblemReply
from .service import Service
from .settings import ServerSettings, tokens_from_environment
from .shutdown import on_shutdown

_STATUSES = {
    400: "Cannot be read, or is too long for the model.",
    401: "No valid token.",
    403: "Not for this user, or not from here.",
    404: "There is no such thing, or it is another user's.",
    408: "The body took too long.",
    409: "The session is busy; Retry-After says when to come back.",
    413: "Too large.",
    422: "Not what was expected.",
    429: "Too many turns in a minute; see Retry-After.",
    500: "The agent, or this server, is broken.",
    502: "The model failed.",
    503: "Too busy, or about to stop; see Retry-After.",
}
_RESPONSES: dict[int | str, dict[str, Any]] = {
    status: {"model": ProblemReply, "description": text} for status, text in _STATUSES.items()
}
# For the description only: the gate has looked before.
_BEARER = [Depends(HTTPBearer(auto_error=False))]


def create_app(
    agent: Agent | Callable[[], Agent], settings: ServerSettings | None = None
) -> FastAPI:
    """Return the application for an agent, or for a function that builds one.

    What it had built it also closes. Without settings the tokens are those of the environment.
    Raises `ConfigError` for what the agent cannot be built with.
    """
    settings = settings or ServerSettings(tokens_from_environment())
    owned = not isinstance(agent, Agent)
    built = agent if isinstance(agent, Agent) else agent()
    if not isinstance(built, Agent):
        raise ConfigError(f"build_agent returned {type(built).__name__}; it must return the Agent")
    service = Service(built, settings)
    app = FastAPI(
        title=settings.name,
        version="1",
        lifespan=_lifespan(service, owned),
        default_response_class=MaskedJson,
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.service = service
    for module in (chat, sessions, runs, openai_api):
        needs = _BEARER if settings.tokens else []
        app.include_router(module.router, dependencies=needs, responses=_RESPONSES)
    app.include_router(health.router, responses=_RESPONSES)
    app.include_router(page_router())
    for kind, handler in (
        (Problem, on_problem),
        (AgentkitError, on_problem),
        (HTTPException, on_http_error),
        (RequestValidationError, on_invalid),
    ):
        app.add_exception_handler(kind, handler)
    app.add_middleware(Gate, settings=settings, logger=built.ctx.logger)
    return app


def _lifespan(service: Service, owned: bool) -> Callable[[FastAPI], Any]:
    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        agent = service.agent
        try:
            async with agent:
                with on_shutdown(service.stop):
                    yield
                await service.end()
        finally:
            if owned:
                await agent.llm.aclose()
                await agent.store.aclose()

    return lifespan
