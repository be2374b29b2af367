"""What a page says about itself: JSON-LD, OpenGraph, meta tags, and a few tags of its own."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urljoin, urlsplit

from .json_ld import json_ld
from .markup import Token, attributes

LONGEST = 1_000  # characters of one value
LONGEST_NAME = 100

# Where each field is looked for, best source first. `ld:` is JSON-LD, `rel:` a <link> or <a>,
# `item:` a microdata property, `tag:` a tag of the page; anything else names a <meta>.
SOURCES = {
    "canonical_url": ("rel:canonical", "og:url"),
    "title": ("og:title", "ld:headline", "twitter:title", "tag:title", "ld:name"),
    "description": ("og:description", "description", "ld:description", "twitter:description"),
    "image": ("og:image:secure_url", "og:image", "ld:image", "twitter:image", "rel:image_src"),
    "author": (
        *("ld:author", "author", "item:author", "rel:author", "article:author", "dc.creator"),
        "tag:byline",
    ),
    "publisher": ("ld:publisher", "og:site_name", "application-name", "dc.publisher"),
    "date": (
        *("ld:datePublished", "article:published_time", "item:datePublished", "date", "dc.date"),
        *("citation_publication_date", "ld:uploadDate", "tag:time", "ld:dateModified"),
        *("article:modified_time", "tag:date"),
    ),
    "lang": ("tag:lang", "content-language", "og:locale", "ld:inLanguage"),
    "logo": ("ld:logo", "og:logo", "item:logo"),
    "audio": ("og:audio:secure_url", "og:audio", "ld:audio", "tag:audio"),
    "video": ("og:video:secure_url", "og:video", "ld:video", "tag:video"),
}
_ADDRESSES = ("canonical_url", "image", "logo", "audio", "video")
_PEOPLE = ("author", "publisher")
_DATE_CLASS = re.compile(
    r"(?<![a-z])(?:(?:pub|post|entry|article)?-?date|published|posted)(?![a-z])", re.IGNORECASE
)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WRITTEN_DATE = re.compile(
    rf"\b(?P<month>{'|'.join(_MONTHS)})[a-z]*\.? (?P<day>\d\d?),? (?P<year>\d{{4}})\b"
    rf"|\b(?P<day2>\d\d?) (?P<month2>{'|'.join(_MONTHS)})[a-z]*\.?,? (?P<year2>\d{{4}})\b",
    re.IGNORECASE,
)
_BYLINE = re.compile(r"(?<![a-z])(?:author|byline)(?:[-_]?name)?(?![a-z])", re.IGNORECASE)
_BY = re.compile(r"(?:written |posted )?by\b[:\s]*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Metadata:
    """The fields of `SOURCES` that were found, and the address that relative links refer to."""

    fields: dict[str, str]
    base: str


def read_metadata(page: Iterable[Token], url: str) -> Metadata:
    """Return what a page says about itself; every address in it is absolute."""
    reader = _Reader(url)
    for token in page:
        reader.read(token)
    found = {name: reader.value(name) for name in SOURCES}
    return Metadata({name: value for name, value in found.items() if value}, reader.base)


def absolute(base: str, address: str) -> str | None:
    """Return an address as an absolute http(s) URL, or None for what is none (`mailto:`, `#x`)."""
    address = "".join(address.split())
    if not address or address.startswith("#"):
        return None
    try:
        url = urljoin(base, address)
        parts = urlsplit(url)
    except ValueError:
        return None
    return url if parts.scheme in ("http", "https") and parts.netloc else None


class _Reader:
    def __init__(self, url: str) -> None:
        self.base = url
        self._values: dict[str, list[str]] = {}
        # The source and tag whose text is being read, and what was read of it.
        self._capture: tuple[str, str] | None = None
        self._captured: list[str] = []

    def value(self, name: str) -> str | None:
        """Return the first usable value of a field."""
        for source in SOURCES[name]:
            for raw in self._values.get(source, ()):
                value = _cleaned(name, raw, self.base)
                if value:
                    return value
        return None

    def read(self, token: Token) -> None:
        if token.kind == "text":
            if self._capture is not None:
                self._captured.append(html.unescape(token.text))
        elif token.kind == "end":
            if self._capture is not None and self._capture[1] == token.name:
                self._add(self._capture[0], "".join(self._captured))
                self._capture = None
        elif token.kind == "raw":
            self._raw(token)
        else:
            self._start(token)

    def _add(self, source: str, value: str | None) -> None:
        text = " ".join((value or "").split())[:LONGEST]
        if text:
            self._values.setdefault(source, []).append(text)

    def _raw(self, token: Token) -> None:
        if token.name == "title" and "tag:title" not in self._values:
            self._add("tag:title", html.unescape(token.inner[:LONGEST]))
        elif token.name == "script" and "ld+json" in token.text.lower():
            for name, value in json_ld(token.inner):
                self._add(f"ld:{name}", value)

    def _start(self, token: Token) -> None:
        name = token.name
        if name == "meta":
            self._meta(attributes(token))
        elif name == "base":
            self.base = absolute(self.base, attributes(token).get("href", "")) or self.base
        elif name == "html":
            found = attributes(token)
            self._add("tag:lang", found.get("lang") or found.get("xml:lang"))
        elif name in ("audio", "video"):
            self._add(f"tag:{name}", attributes(token).get("src"))
        elif name == "time":
            self._add("tag:time", attributes(token).get("datetime"))
        if name == "link" or "itemprop" in token.text or "rel=" in token.text:
            self._marked(token, attributes(token))
        if self._capture is None:
            self._look_for_byline(token)

    def _look_for_byline(self, token: Token) -> None:
        """Read a tag whose class says that it holds the author or the date."""
        if token.name == "time":
            self._capture, self._captured = ("tag:date", "time"), []
        for source, words in (("tag:byline", _BYLINE), ("tag:date", _DATE_CLASS)):
            if words.search(token.text) and words.search(attributes(token).get("class", "")):
                self._capture, self._captured = (source, token.name), []

    def _meta(self, found: dict[str, str]) -> None:
        for kind in ("property", "name", "http-equiv"):
            for name in found.get(kind, "").lower().split():
                self._add(name, found.get("content"))

    def _marked(self, token: Token, found: dict[str, str]) -> None:
        """Read a tag that has a `rel` or an `itemprop`; its text, where it has no value itself."""
        for rel in found.get("rel", "").lower().split():
            if token.name == "link":
                self._add(f"rel:{rel}", found.get("href"))
            elif rel == "author":
                self._capture, self._captured = ("rel:author", token.name), []
        item = found.get("itemprop", "")
        value = found.get("content") or found.get("datetime") or found.get("src")
        if item and value:
            self._add(f"item:{item}", value)
        elif item == "author" or (item == "name" and self._capture):
            # The name of an author may be a part of a whole profile.
            self._capture, self._captured = ("item:author", token.name), []


def _cleaned(name: str, value: str, base: str) -> str | None:
    if name in _ADDRESSES:
        return absolute(base, value)
    if name in _PEOPLE:  # some give a profile's address instead of a name
        value = value[by.end() :] if (by := _BY.match(value)) else value
        is_name = len(value) <= LONGEST_NAME and not value.startswith(("http:", "https:"))
        return value if is_name else None
    if name == "lang":
        language = value.replace("_", "-").partition("-")[0].lower()
        return language if language.isalpha() and len(language) in (2, 3) else None
    return _iso_date(value) if name == "date" else value


def _iso_date(value: str) -> str | None:
    """Return a date in ISO 8601; None for a text that is none."""
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return _written_date(value)
    return moment.date().isoformat() if len(value) <= len("2026-05-04") else moment.isoformat()


def _written_date(value: str) -> str | None:
    """Return the day in a text such as `May 4, 2026` or `4 May 2026`."""
    iso = re.search(r"\b\d{4}-\d\d-\d\d\b", value)
    if iso:
        return iso[0]
    found = _WRITTEN_DATE.search(value)
    if not found:
        return None
    year, month, day = (found[name] or found[f"{name}2"] for name in ("year", "month", "day"))
    return f"{year}-{_MONTHS.index(month.lower()) + 1:02}-{int(day):02}"
