"""What the Responses API refuses in a request's input: items, pairs, and reasoning not its own."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .chat_replies import Json
from .message_rules import Refused, check_fields, check_image, check_name
from .responses_rules import PLAIN

LONGEST_CALL_ID = 64
_PARTS = {
    "user": {"input_text", "input_image"},
    "system": {"input_text"},
    "developer": {"input_text"},
    "assistant": {"output_text", "refusal"},
    "output": {"input_text", "input_image"},
}
_FIELDS = {
    "message": {"type", "role", "content", "phase"},
    "function_call": {"type", "call_id", "name", "arguments", "id", "status"},
    "function_call_output": {"type", "call_id", "output"},
    "reasoning": {"type", "id", "summary", "content", "encrypted_content"},
}


@dataclass(frozen=True, slots=True)
class Issued:
    """A reasoning item that the server gave out: to which model, and what came right after it."""

    item: Json
    model: str
    follower: Json
    calls: tuple[str, ...]


def check_input(items: Sequence[Any], model: str, issued: Sequence[Issued]) -> None:
    """Raise `Refused` if the API would not accept these items as input of the model."""
    for index, item in enumerate(items):
        _check_item(item, f"input[{index}]")
    _check_pairs(items)
    known = {reasoning.item["id"]: reasoning for reasoning in issued}
    for index, item in enumerate(items):
        if item.get("type") == "reasoning":
            _check_reasoning(item, items[index + 1 :], model, known.get(item["id"]))
    for reasoning in issued:
        if reasoning.model == model:
            _check_kept(items, reasoning)


def _check_item(item: Any, where: str) -> None:
    kind = item.get("type", "message") if isinstance(item, dict) else None
    if kind not in _FIELDS:
        raise Refused(f"Invalid value: {kind!r}", f"{where}.type", "invalid_value")
    check_fields(item, where, _FIELDS[kind])
    match kind:
        case "message":
            if item.get("role") not in ("user", "assistant", "system", "developer"):
                raise Refused(f"Invalid value: {item.get('role')!r}", f"{where}.role")
            _check_content(item.get("content"), f"{where}.content", item["role"])
        case "function_call":
            _check_call(item, where)
        case "function_call_output":
            _check_call_id(item, where)
            _check_content(item.get("output"), f"{where}.output", "output")
        case "reasoning":
            if not str(item.get("id")).startswith("rs_") or "summary" not in item:
                raise Refused(f"Missing 'id' or 'summary' in '{where}'", where)


def _check_call(item: Json, where: str) -> None:
    _check_call_id(item, where)
    check_name(item.get("name"), f"{where}.name")
    try:
        valid = isinstance(json.loads(item.get("arguments", "")), dict)
    except (TypeError, ValueError):
        valid = False
    if not valid:
        raise Refused(f"'{where}.arguments' is no JSON object in a string", f"{where}.arguments")
    if "id" in item and not str(item["id"]).startswith("fc_"):
        raise Refused(f"Invalid '{where}.id': expected an ID that begins with 'fc'", f"{where}.id")


def _check_call_id(item: Json, where: str) -> None:
    call_id = item.get("call_id")
    if not isinstance(call_id, str) or not 0 < len(call_id) <= LONGEST_CALL_ID:
        message = f"Invalid '{where}.call_id': expected 1 to {LONGEST_CALL_ID} characters"
        raise Refused(message, f"{where}.call_id", "string_above_max_length")


def _check_content(content: Any, where: str, role: str) -> None:
    if isinstance(content, str):
        if role == "assistant" and not content:
            raise Refused(f"'{where}' must not be empty", where)
        return
    if not isinstance(content, list) or not content:
        raise Refused(f"Invalid '{where}': expected a string or parts", where, "invalid_type")
    for index, part in enumerate(content):
        _check_part(part, f"{where}[{index}]", role)


def _check_part(part: Any, where: str, role: str) -> None:
    kind = part.get("type") if isinstance(part, dict) else None
    if kind not in _PARTS[role]:
        raise Refused(f"Invalid value: {kind!r} in role '{role}'", f"{where}.type")
    if kind == "input_image":
        check_fields(part, where, {"type", "image_url", "detail"})
        check_image({"url": part.get("image_url")}, where)
        return
    check_fields(part, where, {"type", "text"})
    if not isinstance(part.get("text"), str):
        raise Refused(f"Invalid '{where}.text': expected text", f"{where}.text")


def _check_pairs(items: Sequence[Json]) -> None:
    """Every call is answered after it and before anybody speaks again."""
    open_calls: list[str] = []
    for item in [*items, {"role": "user"}]:
        if item.get("type") == "function_call":
            open_calls.append(item["call_id"])
        elif item.get("type") == "function_call_output":
            if item["call_id"] not in open_calls:
                call_id = item["call_id"]
                message = f"No tool call found for function call output with call_id {call_id}."
                raise Refused(message, "input")
            open_calls.remove(item["call_id"])
        elif open_calls and item.get("role") != "assistant":
            raise Refused(f"No tool output found for function call {open_calls[0]}.", "input")


def _check_reasoning(
    item: Json, following: Sequence[Json], model: str, known: Issued | None
) -> None:
    if PLAIN.match(model):
        raise Refused("Reasoning input items can only be provided to a reasoning model.", "input")
    if known is None or dict(known.item) != item or known.model != model:
        message = f"The encrypted content for item {item['id']} could not be verified."
        raise Refused(message, code="invalid_encrypted_content")
    after = following[0] if following else {}
    if any(after.get(name) != value for name, value in known.follower.items()):
        message = (
            f"Item '{item['id']}' of type 'reasoning' was provided without its required "
            "following item."
        )
        raise Refused(message, "input")


def _check_kept(items: Sequence[Json], reasoning: Issued) -> None:
    """Refuse a call whose reasoning does not stand before it."""
    seen = False
    for item in items:
        seen = seen or item.get("id") == reasoning.item["id"]
        if item.get("type") == "function_call" and item["call_id"] in reasoning.calls and not seen:
            message = (
                f"Item '{item['call_id']}' of type 'function_call' was provided without its "
                f"required 'reasoning' item: '{reasoning.item['id']}'."
            )
            raise Refused(message, "input")
