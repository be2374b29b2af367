"""What the Messages API refuses in the messages of a request."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from .anthropic_rules import refusal
from .chat_replies import Json
from .message_rules import NAME

_THINKING = ("thinking", "redacted_thinking")
_IMAGES = ("image/jpeg", "image/png", "image/gif", "image/webp")
_FIELDS = {
    "text": {"type", "text"},
    "image": {"type", "source"},
    "tool_use": {"type", "id", "name", "input"},
    "tool_result": {"type", "tool_use_id", "content", "is_error"},
}
_ROLES = {
    "user": ("text", "image", "tool_result"),
    "assistant": ("text", "tool_use"),
    "result": ("text", "image"),
}


class Issued:
    """The opaque blocks that were given out, each with the conversation that it came from."""

    def __init__(self) -> None:
        self._blocks: list[tuple[Json, str]] = []

    def add(self, request: Json, content: Sequence[Json]) -> None:
        """Remember the opaque blocks of a reply."""
        before = [*_flat(request["messages"])]
        for block in content:
            if block["type"] not in _FIELDS:
                self._blocks.append((block, _digest(request, before)))
            before.append(("assistant", block))

    def check(self, body: Json) -> None:
        """Refuse opaque blocks that were changed, made up, or moved to another conversation."""
        before: list[tuple[str, Json]] = []
        for index, message in enumerate(body["messages"]):
            for number, block in enumerate(message["content"]):
                if block["type"] not in _FIELDS:
                    self._check(block, _digest(body, before), f"messages.{index}.content.{number}")
                before.append((message["role"], block))

    def _check(self, block: Json, digest: str, where: str) -> None:
        known = [bound for issued, bound in self._blocks if issued == block]
        if not known:
            raise refusal(f"{where}: Invalid `signature` in `{block['type']}` block")
        if digest not in known:
            raise refusal(
                f"{where}: Invalid `signature` in `{block['type']}` block. The block is bound to a "
                "different conversation. Remove the block."
            )


def check_messages(body: Json, paused: bool) -> None:
    """Refuse messages that are malformed, out of order, or calls without results.

    After a pause the last message may be the assistant's own. The API itself would join
    neighbours of one role; here they are refused, because an adapter is to send one turn.
    """
    messages = body["messages"]
    for index, message in enumerate(messages):
        _check_message(message, f"messages.{index}")
    roles = [message["role"] for message in messages]
    if roles[0] != "user":
        raise refusal("messages: first message must use the user role")
    if any(before == role for before, role in pairwise(roles)):
        raise refusal("messages: roles must alternate")
    if roles[-1] == "assistant" and not paused:
        raise refusal("This model does not support assistant message prefill.")
    _check_pairs(messages)
    if body.get("thinking", {}).get("type") == "enabled":
        _check_opening(messages)


def _check_message(message: Any, where: str) -> None:
    if message.keys() != {"role", "content"} or message["role"] not in ("user", "assistant"):
        raise refusal(f"{where}: Invalid message {sorted(message)}")
    content = message["content"]
    if not isinstance(content, list) or not content:
        raise refusal(f"{where}: all messages must have non-empty content")
    for number, block in enumerate(content):
        _check_block(block, message["role"], f"{where}.content.{number}")
    kinds = [block["type"] for block in content]
    if kinds[-1] in _THINKING:
        raise refusal(f"{where}: The final block in an assistant message cannot be `{kinds[-1]}`.")
    if "tool_result" in kinds[kinds.count("tool_result") :]:
        raise refusal(f"{where}: tool_result blocks must come first")


def _check_block(block: Any, role: str, where: str) -> None:
    kind = block.get("type")
    if kind not in _FIELDS:
        if role != "assistant":
            raise refusal(f"{where}: {kind!r} is not allowed in role {role!r}")
        return  # opaque: see Issued
    if kind not in _ROLES[role] or not block.keys() <= _FIELDS[kind]:
        raise refusal(f"{where}: Extra inputs are not permitted: {sorted(block)} in {role}")
    match kind:
        case "text":
            if not block["text"].strip():
                raise refusal(f"{where}: text content blocks must contain non-whitespace text")
        case "image":
            _check_image(block["source"], where)
        case "tool_use":
            _check_use(block, where)
        case "tool_result":
            _check_result(block, where)


def _check_image(source: Json, where: str) -> None:
    try:
        known = source["type"] == "base64" and source["media_type"] in _IMAGES
        if known and base64.b64decode(source["data"], validate=True):
            return
    except binascii.Error:
        pass
    raise refusal(f"{where}.image.source: Invalid image {source.get('media_type')}")


def _check_use(use: Json, where: str) -> None:
    for name in ("id", "name"):
        if not NAME.fullmatch(use[name]):
            raise refusal(f"{where}.tool_use.{name}: String should match '^{NAME.pattern}$'")
    if not isinstance(use["input"], dict):
        raise refusal(f"{where}.tool_use.input: Input should be a valid dictionary")


def _check_result(result: Json, where: str) -> None:
    content = result.get("content")
    if not isinstance(content, list) or not content:
        raise refusal(f"{where}: content cannot be empty")
    if not isinstance(result.get("is_error", False), bool):
        raise refusal(f"{where}.is_error: Input should be a valid boolean")
    for number, block in enumerate(content):
        _check_block(block, "result", f"{where}.content.{number}")


def _check_pairs(messages: Sequence[Json]) -> None:
    seen: list[str] = []
    waiting: list[str] = []
    for index, message in enumerate(messages):
        blocks = message["content"]
        results = [b["tool_use_id"] for b in blocks if b["type"] == "tool_result"]
        if sorted(results) != sorted(waiting):
            raise refusal(
                f"messages.{index}: `tool_use` ids were found without `tool_result` blocks "
                f"immediately after, or the other way round: {waiting} and {results}"
            )
        waiting = [b["id"] for b in blocks if b["type"] == "tool_use"]
        seen += waiting
        if len(set(seen)) < len(seen):
            raise refusal(f"messages.{index}: `tool_use` ids must be unique")
    if waiting and messages[-1]["role"] == "assistant":
        raise refusal(f"`tool_use` ids were found without `tool_result` blocks: {waiting}")


def _check_opening(messages: Sequence[Json]) -> None:
    """Refuse a turn of calls and results that thinking with a budget did not begin."""
    opening = None
    for message in messages:
        kind = message["content"][0]["type"]
        if message["role"] == "assistant":
            opening = opening or kind
        elif kind != "tool_result":
            opening = None
    if opening not in (None, *_THINKING):
        raise refusal(
            f"Expected `thinking` or `redacted_thinking`, but found `{opening}`. When `thinking` "
            "is enabled, a final `assistant` message must start with a thinking block."
        )


def _flat(messages: Sequence[Json]) -> list[tuple[str, Json]]:
    return [(message["role"], block) for message in messages for block in message["content"]]


def _digest(request: Json, before: Sequence[tuple[str, Json]]) -> str:
    """Return what a thinking block is bound to: all that stood before it, except thinking."""
    said = [_without_caller(item) for item in before if item[1]["type"] not in _THINKING]
    prefix = [request.get("system"), request.get("tools"), said]
    return hashlib.sha256(json.dumps(prefix, sort_keys=True).encode()).hexdigest()


def _without_caller(item: tuple[str, Json]) -> list[Any]:
    known = _FIELDS.get(item[1]["type"], item[1].keys())
    return [item[0], {name: value for name, value in item[1].items() if name in known}]
