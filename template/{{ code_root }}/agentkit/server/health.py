"""For who watches over the process: whether it lives, and whether it can serve."""

from __future__ import annotations

import asyncio

from fastapi import APIRouter

from .problems import busy
from .schemas import Health
from .service import ServiceOf

PATIENCE = 5.0  # seconds that the store may take

router = APIRouter(tags=["health"])


@router.get("/healthz")
async def healthz() -> Health:
    """Say that the process runs."""
    return Health(status="ok")


@router.get("/readyz")
async def readyz(service: ServiceOf) -> Health:
    """Say that turns can be taken: sessions can be read, and the server is not shutting down."""
    if service.stopping:
        raise busy("shutting_down", "the server is shutting down")
    try:
        async with asyncio.timeout(PATIENCE):
            await service.agent.store.load("readyz")
    except Exception as error:
        service.agent.ctx.logger.error("the session store cannot be read", error)
        raise busy("store_unavailable", "sessions cannot be read") from None
    return Health(status="ready")
