"""What Jina answers: pages as documents, and failures, which may hide in a reply that says 200."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any

import httpx2

from ..observability.redact import shorten
from ..texts import clean
from ..tools.untrusted import LONGEST, untrusted
from .document import Document, Link
from .jina_options import NAME
from .json_api import ApiError, Failure

_NOTHING_FOUND = "No search results available"  # a search without results is a 422
_PAGE_FAILED = re.compile(r"^Target URL returned error (\d{3})\b", re.MULTILINE)
_CODE_LENGTH = 10_000  # `status` is the HTTP status and two digits more: 40203


def read_failure(
    status: int, body: Mapping[str, Any], now: Callable[[], float] = time.time
) -> Failure | None:
    """Return what a reply says went wrong, or None; its own `code` and `status` count as well."""
    said = [status, *(body[name] for name in ("code", "status") if type(body.get(name)) is int)]
    codes = (code // 100 if code >= _CODE_LENGTH else code for code in said)
    failed = next((code for code in codes if code >= 300), None)
    message = _line(body.get("message")) or _line(body.get("readableMessage"))
    if failed is None or message.startswith(_NOTHING_FOUND):
        return None
    detail = ": ".join(filter(None, (_line(body.get("name")), message)))
    return Failure(failed, detail, _wait(body, now))


def read_page(reply: Mapping[str, Any], url: str, max_characters: int) -> Document:
    """Return the page of a reader's reply; `url` is the address that was asked for.

    Raises `ApiError` when there is none, or when the page itself answered with an error.
    """
    data = reply.get("data")
    if not isinstance(data, dict):
        raise ApiError(f"{NAME}: the reply holds no page of {url}")
    warning = _text(data.get("warning"))
    if failed := _PAGE_FAILED.search(warning):
        raise ApiError(f"the page {url} answered {failed[1]}", int(failed[1]))
    return _document(data, url, warning, max_characters)


def read_results(reply: Mapping[str, Any], max_characters: int) -> list[Document]:
    """Return the pages of a search's reply; what has no address is left out."""
    data = reply.get("data")
    items = [item for item in data if isinstance(item, dict)] if isinstance(data, list) else []
    found = ((item, _line(item.get("url"))) for item in items)
    return [_document(item, url, "", max_characters) for item, url in found if url]


def results_for_model(query: str, results: Sequence[Document]) -> str:
    """Return results as a model reads them: numbered, and marked as untrusted.

    They share the room that there is, so that a long page does not crowd out the others.
    """
    room = LONGEST // max(1, len(results)) - 1_000  # the rest is for title, address, description
    blocks = []
    for number, result in enumerate(results, 1):
        lines = [f"{number}. {result.title or result.url}", result.url, result.date]
        lines += [result.description, shorten(result.text, room)]
        blocks.append("\n".join(line for line in lines if line))
    return untrusted("\n\n".join(blocks) or "No results.", f"{NAME} search: {query}")


def _document(data: Mapping[str, Any], url: str, warning: str, max_characters: int) -> Document:
    text = _text(data.get("content")) or _text(data.get("text"))
    meta, url = _object(data.get("metadata")), _line(data.get("url")) or url
    canonical = next(iter(_object(_object(data.get("external")).get("canonical"))), None)
    note = " ".join(warning.split()) or (None if text else "Jina found no text on the page")
    published = data.get("publishedTime") or data.get("date")
    return Document(
        url=url,
        canonical_url=_absolute(url, canonical),
        title=_line(data.get("title")) or None,
        description=_line(data.get("description")) or None,
        image=_absolute(url, meta.get("og:image")),
        author=_line(meta.get("author")) or None,
        publisher=_line(meta.get("og:site_name")) or None,
        date=_iso_date(_line(published or meta.get("article:published_time"))),
        lang=_line(meta.get("lang")) or None,
        text=text[:max_characters],
        text_length=len(text),
        truncated=len(text) > max_characters,
        links=_links(url, data.get("links")),
        note=note,
    )


def _links(base: str, links: Any) -> tuple[Link, ...]:
    """Return links, which come as an object from text to address or as a list of pairs."""
    pairs = links.items() if isinstance(links, dict) else links if isinstance(links, list) else ()
    found = []
    for pair in pairs:
        if isinstance(pair, (list, tuple)) and len(pair) == 2:
            text, url = _line(pair[0]), _absolute(base, pair[1])
            found += [Link(text, url)] if url else []
    return tuple(found)


def _absolute(base: str, url: Any) -> str | None:
    try:
        return str(httpx2.URL(base).join(_line(url))) if _line(url) else None
    except (httpx2.InvalidURL, UnicodeError):
        return None


def _iso_date(text: str) -> str | None:
    """Return a date as ISO 8601; one of the kind that HTTP headers have is rewritten."""
    try:
        return parsedate_to_datetime(text).isoformat()
    except (ValueError, TypeError):
        return text or None


def _wait(body: Mapping[str, Any], now: Callable[[], float]) -> float | None:
    seconds = body.get("retryAfter")
    if isinstance(seconds, (int, float)) and seconds >= 0:
        return float(seconds)
    try:
        return max(0.0, datetime.fromisoformat(str(body.get("retryAfterDate"))).timestamp() - now())
    except (ValueError, OverflowError):
        return None


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str:
    return clean(value).strip() if isinstance(value, str) else ""


def _line(value: Any) -> str:
    return " ".join(_text(value).split())
