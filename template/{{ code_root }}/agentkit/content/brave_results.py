"""What Brave Search answers: results as values, and failures."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ..texts import clean
from ..tools.untrusted import untrusted
from .json_api import MONTH, Failure

NAME = "Brave Search"


@dataclass(frozen=True, slots=True)
class SearchResult:
    """A web page that was found: `description` and `snippets` are plain text.

    `date` is in ISO 8601 where Brave knows it, `age` is how Brave words it ("2 days ago").
    """

    title: str
    url: str
    description: str = ""
    snippets: tuple[str, ...] = ()
    site: str | None = None
    date: str | None = None
    age: str | None = None
    language: str | None = None


def for_model(query: str, results: Iterable[SearchResult]) -> str:
    """Return results as a model reads them: numbered, and marked as untrusted."""
    blocks = []
    for number, result in enumerate(results, 1):
        lines = [f"{number}. {result.title}", result.url, result.age or result.date or ""]
        lines += [result.description, *(f"- {snippet}" for snippet in result.snippets)]
        blocks.append("\n".join(line for line in lines if line))
    return untrusted("\n\n".join(blocks) or "No results.", f"{NAME}: {query}")


def read_failure(status: int, body: Mapping[str, Any]) -> Failure | None:
    """Return what a reply says went wrong, or None."""
    if 200 <= status < 300 and body.get("type") != "ErrorResponse":
        return None
    error = _object(body.get("error"))
    meta = _object(error.get("meta"))
    code, detail = (_plain(error.get(name)) for name in ("code", "detail"))
    if code == "SUBSCRIPTION_TOKEN_INVALID":  # comes with 422, as if the query were wrong
        status = 401
    elif status < 300:
        status = error["status"] if type(error.get("status")) is int else 502
    limit, used = meta.get("quota_limit"), meta.get("quota_current")
    is_spent = type(limit) is int and type(used) is int and 0 < limit <= used
    return Failure(status, ": ".join(filter(None, (code, detail))), MONTH if is_spent else None)


def read_results(body: Mapping[str, Any]) -> list[SearchResult]:
    """Return the web results of a reply; what has no address is left out."""
    found = _object(body.get("web")).get("results")
    items = map(_object, found if isinstance(found, list) else ())
    return [_result(item, item["url"]) for item in items if isinstance(item.get("url"), str)]


def _result(item: Mapping[str, Any], url: str) -> SearchResult:
    snippets = item.get("extra_snippets")
    texts = map(_plain, snippets if isinstance(snippets, list) else ())
    return SearchResult(
        title=_plain(item.get("title")) or url,
        url=clean(url).strip(),
        description=_plain(item.get("description")),
        snippets=tuple(filter(None, texts)),
        site=_plain(_object(item.get("profile")).get("name")) or None,
        date=_plain(item.get("page_age")) or None,
        age=_plain(item.get("age")) or None,
        language=_plain(item.get("language")) or None,
    )


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _plain(value: Any) -> str:
    """Return a text on one line; Brave writes some characters as HTML does."""
    return " ".join(html.unescape(clean(value)).split()) if isinstance(value, str) else ""
