"""Text and JSON that can always be sent, stored and logged: no half of a surrogate pair in it."""

from __future__ import annotations

import json
from typing import Any, NoReturn

DEEPEST = 200  # levels of nesting that are taken
encode_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


_decode = json.JSONDecoder(parse_constant=_refuse).raw_decode


def decode_json(text: str) -> Any:
    """Return the value of a JSON text; raises `ValueError` for anything else.

    Nesting too deep for Python counts as no JSON. The texts in it are as they came: see `clean`.
    """
    text = text.strip()
    try:
        value, end = _decode(text)
    except RecursionError:
        raise ValueError("nested too deep") from None
    if end != len(text):
        raise ValueError(f"more text after the value, at character {end}")
    return value


def clean(text: str) -> str:
    """Return the text with lone surrogates replaced by U+FFFD."""
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def clean_json(value: Any) -> Any:
    """Return plain data with every text in it clean; the same object if nothing was wrong.

    Raises `ValueError` for what no JSON can say, or what is nested deeper than 200 levels: those
    who read it back have limits of their own.
    """
    if is_deeper(value, DEEPEST):
        raise ValueError(f"nested deeper than {DEEPEST} levels")
    text = encode_json(value)
    cleaned = clean(text)
    return value if cleaned == text else json.loads(cleaned)


def is_deeper(value: Any, levels: int) -> bool:
    """Tell whether lists and dicts in a value are nested deeper than so many levels."""
    if isinstance(value, dict):
        value = list(value.values())
    if not isinstance(value, (list, tuple)):
        return False
    return levels == 0 or any(is_deeper(item, levels - 1) for item in value)
