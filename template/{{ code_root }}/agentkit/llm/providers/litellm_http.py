"""litellm's HTTP over ours: shared pools, no retry that nobody asked for, failures as they were.

litellm's own errors lose headers and change statuses: a refused connection becomes a 500, an error
under status 200 a 422. So the wire of a call keeps what really happened. Imported with litellm only.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import httpx
import httpx2
from litellm.llms.custom_httpx.http_handler import AsyncHTTPHandler
from openai import AsyncOpenAI

from ...errors import LlmError
from ...transport import HttpClients
from .failures import disconnected, failure

_BROKEN = (httpx2.HTTPError, OSError)
# Whose requests go through the handler that takes a transport, as measured with litellm 1.110.
_BY_HANDLER = frozenset(
    "anthropic azure_ai bedrock bytez cometapi compactifai databricks datarobot deepseek edenai "
    "fireworks_ai gemini groq heroku hosted_vllm huggingface lemonade minimax mistral nadir ollama "
    "ollama_chat opencode_go openrouter ovhcloud sagemaker_chat sagemaker_nova snowflake "
    "together_ai vertex_ai xai".split()
)
_OWN_CLIENT = ("azure", "azure_text")  # a client of another class, made from many settings


class Wire(httpx2.AsyncBaseTransport):
    """Carries the requests of one call over the shared clients.

    `problem` is what went wrong on the way, None if nothing did or litellm went another way.
    `answered` tells that the provider accepted the request.
    """

    def __init__(self, provider: str, clients: HttpClients) -> None:
        self.problem: LlmError | None = None
        self.answered = False
        self._provider = provider
        self._clients = clients

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        body = b""
        try:
            response = await self._clients.send(request)
            if not response.is_success:
                try:
                    body = await response.aread()
                finally:
                    await response.aclose()
        except _BROKEN as error:
            problem = disconnected(self._provider, str(request.url), error)
        else:
            if response.is_success:
                self.answered = True
                response.stream = _Body(response.stream, self, str(request.url))
                return response
            problem = failure(self._provider, response.status_code, body, response.headers)
        raise self.failed(problem)  # no error of HTTP: litellm would send the request again

    def failed(self, problem: LlmError) -> LlmError:
        """Keep the first problem, and return it."""
        self.problem = self.problem or problem
        return self.problem


class _Body(httpx2.AsyncByteStream, httpx.AsyncByteStream):
    """A response's bytes, for either library; a connection that breaks is told to the wire."""

    def __init__(self, stream: Any, wire: Wire, url: str) -> None:
        self._stream = stream
        self._wire = wire
        self._url = url

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for chunk in self._stream:
                yield chunk
            return
        except _BROKEN as error:
            problem = disconnected(self._wire._provider, self._url, error)
        raise self._wire.failed(problem)

    async def aclose(self) -> None:
        await self._stream.aclose()


class _Bridge(httpx.AsyncBaseTransport):
    """The wire as a transport of httpx, which litellm still uses."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        response = await self._wire.handle_async_request(
            httpx2.Request(
                request.method,
                str(request.url),
                headers=request.headers.raw,
                content=await request.aread(),
            )
        )
        stream = response.stream
        assert isinstance(stream, _Body)
        return httpx.Response(response.status_code, headers=response.headers.raw, stream=stream)


def client_of(wire: Wire, provider: str, key: str | None, base_url: str | None) -> Any:
    """Return the `client` argument that makes litellm send this provider's requests by the wire.

    None where there is no such client; routes that cannot use the one they get make their own.
    """
    if provider in _OWN_CLIENT:
        return None
    if provider in _BY_HANDLER:
        handler = AsyncHTTPHandler(transport=_Bridge(wire))
        handler.client = handler.client  # else its finalizer starts a task that closes it
        return handler
    http = httpx2.AsyncClient(transport=wire, timeout=None, trust_env=False)
    return AsyncOpenAI(
        api_key=key or "none",  # the SDK insists on one
        base_url=base_url,
        http_client=http,
        max_retries=0,
        timeout=None,
    )
