"""The paired floor as an adapter of its own: its ratio to the floor must be 1.0."""

import httpx2

from ..floor import RawHttpx
from ..history import TrimFloor

TITLE = "raw httpx2 (the floor)"
IMPORT = "import httpx2"
COMPACTORS = {"floor: newest first, tool pairs kept": TrimFloor()}


def make(base: str) -> RawHttpx:
    """Build the raw loop on httpx2."""
    return RawHttpx(base, httpx2)
