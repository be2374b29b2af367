"""An API that wants a key and answers in JSON: one deadline, bounded retries, errors in one line.

How an API says that it failed differs from one to the next, so each brings a function that reads
it. Keys travel in headers only.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import httpx2

from ..errors import ConfigError, FetchError
from ..observability.redact import mask
from ..retry import Backoff, retry_after
from ..texts import decode_json
from .http import Http, HttpReply

ATTEMPTS = 4
LONGEST_WAIT = 5.0  # seconds; whoever asks for more gets an error that says so
MONTH = 2_592_000.0  # seconds, as quotas count it
DETAIL = 300  # characters of an API's own words in an error

_UNIX_TIME = 1_000_000_000  # a number of seconds above this is a date, not a wait


class ApiError(FetchError):
    """An API failed or refused.

    `transient` tells whether trying again may help, `retry_after` is the API's hint in seconds.
    """

    def __init__(
        self,
        message: str,
        status: int | None = None,
        transient: bool = False,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message, status)
        self.transient = transient
        self.retry_after = retry_after


class Failure(NamedTuple):
    """What an API said went wrong; `wait` is the hint of its body in seconds, if it has one."""

    status: int
    detail: str = ""
    wait: float | None = None


ReadFailure = Callable[[int, Mapping[str, Any]], Failure | None]


class JsonApi:
    """Asks an API and returns the JSON objects it answers with.

    `read_failure` gets the HTTP status and the body (empty when it was no JSON object) and returns
    None for success. Raises `ConfigError` for a timeout that is none.
    """

    def __init__(
        self,
        name: str,
        key_variable: str,
        headers: Mapping[str, str],
        read_failure: ReadFailure,
        *,
        timeout: float,
        backoff: Backoff | None,
        transport: httpx2.AsyncBaseTransport | None,
    ) -> None:
        if not timeout > 0:
            raise ConfigError(f"{name}: timeout is {timeout!r}, but must be seconds above 0")
        self.timeout = timeout
        self.backoff = backoff or Backoff(longest=LONGEST_WAIT)
        self._name = name
        self._key_variable = key_variable
        self._own_headers = {"accept": "application/json", **headers}
        self._read_failure = read_failure
        self._http = Http(timeout=timeout, transport=transport)

    @asynccontextmanager
    async def deadline(self) -> AsyncIterator[asyncio.Timeout]:
        """Bound everything inside by `timeout` seconds; raises `ApiError` when they are over."""
        try:
            async with asyncio.timeout(self.timeout) as limit:
                yield limit
        except TimeoutError:
            raise ApiError(
                f"{self._name}: no complete answer within {self.timeout:g} s", None, True
            ) from None

    async def ask(
        self,
        limit: asyncio.Timeout,
        method: str,
        url: str,
        headers: Mapping[str, str] | None = None,
        content: bytes | None = None,
    ) -> dict[str, Any]:
        """Send a request, again if that may help, and return the object it is answered with.

        A wait that is too long, or that `limit` does not leave time for, raises at once. Raises
        `ApiError` only.
        """
        own = {**self._own_headers, **(headers or {})}
        attempt = 1
        while True:
            try:
                return await self._once(method, url, own, content)
            except ApiError as error:
                wait = self.backoff.delay(attempt, error.retry_after)
                too_long = wait > self.backoff.longest or _is_over(limit, wait)
                if attempt == ATTEMPTS or not error.transient or too_long:
                    raise
            await self.backoff.sleep(wait)
            attempt += 1

    async def aclose(self) -> None:
        """Close this event loop's connections."""
        await self._http.aclose()

    async def _once(
        self, method: str, url: str, headers: Mapping[str, str], content: bytes | None
    ) -> dict[str, Any]:
        try:
            reply = await self._http.request(method, url, headers, content)
        except FetchError as error:
            raise ApiError(f"{self._name}: {error}", None, True) from None
        body = _json_object(reply)
        failure = self._read_failure(reply.status, body or {})
        if failure is not None:
            raise self._error(failure, reply.headers)
        if body is None:
            raise ApiError(f"{self._name}: {_no_json(reply)}", reply.status)
        return body

    def _error(self, failure: Failure, headers: Mapping[str, str]) -> ApiError:
        status = failure.status
        hints = [failure.wait, retry_after(headers)]
        if status == 429:  # other replies carry these headers as well, for information
            hints.append(rate_limit_wait(headers))
        wait = max((hint for hint in hints if hint is not None), default=None)
        detail = mask(" ".join(failure.detail.split()))[:DETAIL]
        parts = [f"{self._name} answered {status}" + (f" ({detail})" if detail else "")]
        if status in (401, 403):
            parts.append(f"check {self._key_variable}")
        elif status == 402:
            parts.append("the account has no balance or quota left")
        elif wait is not None and wait > self.backoff.longest:
            parts.append(f"try again in {_duration(wait)}")
        transient = status in (408, 425, 429) or status >= 500
        return ApiError("; ".join(parts), status, transient, wait)


def rate_limit_wait(
    headers: Mapping[str, str], now: Callable[[], float] = time.time
) -> float | None:
    """Return the seconds until `X-RateLimit-*` headers let a request through, or None.

    Each header has one value per window, the shortest first: `X-RateLimit-Reset: 1, 1419704` is
    one second, and 16 days until the monthly quota is back. Only a window of which nothing
    remains has to be waited for; a limit of 0 means that there is none.
    """
    policy = headers.get("x-ratelimit-policy", "")
    remaining = _numbers(headers.get("x-ratelimit-remaining", ""))
    limits = _numbers(headers.get("x-ratelimit-limit", "") or policy)
    windows = [float(seconds) for seconds in re.findall(r"w=(\d+)", policy)]
    resets = _numbers(headers.get("x-ratelimit-reset", ""))
    if not resets and not windows and not remaining:
        return None
    resets = [at - now() if at > _UNIX_TIME else at for at in resets]
    resets += (windows or [1.0, MONTH])[len(resets) :]  # a window's length is the longest wait
    spent = [
        reset
        for index, (reset, left) in enumerate(zip(resets, remaining, strict=False))
        if left <= 0 and limits[index : index + 1] != [0.0]
    ]
    return max(0.0, max(spent) if spent else min(resets))


def _numbers(values: str) -> list[float]:
    """Return the number that each value of a list begins with: `1;w=1, 15000;w=2592000`."""
    found = [re.match(r"\s*(-?\d+(?:\.\d+)?)", value) for value in values.split(",")]
    return [float(match[1]) for match in found if match] if all(found) else []


def _is_over(limit: asyncio.Timeout, wait: float) -> bool:
    end = limit.when()
    return end is not None and asyncio.get_running_loop().time() + wait >= end


def _json_object(reply: HttpReply) -> dict[str, Any] | None:
    try:
        value = decode_json(reply.body.decode("utf-8-sig"))
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _no_json(reply: HttpReply) -> str:
    if reply.truncated:
        return f"the answer is longer than {len(reply.body):,} bytes"
    kind = reply.content_type or "no content type"
    return f"the answer ({kind}, {len(reply.body):,} bytes) is no JSON object"


def _duration(seconds: float) -> str:
    for unit, name in ((86_400, "days"), (3_600, "hours"), (60, "minutes")):
        if seconds >= 2 * unit:
            return f"{seconds / unit:.0f} {name}"
    return f"{seconds:.0f} s"
