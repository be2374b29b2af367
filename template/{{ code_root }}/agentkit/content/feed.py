"""Reads RSS and Atom feeds. They are often broken XML, so they are read as tags, like pages."""

from __future__ import annotations

import html
import re

from .blocks import join, read_blocks
from .document import Document, Link
from .markup import attributes, tokens
from .metadata import absolute

MOST_ENTRIES = 100

_CDATA = re.compile(r"<!\[CDATA\[(.*?)(?:\]\]>|\Z)", re.DOTALL)
_NAMES = {  # the fields of an entry, under the names that the formats have for them
    **{"link": "link", "guid": "id", "id": "id"},
    **dict.fromkeys(("pubdate", "published", "updated", "dc:date"), "date"),
    **dict.fromkeys(("description", "summary", "content", "content:encoded"), "summary"),
    **{"author": "author", "dc:creator": "author", "language": "lang", "subtitle": "summary"},
}

Entry = dict[str, str]


def feed_document(page: str, url: str) -> Document:
    """Return a feed as a document: its entries as text, newest as the feed has them."""
    head, entries = _read(page)
    texts = [_entry_text(entry) for entry in entries]
    text = "\n\n".join(filter(None, texts))
    links = [
        Link(entry.get("title") or link, link)
        for entry in entries
        if (link := absolute(url, entry.get("link", entry.get("id", ""))))
    ]
    return Document(
        url=url,
        canonical_url=url,
        title=head.get("title"),
        description=head.get("summary"),
        author=head.get("author"),
        lang=(head.get("lang") or "").partition("-")[0].lower() or None,
        text=text,
        text_length=len(text),
        truncated=len(entries) == MOST_ENTRIES,
        content_type="application/xml",
        links=tuple(links),
        note=None if text else "The feed has no entries.",
    )


def _read(page: str) -> tuple[Entry, list[Entry]]:
    """Return the fields of the feed itself and of its entries."""
    head: Entry = {}
    entries: list[Entry] = []
    current, tag, pieces = head, "", list[str]()
    for token in tokens(_CDATA.sub(lambda found: html.escape(found[1]), page)):
        name = token.name
        if tag and (token.kind != "end" or name != tag):
            pieces.append(token.text if token.kind == "text" else " ")
        elif tag:
            _add(current, _NAMES[tag], "".join(pieces))
            tag = ""
        elif token.kind == "start" and name in ("item", "entry"):
            if len(entries) == MOST_ENTRIES:
                break
            current = {}
            entries.append(current)
        elif token.kind == "end" and name in ("item", "entry"):
            current = head
        elif token.kind == "raw" and name == "title":
            _add(current, "title", token.inner)
        elif token.kind == "start" and name == "link" and "href" in token.text:
            found = attributes(token)
            if found.get("rel", "alternate") == "alternate":
                current.setdefault("link", found.get("href", ""))
        elif token.kind == "start" and name in _NAMES and not token.text.endswith("/"):
            tag, pieces = name, []
    return head, entries


def _add(entry: Entry, name: str, value: str) -> None:
    text = html.unescape(value).strip() if name in ("link", "id") else _plain(value)
    if text and (name != "id" or text.startswith("http")):
        entry.setdefault(name, text)


def _plain(text: str) -> str:
    """Return the text of HTML that stands escaped in XML."""
    _, blocks = read_blocks(tokens(html.unescape(text)))
    return join(blocks)


def _entry_text(entry: Entry) -> str:
    return "\n".join(entry[name] for name in ("title", "date", "link", "summary") if name in entry)
