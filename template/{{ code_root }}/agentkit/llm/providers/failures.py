"""What a provider says went wrong, as one of our errors with a message of one line."""

from __future__ import annotations

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
from ...texts import decode_json, encode_json


def failure(provider: str, status: int, body: bytes, headers: Mapping[str, str]) -> LlmError:
    """Return the error that a response other than 200 means, in one line."""
    text = body.decode("utf-8", "replace")
    message = one_line(_error_text(text)) or "no explanation"
    kind = error_class(status, text)
    return kind(
        f"{provider} answered {status}: {message}", status=status, retry_after=retry_after(headers)
    )


def reported(provider: str, error: Any) -> LlmError:
    """Return the error that a provider reports in a response that began with status 200."""
    text = encode_json(error)
    code = str(error.get("code") if isinstance(error, dict) else "")
    known = code.isdecimal() and 400 <= int(code) < 600
    kind = error_class(int(code), text) if known else stream_error_class(text)
    message = one_line(_error_text(encode_json({"error": error})))
    return kind(f"{provider} failed: {message}", status=200)


def disconnected(provider: str, url: str, error: BaseException) -> LlmError:
    """Return what a failure below HTTP means; the original may carry the request's key."""
    text = mask(f"{type(error).__name__}: {error}").rstrip(": ")
    if isinstance(error, httpx2.DecodingError):
        return MalformedReply(f"{provider} sent a body that cannot be decoded ({text})")
    hint = "; is the server running?" if isinstance(error, httpx2.ConnectError) else ""
    return ConnectionFailed(f"no reply from {mask(url.partition('?')[0])} ({text}){hint}")


def one_line(text: str) -> str:
    """Return the text for an error message; masked before it is cut, or half a secret stays."""
    return " ".join(shorten(mask(text), 400).split())


def _error_text(body: str) -> str:
    """Return the message of an error body, and the parameter it is about."""
    try:
        data = decode_json(body)
    except ValueError:
        return body
    error = data.get("error", data) if isinstance(data, dict) else data
    if not isinstance(error, dict):
        return str(error)
    message = str(error.get("message") or error)
    parameter = error.get("param")
    return f"{message} (parameter {parameter})" if parameter else message
