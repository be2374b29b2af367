"""Reads HTML as a flat sequence of tags and texts, in one pass and without a tree.

A tree is what a hostile page attacks: 50,000 nested tags, or one tag with 200,000 attributes, keep
real parsers busy for minutes. Here every character is looked at a fixed number of times.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

_VALUE = r"""(?:"[^"]*+(?:"|\Z)|'[^']*+(?:'|\Z)|[^\s>"'][^\s>]*+)"""
_ATTRIBUTE = rf"[^\s/>][^\s/>=]*+(?:\s*+=\s*+{_VALUE})?+"
_TAG = re.compile(rf"<(/?)([A-Za-z][^\s/>]*+)((?:[\s/]++|{_ATTRIBUTE})*+)(?:>|\Z)|<!--|<[!?/]")
_NAMED = re.compile(rf"([^\s/>][^\s/>=]*+)(?:\s*+=\s*+({_VALUE}))?+")
_COMMENT_END = re.compile(r"--!?>")

# What stands in these is no markup. `title` and `textarea` hold text, the others hold none.
RAW = frozenset(("script", "style", "iframe", "noembed", "noframes", "title", "textarea", "xmp"))
_ENDS = {name: re.compile(rf"</{name}(?=[\s/>])[^>]*+(?:>|\Z)", re.IGNORECASE) for name in RAW}


def names(text: str) -> frozenset[str]:
    """Return the names in a text, which stand apart by spaces."""
    return frozenset(text.split())


class Token(NamedTuple):
    """A tag or a text. `text` is the tag's attributes as written, or the text with its entities.

    A raw element (`script`, `title`, …) is one token of kind "raw"; `inner` is what it holds.
    """

    kind: Literal["start", "end", "raw", "text"]
    name: str
    text: str
    inner: str = ""


def tokens(page: str) -> Iterator[Token]:
    """Yield the tags and texts of a page in order; names are in lower case."""
    position = 0
    while True:
        found = _TAG.search(page, position)
        start = found.start() if found else len(page)
        if start > position:
            yield Token("text", "", page[position:start])
        if not found:
            return
        position = found.end()
        slash, name, attributes = found.groups()
        if name is None:
            position = _after_declaration(page, position, found[0])
            continue
        name = name.lower()
        if slash:
            yield Token("end", name, "")
        elif name in _ENDS:
            end = _ENDS[name].search(page, position)
            inner = page[position : end.start() if end else len(page)]
            position = end.end() if end else len(page)
            yield Token("raw", name, attributes, inner)
        else:
            yield Token("start", name, attributes)


def attributes(token: Token) -> dict[str, str]:
    """Return a tag's attributes by lower-case name; of one that is written twice, the first."""
    found: dict[str, str] = {}
    for name, value in _NAMED.findall(token.text):
        if value[:1] in ('"', "'"):
            value = value[1:].removesuffix(value[0])
        found.setdefault(name.lower(), html.unescape(value) if "&" in value else value)
    return found


def _after_declaration(page: str, position: int, opening: str) -> int:
    """Return where a comment, a doctype or another declaration ends."""
    if opening != "<!--":
        return (page.find(">", position) + 1) or len(page)
    if page.startswith((">", "->"), position):
        return page.index(">", position) + 1
    end = _COMMENT_END.search(page, position)
    return end.end() if end else len(page)
