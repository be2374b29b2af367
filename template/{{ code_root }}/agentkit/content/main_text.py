"""Chooses the blocks that are a page's content, and leaves out menus, teasers and footers.

Rules instead of a library, chosen by measurement: see `extract`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence

from .blocks import Block, Element
from .markup import names

SHORT = 70  # characters: a block of more is a paragraph rather than a label
LINKED = 0.4  # of a block's characters: a block with more links than that is navigation
THIN = 250  # characters: with less, the rules have thrown out too much

_TAGS = frozenset(("nav", "footer", "aside", "menu", "search"))
_ROLES = names(
    "navigation contentinfo banner search dialog alertdialog complementary menu menubar toolbar "
    "tablist"
)
_KEPT = frozenset(("html", "body", "main", "article", "h1", "p", "pre"))
_LABELS = re.compile(
    r"(?<![a-z])(?:nav|navi|navbar|navigation|menus?|submenu|megamenu|dropdown|sidebar|sidenav"
    r"|footer|foot|masthead|topbar|cookies?|consent|gdpr|breadcrumbs?|crumbs?|shar(?:e|es|ing)"
    r"|sharebar|socials?|newsletter|subscribe|subscription|signup|related|recommended"
    r"|recommendations|recirc|promos?|promotion|advert|advertisement|ads?|adsense|sponsor"
    r"|sponsored|outbrain|taboola|popup|modal|overlay|lightbox|pagination|pager|paging|toc|skip"
    r"|login|widgets?|tags|taglist|tagcloud|toolbar|rating|cta|banner|printonly"
    r"|screen-reader-text|visually-hidden|sr-only|copyright|legal|trending|popular"
    r"|more-?(?:from|stories|news|posts))(?![a-z])"
)
_COMMENTS = re.compile(
    r"(?<![a-z])(?:comments?|commentlist|respond|replies|reactions|disqus|responses)(?![a-z])"
)
# What a paragraph or a list stands in is looked for above these.
_PARTS = names(
    "p pre li ul ol blockquote h1 h2 h3 h4 h5 h6 dd dt dl tr table tbody thead figure figcaption hr"
)


def main_blocks(elements: Sequence[Element], blocks: Sequence[Block]) -> list[Block]:
    """Return the blocks that are the page's content, in order; all of them on a small page."""
    whole = _length(blocks)
    if whole < THIN:
        return list(blocks)
    pruned = _without_comments(elements, _without_boilerplate(elements, blocks))
    content = _without_link_lists(_in_root(elements, pruned))
    if _length(content) >= THIN:
        return content
    return pruned if _length(pruned) >= min(THIN, 0.3 * whole) else list(blocks)


def _without_boilerplate(elements: Sequence[Element], blocks: Sequence[Block]) -> list[Block]:
    """Leave out what is named as boilerplate, unless it holds much of the page's prose."""
    weights, total = _weights(blocks)

    def drop(share: float, test: Callable[[Element], bool]) -> set[int]:
        return {
            number
            for number, element in enumerate(elements)
            if element.name not in _KEPT
            and test(element)
            and weights.get(number, 0) <= share * total
        }

    unwanted = drop(0.6, lambda element: element.name in _TAGS or element.role in _ROLES)
    unwanted |= drop(0.45, lambda element: bool(_LABELS.search(element.label)))
    return _without(blocks, unwanted)


def _without_comments(elements: Sequence[Element], blocks: list[Block]) -> list[Block]:
    """Leave out comments, unless they are the content, as in a forum."""
    comments = {
        number
        for number, element in enumerate(elements)
        if element.name not in _KEPT - {"article"} and _COMMENTS.search(element.label)
    }
    rest = _without(blocks, comments)
    prose = _weights(rest)[1]
    return rest if prose >= 300 or prose > 0.5 * _weights(blocks)[1] else blocks


def _in_root(elements: Sequence[Element], blocks: list[Block]) -> list[Block]:
    """Return the blocks in the innermost element that holds the content."""
    blocks = _in_largest(
        blocks, 0.3, {n for n, e in enumerate(elements) if e.name == "main" or e.role == "main"}
    )
    blocks = _in_largest(blocks, 0.5, {n for n, e in enumerate(elements) if e.name == "article"})
    weights, total = _weights(blocks)
    if total < 300:
        return blocks
    direct = _direct_weights(elements, blocks)
    root = max(direct, key=lambda number: direct[number])
    if direct[root] < 0.7 * total:
        # Numbers grow inwards, and two elements with most of the text are one within the other.
        holders = [number for number in weights if weights[number] >= 0.75 * total]
        root = max(holders, default=-1)
    return [block for block in blocks if root in block.path] if root >= 0 else blocks


def _in_largest(blocks: list[Block], share: float, candidates: Collection[int]) -> list[Block]:
    """Return the blocks in the candidate that holds most, if that is more than this share."""
    sizes = dict.fromkeys(candidates, 0)
    for block in blocks:
        for number in block.path:
            if number in sizes:
                sizes[number] += len(block.text)
    largest = max(sizes, key=lambda number: sizes[number], default=None)
    if largest is None or sizes[largest] <= share * _length(blocks):
        return blocks
    return [block for block in blocks if largest in block.path]


def _without_link_lists(blocks: list[Block]) -> list[Block]:
    """Leave out five and more links in a row with nothing between them."""
    kept: list[Block] = []
    links: list[Block] = []
    for block in [*blocks, None]:
        if block is not None and _is_link(block):
            links.append(block)
            continue
        kept += links if len(links) < 5 else []
        links = []
        if block is not None:
            kept.append(block)
    return kept


def _is_link(block: Block) -> bool:
    short = len(block.text) < 80 and not block.is_heading
    return short and block.linked > 0.8 * len(block.text)


def _prose(block: Block) -> int:
    """Return the characters of a paragraph that are no links; 0 for what is no paragraph."""
    is_prose = len(block.text) >= SHORT and block.linked < LINKED * len(block.text)
    return len(block.text) - block.linked if is_prose or block.name == "pre" else 0


def _weights(blocks: Sequence[Block]) -> tuple[dict[int, int], int]:
    """Return how much prose each element holds, and all of it."""
    weights: dict[int, int] = {}
    total = 0
    for block in blocks:
        prose = _prose(block)
        total += prose
        if prose:
            for number in block.path:
                weights[number] = weights.get(number, 0) + prose
    return weights, total


def _direct_weights(elements: Sequence[Element], blocks: list[Block]) -> dict[int, int]:
    """Return how much prose stands in each element itself, in paragraphs and lists."""
    direct: dict[int, int] = {}
    for block in blocks:
        holders = (n for n in reversed(block.path) if elements[n].name not in _PARTS)
        holder = next(holders, -1)
        direct[holder] = direct.get(holder, 0) + _prose(block)
    return direct


def _without(blocks: Sequence[Block], unwanted: set[int]) -> list[Block]:
    return [block for block in blocks if unwanted.isdisjoint(block.path)]


def _length(blocks: Sequence[Block]) -> int:
    return sum(len(block.text) for block in blocks)
