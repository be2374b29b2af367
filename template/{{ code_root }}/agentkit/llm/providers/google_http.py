"""The way of the GenAI SDK's requests: our own pools, and our own errors."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextvars import ContextVar

import httpx2

from ...errors import AuthenticationFailed, LlmError, QuotaExhausted, RateLimited
from ...transport import HttpClients
from .failures import failure
from .reply_body import ReplyBody
from .sdk_transport import SdkTransport

# Collects the responses to what the current task sends: the SDK hands out none of them.
opened_by: ContextVar[list[httpx2.Response] | None] = ContextVar("agentkit_opened", default=None)


class GoogleTransport(httpx2.AsyncBaseTransport):
    """Hands the SDK responses that it may read to their end: none is too long, none a page."""

    def __init__(self, provider: str, clients: HttpClients) -> None:
        self._provider = provider
        self._inner = SdkTransport(provider, clients, refusal)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        found = await self._inner.handle_async_request(request)
        response = await ReplyBody(found, self._provider).as_response()
        opened = opened_by.get()
        if opened is not None:
            opened.append(response)
        return response


def refusal(provider: str, status: int, body: bytes, headers: Mapping[str, str]) -> LlmError:
    """Return the error that a response other than 200 means.

    A wrong key is a 400 here. One text ("check your plan and billing") stands for every limit:
    only that of a day, or one without a hint how long to wait, is a quota used up.
    """
    error = failure(provider, status, body, headers)
    text = body.decode("utf-8", "replace")
    if status == 400 and "API_KEY_INVALID" in text:
        return AuthenticationFailed(str(error), status=status)
    delay = re.search(r'"retryDelay"\s*:\s*"(\d+(?:\.\d+)?)s"', text)
    if delay and error.retry_after is None:
        error.retry_after = float(delay[1])
    if isinstance(error, QuotaExhausted) and error.retry_after is not None and "PerDay" not in text:
        return RateLimited(str(error), status=status, retry_after=error.retry_after)
    return error
