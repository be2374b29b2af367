"""The floor's loop on httpx 0.28, which httpx2 continues."""

# mypy: disable-error-code="import-not-found"
import httpx

from ..floor import RawHttpx

TITLE = "raw httpx 0.28"
IMPORT = "import httpx"


def make(base: str) -> RawHttpx:
    """Build the raw loop on httpx."""
    return RawHttpx(base, httpx)
