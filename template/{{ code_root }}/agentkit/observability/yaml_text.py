"""Plain data as YAML text that any YAML 1.1 loader reads back equal, without importing one.

Meant for people: short text plain or quoted, long or multi-line text as a literal block, small
collections on one line. No anchors, so what is shared is written twice.
Plain data is None, bool, int, float, str, list, tuple and dict; of keys and of anything else the
`str()` is written. Lone surrogates, which no file can hold, become U+FFFD.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import lru_cache
from math import isfinite, isnan
from typing import Any

from ..texts import clean

LONG = 80  # characters of a line that still reads well
FEW = 8  # items of a collection that may stand on one line
LONGEST_KEY = 1_000  # loaders refuse a longer `key:`, it needs the explicit form `? key`

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_./-]*(?: [A-Za-z0-9_./-]+)*")
_NOT_TEXT = frozenset({"y", "yes", "n", "no", "on", "off", "true", "false", "null"})
# What a loader refuses, strips or takes for a line break when it stands for itself.
_UNPRINTABLE = re.compile(
    "[^\t\n\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"
)
_quote = json.JSONEncoder(ensure_ascii=False).encode


def block(data: dict[str, Any], pad: str = "") -> str:
    """Return the mapping as lines `key: value`, all but the first indented by `pad`."""
    if not data:
        return "{}\n"
    return pad.join([_key(str(k), pad) + after_key(v, pad + "  ") for k, v in data.items()])


def inline(value: Any) -> str:
    """Return any plain data on one line."""
    if isinstance(value, str):
        return _inline_text(value)
    if isinstance(value, dict):
        return "{" + ", ".join([f"{_key(str(k), ' ')} {inline(v)}" for k, v in value.items()]) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(inline, value)) + "]"
    return _atom(value)


def after_key(value: Any, pad: str) -> str:
    """Return what follows a key and its colon; all lines but the first are indented by `pad`."""
    if isinstance(value, str):
        return f" {_text(value, pad)}\n"
    if not isinstance(value, (dict, list, tuple)):
        return f" {_atom(value)}\n"
    if _is_small(value) and len(line := inline(value)) <= LONG:
        return f" {line}\n"
    return f"\n{pad}{_collection(value, pad)}"


def _item(value: Any, pad: str) -> str:
    if isinstance(value, str):
        return f"- {_text(value, pad)}\n"
    if not isinstance(value, (dict, list, tuple)):
        return f"- {_atom(value)}\n"
    if not value:
        return f"- {inline(value)}\n"
    return f"- {_collection(value, pad)}"


def _collection(value: dict[str, Any] | Sequence[Any], pad: str) -> str:
    if isinstance(value, dict):
        return block(value, pad)
    inner = pad + "  "
    return pad.join([_item(item, inner) for item in value])


def _is_small(value: dict[str, Any] | Sequence[Any]) -> bool:
    if len(value) > FEW:
        return False
    for item in value.values() if isinstance(value, dict) else value:
        if isinstance(item, str):
            if len(item) > LONG or "\n" in item:
                return False
        elif isinstance(item, (dict, list, tuple)) and item:
            return False
    return True


def _key(key: str, pad: str) -> str:
    if len(key) <= LONG:
        return _short_key(key)
    text = _quoted(key)
    return f"{text}:" if len(text) <= LONGEST_KEY else f"? {text}\n{pad}:"


@lru_cache(maxsize=256)
def _short_key(key: str) -> str:
    return f"{_inline_text(key)}:"


def _text(text: str, pad: str) -> str:
    if len(text) <= LONG and "\n" not in text:
        return _inline_text(text)
    flat = text.replace("\n", "").replace("\t", "")
    if not flat.isprintable():
        text = clean(text)
        if _UNPRINTABLE.search(text):
            return _quoted(text)
    if not flat or flat.isspace():
        return _quoted(text)
    return _literal(text, pad)


def _literal(text: str, pad: str) -> str:
    body = text.rstrip("\n")
    breaks = len(text) - len(body)
    keep = "-" if not breaks else "" if breaks == 1 else "+"
    indent = "2" if body[0] in " \t\n" else ""
    lines = body.replace("\n", "\n" + pad).replace(f"\n{pad}\n", "\n\n")
    return f"|{indent}{keep}\n{pad}{lines}" + "\n" * (breaks - 1)


def _inline_text(text: str) -> str:
    if _PLAIN.fullmatch(text) and text.lower() not in _NOT_TEXT:
        return text
    if ('"' in text or "\\" in text) and text.isprintable():
        return "'" + text.replace("'", "''") + "'"  # JSON in it stays readable
    return _quoted(text)


def _quoted(text: str) -> str:
    quoted = _quote(clean(text))
    if quoted.isascii() and "\x7f" not in quoted:
        return quoted
    return _UNPRINTABLE.sub(lambda match: f"\\u{ord(match[0]):04x}", quoted)


def _atom(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return int.__repr__(value)
    if isinstance(value, float):
        return _number(value)
    return _quoted(str(value))


def _number(value: float) -> str:
    if not isfinite(value):
        return ".nan" if isnan(value) else ".inf" if value > 0 else "-.inf"
    text = float.__repr__(value)
    return text if "." in text or "e" not in text else text.replace("e", ".0e")
