"""litellm's HTTP over ours: shared pools, no retry that nobody asked for, failures as they were.

litellm's own errors lose headers and change statuses: a refused connection becomes a 500, an error
under status 200 a 422. So the wire of a call keeps what really happened. Needs litellm when it is
imported.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

from . import litellm_environment  # noqa: F401  litellm reads it as soon as it is imported

# isort: split
import httpx
import httpx2
import litellm
from litellm.exceptions import BadRequestError, UnsupportedParamsError
from litellm.llms.custom_httpx.http_handler import AsyncHTTPHandler
from openai import AsyncOpenAI

from ...errors import (
    AgentkitError,
    ConfigError,
    ConnectionFailed,
    LlmError,
    error_class,
    stream_error_class,
)
from ...retry import retry_after
from ...transport import HttpClients
from .failures import disconnected, failure, one_line, reported
from .reply_body import ReplyBody

_BROKEN = (httpx2.HTTPError, OSError)
# Whose requests go through the handler that takes a transport, as measured with litellm 1.110.
_BY_HANDLER = {
    *("anthropic", "azure_ai", "bedrock", "bytez", "cometapi", "compactifai", "databricks"),
    *("datarobot", "deepseek", "edenai", "fireworks_ai", "gemini", "groq", "heroku", "hosted_vllm"),
    *("huggingface", "lemonade", "minimax", "mistral", "nadir", "ollama", "ollama_chat"),
    *("opencode_go", "openrouter", "ovhcloud", "sagemaker_chat", "sagemaker_nova", "snowflake"),
    *("together_ai", "vertex_ai", "xai"),
}
_OWN_CLIENT = ("azure", "azure_text")  # a client of another class, made from many settings
# What litellm puts round a message: names of classes, tracebacks, advice about itself.
_WRAPPING = re.compile(
    r"^(?:litellm\.|\w*(?:Error|Exception)(?: - |: ))+"
    r"|\s(?:Traceback \(|Original exception:|Handle with `|To drop ).*",
    re.DOTALL,
)
_CONNECTION = re.compile(r"connection error|connect to|connect call|connection refused", re.I)


class Wire(httpx2.AsyncBaseTransport):
    """Carries the requests of one call over the shared clients.

    `problem` is what went wrong on the way, None if nothing did or litellm went another way.
    `answered` tells that the provider accepted the request.
    """

    def __init__(
        self, provider: str, clients: HttpClients, authorization: str | None = None
    ) -> None:
        self.problem: LlmError | None = None
        self.answered = False
        self.provider = provider
        self._clients = clients
        self._authorization = authorization

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if self._authorization:
            request.headers["authorization"] = self._authorization
        url = str(request.url)
        try:
            body = ReplyBody(await self._clients.send(request), self.provider)
            self.answered = 200 <= body.status < 300
            if self.answered:
                response = await body.as_response()
                response.stream = _Body(body, self, url)
                return response
            async with aclosing(body):
                start = await body.read_start()
            problem = failure(self.provider, body.status, start, body.headers)
        except LlmError as error:  # a page for people
            problem = error
        except _BROKEN as error:
            problem = disconnected(self.provider, url, error)
        raise self.failed(problem)  # no error of HTTP: litellm would send the request again

    def failed(self, problem: LlmError) -> LlmError:
        """Keep the first problem, and return it."""
        self.problem = self.problem or problem
        return self.problem


class _Body(httpx2.AsyncByteStream, httpx.AsyncByteStream):
    """A response's bytes, for either library; a connection that breaks is told to the wire."""

    def __init__(self, stream: ReplyBody, wire: Wire, url: str) -> None:
        self._stream = stream
        self._wire = wire
        self._url = url

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for chunk in self._stream:
                yield chunk
            return
        except LlmError as error:  # it is too long
            problem = error
        except _BROKEN as error:
            problem = disconnected(self._wire.provider, self._url, error)
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
        headers = response.headers.raw
        if not response.headers.get("content-type", "").lower().startswith("application/json"):
            return httpx.Response(response.status_code, headers=headers, stream=stream)
        async with aclosing(stream):
            body = b"".join([chunk async for chunk in stream])
        return httpx.Response(response.status_code, headers=headers, content=_counted(body))


def _counted(body: bytes) -> bytes:
    """Return a message of Anthropic's with a usage: litellm takes one without for no reply."""
    text = body.rstrip()
    if b'"stop_reason"' not in text or b'"usage"' in text or not text.endswith(b"}"):
        return body
    return text[:-1] + b',"usage":{}}'


def client_of(wire: Wire, model: str, key: str | None, base_url: str | None) -> Any:
    """Return the `client` argument that makes litellm send a model's requests by the wire.

    None where there is no such client; routes that cannot use the one they get make their own.
    Raises `ConfigError` for a provider that litellm does not know.
    """
    try:
        _, provider, known_key, base_url = litellm.get_llm_provider(
            model, api_base=base_url, api_key=key
        )
    except BadRequestError:
        provider = ""
    if not provider:
        raise ConfigError(f"litellm knows no provider {model.partition('/')[0]!r}")
    if provider in _OWN_CLIENT:
        return None
    if provider in _BY_HANDLER:
        handler = AsyncHTTPHandler(transport=_Bridge(wire))
        handler.client = handler.client  # else its finalizer starts a task that closes it
        return handler
    return AsyncOpenAI(
        api_key=key or known_key or "none",  # the SDK insists on one
        base_url=base_url,
        http_client=httpx2.AsyncClient(transport=wire, timeout=None, trust_env=False),
        max_retries=0,
        timeout=None,
    )


def problem_of(error: Exception, wire: Wire) -> AgentkitError:
    """Return what an error of litellm means: what the wire saw, else what its own status says."""
    if wire.problem is not None:
        return wire.problem
    if isinstance(error, AgentkitError):
        return error
    text = one_line(_WRAPPING.sub("", str(error))) or type(error).__name__
    if isinstance(error, UnsupportedParamsError):
        return ConfigError(f"{wire.provider} refuses a setting: {text}")
    if wire.answered:
        body = _body(error)
        if body:
            return reported(wire.provider, body)
        return stream_error_class(text)(f"{wire.provider} failed: {text}", status=200)
    status = getattr(error, "status_code", None)
    if not isinstance(status, int) or _CONNECTION.search(text):
        return ConnectionFailed(f"no reply from {wire.provider} ({text})")
    hint = retry_after(getattr(error, "litellm_response_headers", None) or {})
    message = f"{wire.provider} failed with status {status}: {text}"
    return error_class(status, text)(message, status=status, retry_after=hint)


def _body(error: BaseException | None) -> Any:
    """Return the body of the error that a provider reported inside a stream, if the SDK kept it."""
    while error is not None and not getattr(error, "body", None):
        error = error.__cause__ or error.__context__
    return getattr(error, "body", None)
