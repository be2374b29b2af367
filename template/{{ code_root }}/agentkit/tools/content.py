"""What a tool returned, as the parts that the model gets to read."""

from __future__ import annotations

import dataclasses
from collections.abc import AsyncIterator, Awaitable, Iterator
from typing import Any

from ..errors import ToolError
from ..messages import Image, Text
from ..observability.redact import shorten
from ..texts import clean, encode_json
from .thread import drop

LONGEST_RESULT = 100_000  # characters of a result the model gets to read
NO_OUTPUT = "(no output)"

Content = tuple[Text | Image, ...]


def result_content(value: Any) -> Content:
    """Return what a tool returned as parts: text as it is, anything else as JSON.

    This may run a value's own code, such as `__repr__`, for as long as that takes. Raises
    `ToolError` for what is no value yet (an iterator, a coroutine), and whatever a value raises.
    """
    content = plain_content(value)
    if content is not None:
        return content
    _refuse_unfinished(value)
    return (_text(_rich_json(value)),)


def plain_content(value: Any) -> Content | None:
    """Return the parts of texts, images and plain JSON; None for what runs code to be read."""
    parts = (value,) if isinstance(value, (Text, Image)) else value
    if isinstance(parts, (list, tuple)) and parts and all(map(_is_part, parts)):
        return tuple(map(_part, parts))
    if value is None or isinstance(value, str):
        return (_text(value or ""),)
    try:
        return (_text(encode_json(value)),)
    except (TypeError, ValueError, RecursionError):
        return None  # dates, decimals, sets, models, bytes


def _is_part(value: Any) -> bool:
    return isinstance(value, (Text, Image))


def _text(text: str) -> Text:
    text = str.__str__(text)  # of a subclass of str only the text, none of its methods
    return Text(shorten(clean(text), LONGEST_RESULT) or NO_OUTPUT)


def _part(part: Text | Image) -> Text | Image:
    texts = (part.text,) if isinstance(part, Text) else (part.media_type, part.data)
    for text in texts:
        if not isinstance(text, str):
            kind = type(part).__name__
            raise ToolError(f"The tool returned {kind} with {type(text).__name__} in place of text")
    return _text(part.text) if isinstance(part, Text) else part


def _refuse_unfinished(value: Any) -> None:
    """Raise `ToolError` for a value that is, or holds, what has to be awaited or used up first.

    Nobody knows how long that takes, or whether it ends.
    """
    waiting, seen = [value], set()
    while waiting:
        value = waiting.pop()
        if isinstance(value, (Iterator, AsyncIterator, Awaitable)):
            drop(value)
            raise ToolError(
                f"The tool returned {type(value).__name__}, which is no value yet: it has to await "
                "it, or to make a list of it."
            )
        if id(value) not in seen:
            seen.add(id(value))
            waiting.extend(_inner_values(value))


def _inner_values(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    if isinstance(value, (list, tuple, set, frozenset)):
        return list(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return [getattr(value, field.name, None) for field in dataclasses.fields(value)]
    if hasattr(type(value), "model_dump"):
        return list(vars(value).values())
    return []


def _rich_json(value: Any) -> str:
    from pydantic_core import to_json

    try:
        return to_json(value, fallback=repr, bytes_mode="base64", inf_nan_mode="strings").decode()
    except ValueError:
        return repr(value)
