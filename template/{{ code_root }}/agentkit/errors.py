"""What can go wrong, in terms a caller can act on.

AgentkitError
├── ConfigError             a setting, a name or a key is missing or wrong: fix it and start again
├── ToolError               raise it in a tool to tell the model what went wrong
├── AgentError              a run ended without an answer; `result` says how
├── StoreError              a session could not be read or written
├── StoreConflict           somebody else appended to the session first
├── FetchError              a page or a search could not be had
└── LlmError                a model call failed
    ├── TransientError      trying again may help (and was tried)
    │   ├── RateLimited
    │   ├── Overloaded
    │   ├── ConnectionFailed
    │   └── MalformedReply
    └── FatalError          trying again cannot help
        ├── AuthenticationFailed
        ├── QuotaExhausted
        ├── UnknownModel
        └── BadRequest
            └── ContextTooLong
"""

from __future__ import annotations

import re
from typing import Any

from .messages import Message, Usage


class AgentkitError(Exception):
    """Whatever this package raises on purpose."""


class ConfigError(AgentkitError):
    """A setting, a name or a key is missing or wrong."""


class ToolError(AgentkitError):
    """Raise it in a tool: the model reads the message and goes on."""


class AgentError(AgentkitError):
    """A run ended without an answer; `result` is its `GenerateResult`."""

    def __init__(self, message: str, result: Any = None) -> None:
        super().__init__(message)
        self.result = result


class StoreError(AgentkitError):
    """A session could not be read or written: a full disk, a damaged or locked file."""


class StoreConflict(AgentkitError):
    """A session changed since it was read; nothing was written."""


class FetchError(AgentkitError):
    """A page or a search could not be had; `status` is the HTTP status if there was one."""

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class LlmError(AgentkitError):
    """A model call failed.

    `status` is the HTTP status, `retry_after` the provider's hint in seconds. The requester fills
    in `attempts`, and `usage`, `cost` (USD, None if unknown) and `messages` of the run so far.
    """

    def __init__(
        self, message: str, *, status: int | None = None, retry_after: float | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.retry_after = retry_after
        self.attempts = 1
        self.usage = Usage()
        self.cost: float | None = 0.0
        self.messages: list[Message] = []


class TransientError(LlmError):
    """Trying again may help."""


class RateLimited(TransientError):
    """Too many requests; `retry_after` says when to come back, if the provider told."""


class Overloaded(TransientError):
    """The provider has a problem of its own (5xx, 408, 409, 425)."""


class ConnectionFailed(TransientError):
    """No connection, a connection that broke, or no reply in time."""


class MalformedReply(TransientError):
    """A reply that breaks the protocol: no JSON, nothing at all, half a stream."""


class FatalError(LlmError):
    """Trying again cannot help."""


class AuthenticationFailed(FatalError):
    """The key is missing, wrong, or not allowed to do this."""


class QuotaExhausted(FatalError):
    """The account has no credit or quota left."""


class UnknownModel(FatalError):
    """The provider does not know the model or the address."""


class BadRequest(FatalError):
    """The provider refuses the request as it is."""


class ContextTooLong(BadRequest):
    """The conversation does not fit into the model's context window."""


_CONTEXT = re.compile(
    r"context[ _]length|context[ _]window|context size|maximum context|too many (input )?tokens"
    r"|context limit|prompt is too long|input is too long|input token count|reduce the length"
    r"|exceeds? the (maximum|available) (number of )?(tokens|context)",
    re.IGNORECASE,
)
_QUOTA = re.compile(
    r"insufficient_quota|billing|credit balance|out of credits|payment required|spend_limit",
    re.IGNORECASE,
)
_NO_CREDIT = re.compile(r"credit balance is too low|API usage limits", re.IGNORECASE)  # Anthropic
# OpenAI, DeepSeek and OpenRouter say it with a 400, where others answer 404.
_NO_MODEL = re.compile(r"model_not_found|model not exist|not a valid model", re.IGNORECASE)
_OVERLOAD = re.compile(r"overloaded|unavailable|server_error|internal|timeout", re.IGNORECASE)
_RATE = re.compile(r"rate.?limit|too many requests|resource_exhausted", re.IGNORECASE)


def error_class(status: int, text: str) -> type[LlmError]:
    """Return the error that an HTTP status means.

    The status decides: it is what the provider returned, while a match in the text is a guess.
    The text only tells kinds of 400, 413, 422 and 429 apart.
    """
    if status in (401, 403):
        return AuthenticationFailed
    if status == 402 or (status == 429 and _QUOTA.search(text)):
        return QuotaExhausted
    if status == 400 and _NO_CREDIT.search(text):
        return QuotaExhausted
    if status == 404 or (status == 400 and _NO_MODEL.search(text)):
        return UnknownModel
    if status == 429:
        return RateLimited
    if status in (408, 409, 425) or status >= 500:
        return Overloaded
    if status in (400, 413, 422) and _CONTEXT.search(text):
        return ContextTooLong
    return BadRequest


def stream_error_class(text: str) -> type[LlmError]:
    """Return the error for one that arrives inside a stream that began with status 200."""
    if _QUOTA.search(text):
        return QuotaExhausted
    if _CONTEXT.search(text):
        return ContextTooLong
    if _RATE.search(text):
        return RateLimited
    if _OVERLOAD.search(text):
        return Overloaded
    return MalformedReply
