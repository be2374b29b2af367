"""These tests run under the rules and with the fixtures of agentkit's own."""

from agentkit.tests.conftest import (
    anyio_backend,
    backoff,
    costs,
    ctx,
    isolation,
    log,
    logger,
    loopback,
    pytest_collectstart,
    pytest_configure,
    pytest_itemcollected,
    requester,
    sleeps,
    tmp_path,
)

__all__ = [
    "anyio_backend",
    "backoff",
    "costs",
    "ctx",
    "isolation",
    "log",
    "logger",
    "loopback",
    "pytest_collectstart",
    "pytest_configure",
    "pytest_itemcollected",
    "requester",
    "sleeps",
    "tmp_path",
]
