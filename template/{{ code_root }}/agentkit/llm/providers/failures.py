"""What a provider says went wrong, as one of our errors with a message of one line."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import httpx2

from ...errors import (
    ConnectionFailed,
    LlmError,
    MalformedReply,
    error_class,
    stream_error_class,
)
from ...observability.redact import mask, shorten
from ...retry import retry_after
from ...texts import clean, decode_json

LONGEST_ERROR = 65_536  # bytes of an error's body that are looked at
_LOOKED_AT = 20_000  # characters of an explanation that are masked, to show 400 of them
_LONGEST_SECRET = 8_000
# Controls, and marks that turn the direction of what is shown after them.
_UNSHOWN = re.compile(r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]+")


def failure(provider: str, status: int, body: bytes, headers: Mapping[str, str]) -> LlmError:
    """Return the error that a response other than 200 means, in one line."""
    text = body[:LONGEST_ERROR].decode("utf-8", "replace")
    message = one_line(_error_text(text)) or "no explanation"
    kind = error_class(status, text)
    return kind(
        f"{provider} answered {status}: {message}", status=status, retry_after=retry_after(headers)
    )


def reported(provider: str, error: Any) -> LlmError:
    """Return the error that a provider reports in a response that began with status 200."""
    text = _shown(error)[:LONGEST_ERROR]
    code = str(error.get("code") if isinstance(error, dict) else "")
    known = len(code) == 3 and code.isdecimal() and 400 <= int(code) < 600
    kind = error_class(int(code), text) if known else stream_error_class(text)
    return kind(f"{provider} failed: {one_line(_message(error))}", status=200)


def disconnected(provider: str, url: str, error: BaseException) -> LlmError:
    """Return what a failure below HTTP means; the original may carry the request's key."""
    text = one_line(f"{type(error).__name__}: {error}").rstrip(": ")
    if isinstance(error, httpx2.DecodingError):
        return MalformedReply(f"{provider} sent a body that cannot be decoded ({text})")
    hint = "; is the server running?" if isinstance(error, httpx2.ConnectError) else ""
    return ConnectionFailed(f"no reply from {mask(url.partition('?')[0])} ({text}){hint}")


def no_json(provider: str, body: bytes) -> MalformedReply:
    """Return the error for a body that should have been JSON, with how it starts."""
    start = one_line(body[:LONGEST_ERROR].decode("utf-8", "replace"))[:200]
    return MalformedReply(f"{provider} sent no JSON: {start!r}")


def one_line(text: str) -> str:
    """Return the text for an error message: masked, without controls, at most 400 characters.

    It is masked before it is shortened. Of a very long one only the beginning is looked at, less
    the end of that: half a secret could stand there.
    """
    long = len(text) > _LOOKED_AT
    text = mask(text[:_LOOKED_AT])[:-_LONGEST_SECRET] if long else mask(text)
    line = " ".join(_UNSHOWN.sub(" ", clean(text)).split())
    return " ".join(shorten(line, 400).split())


def _error_text(body: str) -> str:
    """Return the message of an error body, and the parameter it is about."""
    try:
        data = decode_json(body.removeprefix("\ufeff"))
    except ValueError:
        return body
    return _message(data.get("error", data) if isinstance(data, dict) else data)


def _message(error: Any) -> str:
    if not isinstance(error, dict):
        return _shown(error)
    message = _shown(error.get("message") or error)
    parameter = error.get("param")
    return f"{message} (parameter {_shown(parameter)})" if parameter else message


def _shown(value: Any) -> str:
    try:
        return str(value)
    except RecursionError:
        return "an error that is nested too deep"
