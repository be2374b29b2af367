"""What the Chat Completions API refuses in a list of messages, and how it says so."""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Sequence, Set
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from .chat_replies import Json, error_body

NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
LONGEST_CALL_ID = 40
_IMAGE = re.compile(r"data:image/(?:png|jpeg|gif|webp);base64,(.+)", re.DOTALL)
_FIELDS = {
    "system": {"role", "content", "name"},
    "developer": {"role", "content", "name"},
    "user": {"role", "content", "name"},
    "assistant": {"role", "content", "name", "tool_calls", "refusal"},
    "tool": {"role", "content", "tool_call_id"},
}
_PARTS = {"user": {"text", "image_url"}, "assistant": {"text", "refusal"}}


@dataclass(frozen=True, slots=True)
class Rules:
    """Where servers differ; the defaults are those of OpenAI's newer models.

    `output_limit` is the only accepted name of that parameter; `parameters` and `message_fields`
    are accepted besides the usual ones. `alternation` refuses neighbours of one role, as Mistral
    does; `user_after_tool=False` also a user turn right after tool results.
    """

    output_limit: str = "max_completion_tokens"
    temperature: bool = True
    alternation: bool = False
    user_after_tool: bool = True
    needs_key: bool = True
    parameters: frozenset[str] = frozenset()
    message_fields: frozenset[str] = frozenset()


class Refused(Exception):
    """The request is not accepted; `status` and `body` are the server's reply."""

    def __init__(
        self, message: str, param: str | None = None, code: str | None = None, status: int = 400
    ) -> None:
        super().__init__(message)
        self.status = status
        self.body = error_body(message, param=param, code=code)


def check_fields(value: Any, where: str, known: Set[str]) -> None:
    """Refuse what is no object, or has fields that the API does not know."""
    if not isinstance(value, dict):
        raise Refused(f"Invalid type for '{where}': expected an object", where, "invalid_type")
    for name in sorted(value.keys() - known):
        raise Refused(f"Unknown parameter: '{where}.{name}'", where, "unknown_parameter")


def check_name(name: Any, where: str) -> None:
    """Refuse names other than 1 to 64 letters, digits, `_` and `-`."""
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise Refused(f"Invalid '{where}': expected {NAME.pattern}", where, "invalid_value")


def check_messages(messages: Sequence[Any], rules: Rules) -> None:
    """Refuse messages that are malformed, calls without results, and results without calls."""
    for index, message in enumerate(messages):
        _check_message(message, f"messages[{index}]", rules)
    _check_pairs(messages)
    if rules.alternation:
        _check_alternation(messages, rules.user_after_tool)


def _check_message(message: Any, where: str, rules: Rules) -> None:
    role = message.get("role") if isinstance(message, dict) else None
    if role not in _FIELDS:
        raise Refused(f"Invalid value: {role!r}", f"{where}.role", "invalid_value")
    check_fields(message, where, _FIELDS[role] | rules.message_fields)
    if "tool_calls" in message:
        _check_calls(message["tool_calls"], f"{where}.tool_calls")
    elif role == "assistant" and not message.get("content"):
        raise Refused(f"'{where}.content' must not be empty", f"{where}.content")
    if message.get("content") is not None or role != "assistant":
        _check_content(message.get("content"), f"{where}.content", role)
    if role == "tool" and not isinstance(message.get("tool_call_id"), str):
        raise Refused(f"Missing '{where}.tool_call_id'", f"{where}.tool_call_id")


def _check_content(content: Any, where: str, role: str) -> None:
    if isinstance(content, str):
        return
    if not isinstance(content, list) or not content:
        raise Refused(f"Invalid '{where}': expected a string or parts", where, "invalid_type")
    for index, part in enumerate(content):
        _check_part(part, f"{where}[{index}]", role)


def _check_part(part: Any, where: str, role: str) -> None:
    kind = part.get("type") if isinstance(part, dict) else None
    if kind not in _PARTS.get(role, {"text"}):
        raise Refused(f"Invalid '{where}': no {kind!r} in role '{role}'", where, "invalid_value")
    check_fields(part, where, {"type", kind})
    if kind == "image_url":
        check_image(part.get("image_url"), f"{where}.image_url")
    elif not isinstance(part.get(kind), str) or (role == "assistant" and not part[kind]):
        raise Refused(f"Invalid '{where}.{kind}': expected text", f"{where}.{kind}")


def check_image(image: Any, where: str) -> None:
    """Refuse what is no address of an image, and no image in base64 of an accepted type."""
    check_fields(image, where, {"url", "detail"})
    url = str(image.get("url", ""))
    if url.startswith(("https://", "http://")):
        return
    encoded = _IMAGE.fullmatch(url)
    try:
        if encoded and base64.b64decode(encoded[1], validate=True):
            return
    except binascii.Error:
        pass
    raise Refused(f"Invalid base64 image: '{where}.url'", f"{where}.url", "invalid_image_url")


def _check_calls(calls: Any, where: str) -> None:
    if not isinstance(calls, list) or not calls:
        raise Refused(f"Invalid '{where}': empty array", where, "empty_array")
    for index, call in enumerate(calls):
        _check_call(call, f"{where}[{index}]")
    if len({call["id"] for call in calls}) < len(calls):
        raise Refused(f"Duplicate ids in '{where}'", where)


def _check_call(call: Any, where: str) -> None:
    check_fields(call, where, {"id", "type", "function"})
    identifier = call.get("id")
    if not isinstance(identifier, str) or not 0 < len(identifier) <= LONGEST_CALL_ID:
        limit = f"expected 1 to {LONGEST_CALL_ID} characters"
        raise Refused(f"Invalid '{where}.id': {limit}", f"{where}.id", "string_above_max_length")
    if call.get("type") != "function":
        raise Refused(f"Invalid '{where}.type'", f"{where}.type", "invalid_value")
    function = call.get("function")
    check_fields(function, f"{where}.function", {"name", "arguments"})
    check_name(function.get("name"), f"{where}.function.name")
    if not _is_object(function.get("arguments")):
        message = f"'{where}.function.arguments' is no JSON object in a string"
        raise Refused(message, f"{where}.function.arguments", "invalid_value")


def _is_object(text: Any) -> bool:
    try:
        return isinstance(text, str) and isinstance(json.loads(text), dict)
    except ValueError:
        return False


def _check_pairs(messages: Sequence[Json]) -> None:
    unanswered: list[str] = []
    for index, message in enumerate([*messages, {"role": "end"}]):
        where = f"messages[{index}].role"
        if message["role"] != "tool" and unanswered:
            raise Refused(f"Calls without a tool message right after them: {unanswered}", where)
        if message["role"] != "tool":
            unanswered = [call["id"] for call in message.get("tool_calls", ())]
        elif message["tool_call_id"] in unanswered:
            unanswered.remove(message["tool_call_id"])
        else:
            raise Refused("A tool message must answer a call of the message before it", where)


def _check_alternation(messages: Sequence[Json], user_after_tool: bool) -> None:
    roles = [message["role"] for message in messages]
    while roles and roles[0] in ("system", "developer"):
        del roles[0]
    if "system" in roles or "developer" in roles or roles[:1] != ["user"]:
        raise Refused("Expected system messages first, then a user message", "messages")
    for before, role in pairwise(roles):
        expected = before == "tool" or before != role
        if not expected or (before == "tool" and role == "user" and not user_after_tool):
            raise Refused(f"Unexpected role '{role}' after role '{before}'", "messages")
    if roles[-1] == "assistant":
        raise Refused("Expected last role user or tool, but got assistant", "messages")
