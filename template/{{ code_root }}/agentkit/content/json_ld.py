"""Reads JSON-LD: what a page's makers tell search engines about it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

MOST_NODES = 2_000

# What a page is about, best first; a breadcrumb list or an organisation alone is not.
_SUBJECTS = ("article", "posting", "report", "recipe", "product", "videoobject", "event", "webpage")
_NAMES = ("author", "publisher")
_ADDRESSES = ("image", "logo", "audio", "video")
_TEXTS = (
    *("headline", "name", "description", "datePublished", "dateModified", "uploadDate"),
    "inLanguage",
)

Node = dict[str, Any]


def json_ld(text: str) -> Iterator[tuple[str, str]]:
    """Yield names and values of the page's subject; nothing for what is no JSON."""
    try:
        value = json.loads(text.strip().removeprefix("<!--").removesuffix("-->"), strict=False)
    except (ValueError, RecursionError):
        return
    nodes = list(_nodes(value))
    by_id = {node["@id"]: node for node in nodes if isinstance(node.get("@id"), str)}
    subjects = sorted((rank, index) for index, node in enumerate(nodes) for rank in _ranks(node))
    for _, index in subjects:
        yield from _values(nodes[index], by_id)


def _nodes(value: Any) -> Iterator[Node]:
    """Yield the objects at the top: alone, in a list, or in a graph."""
    waiting = [value]
    for _ in range(MOST_NODES):
        if not waiting:
            return
        value = waiting.pop(0)
        if isinstance(value, list):
            waiting += value
        elif isinstance(value, dict):
            yield value
            waiting += [value[key] for key in ("@graph", "mainEntity") if key in value]


def _ranks(node: Node) -> Iterator[int]:
    kinds = " ".join(_strings(node.get("@type"))).lower()
    yield from (rank for rank, subject in enumerate(_SUBJECTS) if subject in kinds)


def _values(node: Node, by_id: dict[str, Node]) -> Iterator[tuple[str, str]]:
    for key in _TEXTS:
        yield from ((key, text) for text in _strings(node.get(key))[:1])
    for key in _NAMES:
        names = [name for item in _items(node.get(key), by_id) for name in _named(item, "name")]
        if names:
            yield key, ", ".join(dict.fromkeys(names))
    publishers = [item for item in _items(node.get("publisher"), by_id) if isinstance(item, dict)]
    logos = [publisher.get("logo") for publisher in publishers]
    for key in _ADDRESSES:
        for item in _items([node.get(key), *logos] if key == "logo" else node.get(key), by_id):
            yield from ((key, address) for address in _named(item, "contentUrl", "url"))


def _items(value: Any, by_id: dict[str, Node]) -> list[Any]:
    """Return a property's values, with references replaced by what they refer to."""
    values = value if isinstance(value, list) else [value]
    return [
        by_id.get(str(item["@id"]), item) if isinstance(item, dict) and "@id" in item else item
        for item in values
    ]


def _named(item: Any, *keys: str) -> list[str]:
    """Return a text itself, or the first of these properties that an object has."""
    if not isinstance(item, dict):
        return _strings(item)
    return next((found for key in keys if (found := _strings(item.get(key)))), [])


def _strings(value: Any) -> list[str]:
    values = value if isinstance(value, list) else [value]
    return [item for item in values if isinstance(item, str)]
