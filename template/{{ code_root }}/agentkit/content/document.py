"""Document: what a page, a PDF or a search hit comes to, whoever fetched it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..tools.untrusted import untrusted


@dataclass(frozen=True, slots=True)
class Link:
    """A link of a page: what it says and the absolute address it leads to."""

    text: str
    url: str


@dataclass(frozen=True, slots=True)
class Document:
    """A readable text and what is known about it; what is not known is None.

    `url` is the address that answered, `canonical_url` the one the page gives itself (else `url`);
    every address is absolute. `date` is in ISO 8601 where it could be read, `lang` a language code
    such as `en`. `text` keeps blocks apart by newlines; `text_length` counts the characters of all
    of it, also when `text` is a part (`truncated`). `note` says what the reader must know, such as
    that the page needs JavaScript.
    """

    url: str
    canonical_url: str | None = None
    title: str | None = None
    description: str | None = None
    image: str | None = None
    author: str | None = None
    publisher: str | None = None
    date: str | None = None
    lang: str | None = None
    logo: str | None = None
    audio: str | None = None
    video: str | None = None
    text: str = ""
    text_length: int = 0
    truncated: bool = False
    content_type: str | None = None
    links: tuple[Link, ...] = ()
    note: str | None = None


_HEAD = ("title", "author", "publisher", "date", "description", "note")


def part(document: Document, longest: int, start: int = 0) -> Document:
    """Return the document with at most `longest` characters of its text, from `start` on."""
    end = start + longest
    truncated = document.truncated or start > 0 or len(document.text) > end
    return replace(document, text=document.text[start:end], truncated=truncated)


def for_model(document: Document, start: int = 0, most_links: int = 40) -> str:
    """Return the document as a model reads it: head, text and links, marked as untrusted.

    `start` is where the part begins that `document.text` holds.
    """
    lines = [f"url: {document.canonical_url or document.url}"]
    values = ((name, getattr(document, name)) for name in _HEAD)
    lines += [f"{name}: {' '.join(value.split())}" for name, value in values if value]
    if document.truncated:
        end = start + len(document.text)
        lines.append(f"shown: characters {start} to {end} of {document.text_length}")
    lines += ["", document.text]
    if document.links:
        links = document.links[:most_links]
        lines += ["", "links:", *(f"- {link.text}: {link.url}" for link in links)]
    return untrusted("\n".join(lines).strip(), document.url)
