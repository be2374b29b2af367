"""Reads the text of a PDF, with the package pypdf."""

from __future__ import annotations

import io
import logging
from typing import TYPE_CHECKING

from ..errors import FetchError
from ..texts import clean
from .document import Document

if TYPE_CHECKING:
    from pypdf import PdfReader

MOST_CHARS = 500_000  # what follows after so much text is not read
NO_TEXT = "The PDF holds no text; it may be scanned."


def pdf_document(body: bytes, url: str) -> Document:
    """Return the text of a PDF, page by page.

    Raises `FetchError` for one that is damaged or locked, and when pypdf is not installed.
    """
    try:
        import pypdf
    except ImportError:
        raise FetchError(
            "unsupported content type application/pdf: install pypdf to read it"
        ) from None
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # it reports every flaw of a file
    try:
        reader = pypdf.PdfReader(io.BytesIO(body))
        text, is_cut = _text(reader)
        about = reader.metadata
        title, author = (about.title, about.author) if about else (None, None)
        created = about.creation_date if about else None
    except Exception as error:  # a broken file breaks pypdf in any way
        raise FetchError(f"the PDF cannot be read ({type(error).__name__}): {url}") from None
    return Document(
        url=url,
        canonical_url=url,
        title=title or None,
        author=author or None,
        date=created.isoformat() if created else None,
        text=text,
        text_length=len(text),
        truncated=is_cut,
        content_type="application/pdf",
        note=None if text else NO_TEXT,
    )


def _text(reader: PdfReader) -> tuple[str, bool]:
    pages: list[str] = []
    length = 0
    for page in reader.pages:
        lines = (line.rstrip() for line in clean(page.extract_text()).splitlines())
        pages.append("\n".join(lines).strip())
        length += len(pages[-1])
        if length > MOST_CHARS:
            return "\n\n".join(pages), True
    return "\n\n".join(filter(None, pages)), False
