"""What the Gemini API refuses in the contents of a request: turns, calls, results, signatures."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from .chat_replies import Json
from .gemini_rules import OLD, check_fields, check_name, refused

SKIP = base64.b64encode(b"skip_thought_signature_validator").decode()
_DATA = ("text", "inlineData", "functionCall", "functionResponse")
_ROLES = {"text": "user model", "inlineData": "user model", "functionCall": "model"}
_IMAGES = ("image/png", "image/jpeg", "image/webp")
_USER_IMAGES = (*_IMAGES, "image/heic", "image/heif")


def check_contents(body: Json, issued: Mapping[str, Json]) -> None:
    """Refuse malformed contents; `issued` are the parts given out, by their signature."""
    contents, old = body.get("contents"), OLD.match(body["model"]) is not None
    if not isinstance(contents, list) or not contents:
        raise refused("contents are required")
    for index, content in enumerate(contents):
        _check_content(content, f"contents[{index}]", old)
    _check_turns(contents)
    _check_signatures(contents, issued, old)
    if "systemInstruction" in body:
        check_fields(body["systemInstruction"], "system_instruction", {"parts", "role"})
        for part in body["systemInstruction"]["parts"]:
            _check_part(part, "system_instruction.parts", "user", old)


def _check_content(content: Any, where: str, old: bool) -> None:
    check_fields(content, where, {"role", "parts"})
    if content.get("role") not in ("user", "model"):
        raise refused("Please use a valid role: user, model.")
    if not content.get("parts"):
        raise refused(f"{where}.parts must not be empty.")
    for index, part in enumerate(content["parts"]):
        _check_part(part, f"{where}.parts[{index}]", content["role"], old)


def _check_part(part: Any, where: str, role: str, old: bool) -> None:
    check_fields(part, where, {*_DATA, "thought", "thoughtSignature"})
    kinds = [name for name in _DATA if name in part]
    if len(kinds) != 1:
        raise refused(f"{where}.data: required oneof field 'data' must have one initialized field")
    if role not in _ROLES.get(kinds[0], "user"):
        raise refused(f"{where}: no {kinds[0]} in role {role}")
    if ("thought" in part or "thoughtSignature" in part) and role != "model":
        raise refused(f"{where}: only the model thinks")
    match kinds[0]:
        case "text":
            if not isinstance(part["text"], str) or not (
                part["text"] or "thoughtSignature" in part
            ):
                raise refused(f"{where}.text must not be empty")
        case "inlineData":
            _check_image(part["inlineData"], f"{where}.inline_data", _USER_IMAGES)
        case "functionCall":
            _check_call(part["functionCall"], f"{where}.function_call")
        case _:
            _check_response(part["functionResponse"], f"{where}.function_response", old)


def _check_call(call: Any, where: str) -> None:
    check_fields(call, where, {"id", "name", "args"})
    check_name(call.get("name"), f"{where}.name")
    if not isinstance(call.get("args", {}), dict):
        raise refused(f"Invalid value at '{where}.args'")


def _check_response(response: Any, where: str, old: bool) -> None:
    check_fields(response, where, {"id", "name", "response", "parts"})
    check_name(response.get("name"), f"{where}.name")
    if not isinstance(response.get("response"), dict):
        raise refused(f"Invalid value at '{where}.response'")
    if old and "parts" in response:
        raise refused("Multimodal function responses are not supported for this model.")
    for part in response.get("parts", ()):
        check_fields(part, f"{where}.parts", {"inlineData"})
        _check_image(part.get("inlineData"), f"{where}.parts.inline_data", _IMAGES)


def _check_image(image: Any, where: str, known: Sequence[str]) -> None:
    check_fields(image, where, {"mimeType", "data"})
    if image.get("mimeType") not in known:
        raise refused(f"Unsupported MIME type: {image.get('mimeType')}")
    try:
        base64.b64decode(image.get("data", ""), validate=True)
    except binascii.Error as error:
        raise refused(f"Invalid value at '{where}.data': Base64 decoding failed") from error


def _check_turns(contents: Sequence[Json]) -> None:
    roles = [content["role"] for content in contents]
    if roles[0] != "user" or roles[-1] != "user":
        raise refused("Please ensure that the first and the last turn are the user's")
    if any(before == after for before, after in pairwise(roles)):
        raise refused("Please ensure that roles alternate")
    for before, content in pairwise([{"parts": []}, *contents]):
        calls, responses = _of(before, "functionCall"), _of(content, "functionResponse")
        if content["role"] == "user" and len(calls) != len(responses):
            raise refused(
                "Please ensure that the number of function response parts is equal to the number "
                "of function call parts of the function call turn."
            )
        for call, response in zip(calls, responses, strict=False):
            if (call.get("id"), call["name"]) != (response.get("id"), response["name"]):
                raise refused(f"The response {response['name']} does not match {call['name']}")


def _of(content: Json, kind: str) -> list[Json]:
    return [part[kind] for part in content["parts"] if kind in part]


def _check_signatures(contents: Sequence[Json], issued: Mapping[str, Json], old: bool) -> None:
    """Refuse signatures that were changed or moved, and steps of this turn that have none.

    https://ai.google.dev/gemini-api/docs/thought-signatures
    """
    current = True  # up to the newest words of the user
    for content in reversed(contents):
        parts = content["parts"]
        if content["role"] == "user":
            current = current and all("functionResponse" in part for part in parts)
            continue
        for part in parts:
            _check_signature(part, issued)
        calls = [part for part in parts if "functionCall" in part]
        if current and calls and not old and "thoughtSignature" not in calls[0]:
            name = calls[0]["functionCall"]["name"]
            raise refused(f"Function call {name} is missing a thought_signature")


def _check_signature(part: Json, issued: Mapping[str, Json]) -> None:
    signature = part.get("thoughtSignature")
    bare: dict[str, Any] = {key: part[key] for key in part if key != "thoughtSignature"}
    if signature is None:
        given = [known for known in issued.values() if _same(bare, known)]
        if given and "functionCall" in bare:
            raise refused("Function call is missing a thought_signature")
    elif signature != SKIP and (signature not in issued or not _same(bare, issued[signature])):
        raise refused("Corrupted thought signature.")
    elif signature == SKIP and "functionCall" not in bare:
        raise refused("Invalid thought signature.")


def _same(part: Json, given: Json) -> bool:
    """Tell whether a part is the one given out; an id may be added to a call that had none."""
    if "functionCall" in part and "functionCall" in given:
        ours, theirs = part["functionCall"], given["functionCall"]
        return all(ours.get(key) == value for key, value in theirs.items())
    return part == given
