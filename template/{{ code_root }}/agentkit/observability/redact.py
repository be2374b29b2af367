"""Redaction: the one gate between this process and every log, artifact and error text.

Two rules. Known secrets (keys that were resolved, credentials in URLs, key-like environment
variables) are replaced wherever they stand, also URL-encoded, JSON-escaped or in base64. What only
looks like a secret is replaced by its name: `api_key=…`, `Bearer …`, `user:password@host`.
"""

from __future__ import annotations

import base64
import dataclasses
import json
import logging
import os
import re
import traceback
from collections.abc import Mapping
from datetime import date, time, timedelta
from enum import Enum
from math import isfinite
from pathlib import PurePath
from typing import Any
from urllib.parse import quote, quote_plus, unquote, urlsplit

from ..texts import clean
from .secret_names import MASK as MASK
from .secret_names import is_secret, is_secret_parameter, mask_shapes
from .secret_names import is_secret_name as is_secret_name

SHORTEST = 6  # shorter "keys" are placeholders such as "none"; masking them would garble every log
LONGEST_TEXT = 100_000  # characters of one value kept in a log or artifact
LONGEST_INT = 10_000  # bits; Python refuses to write out much longer ones
DEEPEST = 20
_LIBRARY_LOGGERS = (
    *("httpx2", "httpcore2.connection", "httpcore2.http11", "httpcore2.proxy", "httpx"),
    *("openai._base_client", "anthropic._base_client", "google_genai.models", "LiteLLM"),
)

_forms: dict[str, None] = {}  # every spelling of every known secret, longest first

_ENVIRONMENT = re.compile(r"(?:_API_KEY|_TOKEN|_SECRET|_PASSWORD|_ACCESS_KEY|_SECRET_KEY)$")


def add_secret(value: str | None) -> None:
    """Remember a secret, so that no sink of this process ever shows it. Blank ones are ignored."""
    global _forms
    if not value or len(value) < SHORTEST or value in _forms:
        return
    forms = {value, *_spellings(value), *_forms}
    if not _forms:
        _guard_libraries()
    # Replaced, not changed: another thread may be masking with the old one.
    _forms = dict.fromkeys(sorted(forms, key=len, reverse=True))


class _MaskingFilter(logging.Filter):
    """Keeps known secrets out of what the libraries below us log, such as a URL with a key."""

    def filter(self, record: logging.LogRecord) -> bool:
        text = record.getMessage()
        masked = mask_known(text)
        if masked != text:
            record.msg, record.args = masked, ()
        return True


def _guard_libraries() -> None:
    """Filters of a logger do not hold for those below it, so each one that writes is named."""
    for name in _LIBRARY_LOGGERS:
        logging.getLogger(name).addFilter(_MaskingFilter())


def add_url_secrets(url: str) -> None:
    """Remember what a URL carries: its password, and query values with a secret's name."""
    parts = urlsplit(url)
    if parts.password or parts.username:
        add_secret(unquote(parts.password or parts.username or ""))
    for pair in parts.query.split("&"):
        name, _, value = pair.partition("=")
        if is_secret_parameter(name):
            add_secret(unquote(value))


def add_environment() -> None:
    """Remember the values of environment variables that are named like keys."""
    for name, value in os.environ.items():
        if _ENVIRONMENT.search(name.upper()):
            add_secret(value.strip())


def mask_known(text: str) -> str:
    """Return the text without known secrets: for what a conversation carries."""
    for form in _forms:
        if form in text:
            text = text.replace(form, MASK)
    return text


def split_known(text: str) -> tuple[str, str]:
    """Return the text without known secrets, and apart what at its end may be the start of one."""
    text = mask_known(text)
    ends = [
        length
        for form in _forms
        for length in range(1, min(len(form), len(text) + 1))
        if text.endswith(form[:length])
    ]
    end = len(text) - max(ends, default=0)
    return text[:end], text[end:]


def mask(text: str) -> str:
    """Return the text without known secrets and what looks like one: for errors, URLs and logs."""
    return mask_shapes(mask_known(text))


def safe_sanitize(value: Any) -> Any:
    """Return plain data (None, bool, numbers, text, lists, dicts) that any sink can write.

    Exceptions keep type, message, traceback and cause; bytes become their length; a real cycle
    becomes a marker while shared objects are written twice; secrets are masked; nothing raises.
    """
    return _sanitize(value, ())


def exception_text(error: BaseException) -> str:
    """Return type and message of an exception, masked; groups are unwrapped to their root cause."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    name, message = type(error).__name__, error_message(error)
    return mask(clean(f"{name}: {message}" if message else name))


def _sanitize(value: Any, path: tuple[int, ...]) -> Any:
    if value is None or (isinstance(value, (bool, int, float)) and not isinstance(value, Enum)):
        if isinstance(value, int) and value.bit_length() > LONGEST_INT:
            return f"[int: {value.bit_length()} bits]"
        if isinstance(value, float) and not isfinite(value):
            return str(value)  # "nan", "inf": JSON has no such numbers
        return value
    if isinstance(value, str) and not isinstance(value, Enum):
        return shorten(mask(clean(value)))
    if id(value) in path:
        return "[circular]"
    if len(path) >= DEEPEST:
        return f"[{type(value).__name__}: nested too deep]"
    try:
        return _container(value, (*path, id(value)))
    except Exception as error:
        return f"[{type(value).__name__}: unreadable, {type(error).__name__}]"


def _container(value: Any, path: tuple[int, ...]) -> Any:
    match value:
        case Mapping():
            return {
                _key(k): MASK if _is_hidden(k, v) else _sanitize(v, path) for k, v in value.items()
            }
        case list() | tuple() | set() | frozenset():
            return [_sanitize(item, path) for item in value]
        case bytes() | bytearray() | memoryview():
            return f"[{len(value)} bytes]"
        case BaseException():
            return _exception(value, path)
        case Enum():
            return _sanitize(value.value, path)
        case date() | time():
            return value.isoformat()
        case timedelta():
            return value.total_seconds()
        case PurePath():
            return mask(str(value))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [f.name for f in dataclasses.fields(value)]
        return _container({name: getattr(value, name) for name in names}, path)
    dump = getattr(value, "model_dump", None)
    if callable(dump) and not isinstance(value, type):
        return _sanitize(dump(), path)
    return shorten(mask(clean(str(value))))


def _exception(error: BaseException, path: tuple[int, ...]) -> dict[str, Any]:
    stack = "".join(
        traceback.format_exception(type(error), error, error.__traceback__, chain=False)
    )
    record: dict[str, Any] = {
        "type": type(error).__name__,
        "message": shorten(mask(clean(error_message(error)))),
        "stack": shorten(mask(clean(stack))),
    }
    cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    if cause is not None:
        record["cause"] = _sanitize(cause, path)
    if isinstance(error, BaseExceptionGroup):
        record["exceptions"] = [_sanitize(inner, path) for inner in error.exceptions]
    return record


def error_message(error: BaseException) -> str:
    """Return what an exception says, whatever its `__str__` is like; not masked."""
    try:
        return str(error)
    except BaseException as broken:
        return f"[no message: {type(broken).__name__}]"


def _key(key: Any) -> str:
    return mask(clean(str(key)))


def _is_hidden(key: Any, value: Any) -> bool:
    return isinstance(key, str) and is_secret(key, value)


def shorten(text: str, longest: int = LONGEST_TEXT) -> str:
    """Return the text, or its head and tail around a marker when it is longer than `longest`."""
    if len(text) <= longest:
        return text
    half = longest // 2
    return f"{text[:half]}\n[… {len(text) - 2 * half} characters left out …]\n{text[-half:]}"


def _spellings(value: str) -> set[str]:
    encoded = quote(value, safe="")
    spellings = {encoded, quote(value), quote_plus(value)}
    spellings |= {re.sub("%..", lambda code: code[0].lower(), text) for text in spellings}
    spellings |= {json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1]}
    spellings |= {repr(value)[1:-1]}
    raw = value.encode("utf-8", "replace")
    for shift in range(3):  # base64 of any text that contains the value, whatever stands before it
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            text = encode(b"\0" * shift + raw).decode()
            start = (0, 2, 3)[shift]
            end = len(text) - (0, 3, 2)[(len(raw) + shift) % 3]
            spellings.add(text[start:end].rstrip("="))
    return {spelling for spelling in spellings if len(spelling) >= SHORTEST}
