"""The way of an SDK's requests: our connections, and our own errors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import aclosing

import httpx2

from ...errors import LlmError
from ...transport import HttpClients
from .failures import disconnected, failure
from .reply_body import ReplyBody

Refusal = Callable[[str, int, bytes, Mapping[str, str]], LlmError]


class SdkTransport(httpx2.AsyncBaseTransport):
    """Sends requests over the connections of whatever event loop runs.

    What fails, and a response other than 200, is raised as an error of ours before the SDK sees it:
    an SDK reads bodies without a limit, and its errors hold the request and its key.
    """

    def __init__(self, provider: str, clients: HttpClients, refusal: Refusal = failure) -> None:
        self._provider = provider
        self._clients = clients
        self._refusal = refusal

    def client(self) -> httpx2.AsyncClient:
        """Return a client for an SDK. It needs no closing: the connections are not its own."""
        return httpx2.AsyncClient(transport=self, timeout=None, trust_env=False)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        try:
            response = await self._clients.send(request)
            if response.status_code == 200:
                return response
            async with aclosing(ReplyBody(response, self._provider)) as body:
                start = await body.read_start()
            problem = self._refusal(self._provider, body.status, start, body.headers)
        except (httpx2.HTTPError, OSError) as error:
            problem = disconnected(self._provider, str(request.url), error)
        raise problem  # outside the handler: its context would carry the request and its key
