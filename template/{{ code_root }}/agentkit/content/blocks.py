"""Turns a page's tags into blocks of visible text: paragraphs, headings, list items, table rows."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from .markup import Token, attributes, names

DEEPEST = 128  # tags nested deeper are read, but not told apart

BLOCKS = names(
    "address article aside blockquote body caption center dd details dialog dir div dl dt fieldset "
    "figcaption figure footer form h1 h2 h3 h4 h5 h6 header hgroup hr html legend li main menu nav "
    "ol p pre search section summary table tbody tfoot thead tr ul"
)
VOID = names("area base br col embed hr img input link meta param source track wbr")
UNSEEN = names(
    "audio button canvas datalist map meter noscript object option progress select svg math "
    "template video"
)
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_LINES = ("li", "tr", "dt", "dd")  # stand on lines of their own, without a blank one between
_ITEMS = {  # a new one ends the one before it, whose own end tag may be left out
    **{"li": ("li",), "dt": ("dt", "dd"), "dd": ("dt", "dd"), "tr": ("tr",)},
    **{"td": ("td", "th"), "th": ("td", "th")},
}
_LISTS = frozenset(("ul", "ol", "menu", "dl", "table"))  # an item ends no item outside of these
_CELLS = frozenset(("td", "th", "caption"))  # an end tag in one of these closes nothing outside
_TABLE = frozenset(("table", "thead", "tbody", "tfoot", "tr"))  # but these do
_NEVER_HIDDEN = frozenset(("html", "body", "main", "article"))  # what lies under an open dialog
_MAY_HIDE = re.compile(r"hidden|none", re.IGNORECASE)
_HIDING = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")


class Element(NamedTuple):
    """A block-level tag: `label` is its classes and id, in lower case and in words."""

    name: str
    label: str
    role: str


@dataclass(slots=True)
class Block:
    """A piece of text between two block boundaries.

    `path` numbers the elements it stands in, outermost first; `linked` counts the characters of
    its text that are links; `links` are pairs of text and address as written.
    """

    text: str
    name: str
    path: tuple[int, ...]
    linked: int
    links: list[tuple[str, str]] = field(default_factory=list)

    @property
    def is_heading(self) -> bool:
        """Tell whether this is a heading."""
        return self.name in _HEADINGS


def join(blocks: Iterable[Block]) -> str:
    """Return the text of blocks: items and rows on lines of their own, the rest as paragraphs."""
    pieces: list[str] = []
    before = ""
    for block in blocks:
        together = block.name in _LINES and before in _LINES
        pieces += ("\n" if together else "\n\n", block.text)
        before = block.name
    return "".join(pieces[1:])


def read_blocks(page: Iterable[Token]) -> tuple[list[Element], list[Block]]:
    """Return a page's block-level elements and its visible text, in order."""
    reader = _Reader()
    for token in page:
        if token.kind == "text":
            reader.text(token.text)
        elif token.kind == "start":
            reader.start(token)
        elif token.kind == "end":
            reader.end(token.name)
    reader.flush()
    return reader.elements, reader.blocks


class _Open(NamedTuple):
    name: str
    is_block: bool
    is_hidden: bool


class _Reader:
    """Keeps the tags that are open, and the text since the last block boundary."""

    def __init__(self) -> None:
        self.elements: list[Element] = []
        self.blocks: list[Block] = []
        self._open: list[_Open] = []
        self._count: dict[str, int] = {}  # open tags by name
        self._hidden = 0  # open tags that hide what is in them
        self._path: list[int] = []
        self._pieces: list[str] = []
        self._linked = 0
        self._links: list[tuple[list[str], str]] = []
        self._link: list[str] | None = None  # the text of the link that is open
        self._bullet = ""

    def text(self, text: str) -> None:
        if self._hidden:
            return
        text = html.unescape(text) if "&" in text else text
        if not self._count.get("pre"):
            text = text.replace("\n", " ")  # in the pieces, "\n" is a line break
        self._pieces.append(text)
        if self._link is not None:
            self._link.append(text)
            self._linked += len(" ".join(text.split()))

    def start(self, token: Token) -> None:
        name = token.name
        if name in BLOCKS:
            self._end_paragraph()
        if name in _ITEMS:
            self._end_item(_ITEMS[name])
        if name in BLOCKS:
            self.flush()
        if name in ("td", "th") and self._pieces:
            self._pieces.append(" | ")
        elif name == "br":
            self._pieces.append("\n")
        elif name == "li":
            self._bullet = "- "
        elif name == "a":
            self._start_link(token)
        if name not in VOID and len(self._open) < DEEPEST:
            self._push(token)

    def end(self, name: str) -> None:
        if not self._count.get(name):
            return
        is_block = name in BLOCKS
        above_block = False
        for index in range(len(self._open) - 1, -1, -1):
            entry = self._open[index]
            if entry.name == name:
                # `<b><p></b>`: the paragraph stays open.
                self._close(index, index + 1 if above_block and not is_block else len(self._open))
                return
            if entry.name in _CELLS and name not in _TABLE:
                return
            above_block = above_block or entry.is_block

    def flush(self) -> None:
        """End the block of text that was being read."""
        if not self._pieces:
            return
        lines = "".join(self._pieces).split("\n")
        if self._count.get("pre"):
            text = "\n".join(line.rstrip() for line in lines).strip("\n")
        else:
            text = "\n".join(" ".join(line.split()) for line in lines).strip("\n |")
        if text.strip():
            name = self.elements[self._path[-1]].name if self._path else "body"
            links = [(" ".join("".join(pieces).split()), href) for pieces, href in self._links]
            linked = self._linked + len(self._bullet) if self._linked else 0
            block = Block(self._bullet + text, name, tuple(self._path), linked, links)
            self.blocks.append(block)
            self._bullet, self._links = "", []
        self._pieces, self._linked = [], 0

    def _start_link(self, token: Token) -> None:
        href = attributes(token).get("href")
        self._link = []
        if href:
            self._links.append((self._link, href))

    def _push(self, token: Token) -> None:
        name = token.name
        is_block = name in BLOCKS
        if is_block:
            found = attributes(token)
            words = _CAMEL.sub("-", f"{found.get('class', '')} {found.get('id', '')}").lower()
            self._path.append(len(self.elements))
            self.elements.append(Element(name, words, found.get("role", "").lower()))
        is_hidden = _is_hidden(token)
        self._hidden += is_hidden
        self._open.append(_Open(name, is_block, is_hidden))
        self._count[name] = self._count.get(name, 0) + 1

    def _close(self, first: int, last: int) -> None:
        for entry in reversed(self._open[first:last]):
            if entry.is_block:
                self.flush()
                self._path.pop()
            if entry.name == "a":
                self._link = None
            self._hidden -= entry.is_hidden
            self._count[entry.name] -= 1
        del self._open[first:last]

    def _end_paragraph(self) -> None:
        for index in range(len(self._open) - 1, -1, -1):
            if self._open[index].is_block:
                if self._open[index].name == "p":
                    self._close(index, len(self._open))
                return

    def _end_item(self, group: tuple[str, ...]) -> None:
        for index in range(len(self._open) - 1, -1, -1):
            if self._open[index].name in group:
                self._close(index, len(self._open))
                return
            if self._open[index].name in _LISTS:
                return


def _is_hidden(token: Token) -> bool:
    name = token.name
    if name in UNSEEN:
        return not (token.text.endswith("/") and name in ("svg", "math"))
    if name == "dialog":
        return "open" not in attributes(token)
    if name in _NEVER_HIDDEN or not _MAY_HIDE.search(token.text):
        return False
    found = attributes(token)
    hides = "hidden" in found or found.get("aria-hidden", "").lower() == "true"
    return hides or bool(_HIDING.search(found.get("style", "")))
