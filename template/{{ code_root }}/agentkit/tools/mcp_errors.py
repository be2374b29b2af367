"""What can go wrong with an MCP server, and its root cause in a line."""

from __future__ import annotations

from ..errors import AgentkitError, ConfigError
from ..observability.redact import exception_text
from .registry import describe_errors

NOT_SENT = -32055  # our own code: the server did not take the request, it can be sent again
EXPIRED = -32056  # our own code: the server did not take it, as it does not know the session
LOST = -32000  # the SDK's code for a connection that broke: the request may have been seen
REFUSED = -32603  # the protocol's code for an error of the server


class McpServerError(AgentkitError):
    """An MCP server could not be reached or broke off; the message says which and why."""


class NotSent(Exception):
    """The server did not take a call: it can be sent again."""


def root_cause(error: BaseException, limit: float) -> str:
    """Return why a session ended; `limit` is the number of seconds that it had to begin."""
    from mcp import MCPError
    from pydantic import ValidationError

    error = _root(error)
    if isinstance(error, MCPError):
        return error.message
    if isinstance(error, TimeoutError):
        return f"no answer within {limit:g} s"
    if isinstance(error, ValidationError):
        return f"it breaks the protocol: {describe_errors(error)}"
    return str(error) if isinstance(error, ConfigError) else exception_text(error)


def _root(error: BaseException) -> BaseException:
    """Return the cause in a group; that the session was closed is only what followed from it."""
    if not isinstance(error, BaseExceptionGroup):
        return error
    causes = [_root(inner) for inner in error.exceptions]
    telling = (cause for cause in causes if getattr(cause, "code", None) != LOST)
    return next(telling, causes[0])
