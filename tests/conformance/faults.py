"""Everything that can go wrong between a request and its reply, and what each fault costs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import NamedTuple

import httpx2

from agentkit.errors import (
    AuthenticationFailed,
    BadRequest,
    ConnectionFailed,
    ContextTooLong,
    LlmError,
    MalformedReply,
    Overloaded,
    QuotaExhausted,
    RateLimited,
    UnknownModel,
)
from agentkit.tests.chat_replies import (
    drip,
    empty_body,
    hang,
    html_error,
    malformed_json,
    reset_after_headers,
    reset_before_headers,
    sse,
    truncated,
    truncated_sse,
)

from .apis import ApiError, HttpError, Said
from .scenarios import BOTH, STREAMED, WHOLE, Check, Outcome, Scenario, Seen, taken

IMPORTS = 60.0  # seconds that a first import may take: threads make virtual time real
LONG_AGO = format_datetime(datetime(2020, 1, 1, tzinfo=UTC), usegmt=True)
TOMORROW = format_datetime(datetime.now(UTC) + timedelta(days=1), usegmt=True)


def _asked_the_same(seen: Seen) -> Iterator[str]:
    """Nothing of the fault is left in the second request."""
    if seen.bodies[0] != seen.bodies[1]:
        yield f"the second request differs: {seen.bodies[1]}"


def _given_up(seen: Seen, attempts: int) -> Iterator[str]:
    """So many attempts took their second each, and nothing else took time but imports."""
    if not attempts <= seen.seconds < attempts + IMPORTS:
        yield f"{attempts} attempts of 1 s took {seen.seconds:g} s"


class Fault(NamedTuple):
    """A fault, the error that is left if it stays, and what that takes (waits in seconds).

    A fault that costs more than one request may pass: then the second one gets the answer. One that
    `hangs` meets a deadline of a second.
    """

    title: str
    said: Said
    error: type[LlmError]
    waits: tuple[float, ...] = (1.0, 2.0)
    requests: int = 3
    ways: tuple[bool, ...] = BOTH
    hangs: bool = False

    @property
    def stays(self) -> Scenario:
        """The fault again and again."""
        outcome = Outcome(self.requests, ends=self.error.__name__, waits=self.waits)
        return self._scenario(self.title, (self.said,) * self.requests, outcome, self._stayed)

    @property
    def passes(self) -> Scenario | None:
        """The fault once, then an answer; None for what is not tried again."""
        if self.requests == 1:
            return None
        outcome = Outcome(2, "Done.", usage=taken(1), waits=self.waits[:1])
        return self._scenario(f"{self.title}, once", (self.said, "Done."), outcome, self._passed)

    def _scenario(
        self, title: str, says: tuple[Said, ...], outcome: Outcome, check: Check
    ) -> Scenario:
        timeout = 1_000 if self.hangs else 60_000
        return Scenario(title, says, outcome, ways=self.ways, timeout=timeout, check=check)

    def _stayed(self, seen: Seen) -> Iterator[str]:
        if self.hangs:
            yield from _given_up(seen, self.requests)

    def _passed(self, seen: Seen) -> Iterator[str]:
        yield from _asked_the_same(seen)
        if self.hangs:
            yield from _given_up(seen, 1)


def _fatal(title: str, said: Said, error: type[LlmError]) -> Fault:
    return Fault(title, said, error, (), 1)


def _limited(headers: Mapping[str, str]) -> HttpError:
    return HttpError(429, headers)


FAULTS = (
    _fatal("400", HttpError(400), BadRequest),
    _fatal("401", HttpError(401), AuthenticationFailed),
    _fatal("403", HttpError(403), AuthenticationFailed),
    _fatal("404", HttpError(404), UnknownModel),
    _fatal("unknown model", ApiError("unknown model"), UnknownModel),
    Fault("408", HttpError(408), Overloaded),
    Fault("409", HttpError(409), Overloaded),
    _fatal("413", HttpError(413), BadRequest),
    Fault("context too long", ApiError("too long"), ContextTooLong, (), 2),
    _fatal("422", HttpError(422), BadRequest),
    Fault("425", HttpError(425), Overloaded),
    Fault("429 without a hint", HttpError(429), RateLimited),
    Fault("429, wait 7 seconds", _limited({"retry-after": "7"}), RateLimited, (7.0, 7.0)),
    Fault("429, wait until a date, past", _limited({"retry-after": LONG_AGO}), RateLimited, ()),
    _fatal("429, wait until tomorrow", _limited({"retry-after": TOMORROW}), RateLimited),
    _fatal("429, wait a day", _limited({"retry-after": "86400"}), RateLimited),
    _fatal("429, quota used up", ApiError("quota"), QuotaExhausted),
    *(Fault(str(code), HttpError(code), Overloaded) for code in (500, 502, 503, 520, 529)),
    Fault("HTML error page (502)", html_error, Overloaded),
    Fault("HTML page under 200", b"<html><h1>Log in</h1></html>", MalformedReply),
    Fault("connection refused", httpx2.ConnectError, ConnectionFailed),
    Fault("reset before headers", reset_before_headers, ConnectionFailed),
    Fault("reset after headers", reset_after_headers, ConnectionFailed),
    Fault("hang", hang, ConnectionFailed, hangs=True),
    Fault("drip", drip(0.3, "x" * 100), ConnectionFailed, hangs=True),
    Fault("truncated body", truncated, ConnectionFailed, ways=WHOLE),
    Fault("malformed JSON", malformed_json, MalformedReply, ways=WHOLE),
    Fault("empty 200", empty_body, MalformedReply),
    Fault("empty stream", sse([]), MalformedReply, ways=STREAMED),
    Fault("truncated SSE, connection lost", truncated, ConnectionFailed, ways=STREAMED),
    Fault("truncated SSE, closed", truncated_sse, MalformedReply, ways=STREAMED),
    Fault("malformed SSE", malformed_json, MalformedReply, ways=STREAMED),
    Fault(
        "overloaded, in a stream under 200",
        ApiError("overloaded in the reply"),
        Overloaded,
        ways=STREAMED,
    ),
)
