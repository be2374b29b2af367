"""Safe names for files and directories."""

from __future__ import annotations

import re

_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


def slug(text: str) -> str:
    """Return a safe file name: what is not a letter, digit, `.`, `_` or `-` becomes `-`."""
    return _UNSAFE.sub("-", text)[:80].strip(".-") or "unnamed"
