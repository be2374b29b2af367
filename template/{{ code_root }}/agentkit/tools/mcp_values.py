"""What passes between a model and an MCP server: names, arguments, results, the need to ask."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ..messages import Image, Text
from ..texts import encode_json
from .untrusted import untrusted

if TYPE_CHECKING:
    from mcp.types import CallToolResult, ContentBlock, ToolAnnotations

LONGEST_NAME = 64  # characters, for every provider
LARGEST_IMAGE = 5 * 1024 * 1024  # bytes, which most providers take
_IMAGES = ("image/png", "image/jpeg", "image/gif", "image/webp")
_NOTHING = "(no output)"


def tool_names(server: str, names: Iterable[str]) -> dict[str, str]:
    """Return a name `server__tool` for each tool that every provider takes, and that is unique.

    Other characters become `_`. Where that makes two names equal, or one is cut to 64 characters,
    it ends in a hash of the whole name, so it does not depend on the order of the tools.
    """
    whole = {name: f"{server}__{name}" for name in names}
    plain = {name: re.sub(r"[^A-Za-z0-9_-]", "_", text) for name, text in whole.items()}
    count = Counter(plain.values())
    for name, text in plain.items():
        clashes = count[text] > 1 and text != whole[name]
        if clashes or len(text) > LONGEST_NAME:
            digest = hashlib.sha256(whole[name].encode()).hexdigest()[:8]
            plain[name] = f"{text[: LONGEST_NAME - 9]}_{digest}"
    return plain


def needs_approval(annotations: ToolAnnotations | None) -> bool:
    """Tell whether a tool asks first, by what its server says about it.

    Read-only tools and those that only add do not. A server that describes its tool but leaves
    that open means destructive, as the protocol has it. One that says nothing at all does not ask:
    then the user's word counts, who added the server.
    """
    if annotations is None or annotations.read_only_hint:
        return False
    says = (annotations.read_only_hint, annotations.destructive_hint)
    return annotations.destructive_hint is not False and says != (None, None)


def sent_arguments(arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments without those that are null, optional and of a type that is not null.

    Models write null for what they leave out; servers refuse it.
    """
    properties, required = schema.get("properties") or {}, schema.get("required") or ()
    return {
        name: value
        for name, value in arguments.items()
        if value is not None or name in required or _may_be_null(properties.get(name))
    }


def _may_be_null(schema: Any) -> bool:
    kind = schema.get("type") if isinstance(schema, Mapping) else None
    return kind is None or kind == "null" or (isinstance(kind, list) and "null" in kind)


def read_result(result: CallToolResult, source: str) -> tuple[Text | Image, ...]:
    """Return what the model gets to read: all text in one piece marked as untrusted, then images.

    What is not text is named with its type and size, links keep their address, and structured
    content is added as JSON unless the text says the same.
    """
    images: list[Image] = []
    texts = [_read_part(part, images) for part in result.content]
    if result.structured_content is not None and not _says(texts, result.structured_content):
        texts.append(encode_json(result.structured_content))
    text = "\n".join(filter(None, texts))
    return (Text(untrusted(text, source) if text else _NOTHING), *images)


def _read_part(part: ContentBlock, images: list[Image]) -> str:
    match part.type:
        case "text":
            return part.text
        case "image" | "audio":
            return _read_data(part.data, part.mime_type, images)
        case "resource_link":
            kind = f" ({part.mime_type})" if part.mime_type else ""
            return f"{part.title or part.name}: {part.uri}{kind}"
        case "resource":
            resource = part.resource
            kind = resource.mime_type or "application/octet-stream"
            text = getattr(resource, "text", None)
            if text is None:
                text = _read_data(getattr(resource, "blob", ""), kind, images)
            return f"{resource.uri}:\n{text}"


def _read_data(data: str, kind: str, images: list[Image]) -> str:
    try:
        size = len(base64.b64decode(data, validate=True))
    except (binascii.Error, ValueError):
        return f"1 {kind} part that is no base64, not shown"
    amount = f"{round(size / 1000)} kB" if size >= 1000 else f"{size} bytes"
    if kind not in _IMAGES or size > LARGEST_IMAGE:
        return f"1 {kind} part ({amount}) not shown"
    images.append(Image(kind, data))
    return f"1 {kind} part ({amount})"


def _says(texts: list[str], structured: Any) -> bool:
    """Tell whether the texts hold the structured content: as JSON, or the only value in it."""
    values = [structured]
    if isinstance(structured, dict) and len(structured) == 1:
        values += structured.values()  # {"result": …}, how servers wrap what is no object
    found = [_value(text) for text in texts]
    whole = "\n".join(texts)
    return bool(texts) and any(value in (_value(whole), whole, found) for value in values)


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
