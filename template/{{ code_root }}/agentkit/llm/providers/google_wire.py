"""What the Gemini API is sent: pure functions from messages and settings to its JSON."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from ...errors import ConfigError
from ...messages import Image, Message, Part, Text, Thinking, ToolCall, ToolResult

DIALECT = "google"
# Stands for the signature of a call that another model made; a real one is wanted of each step.
# https://ai.google.dev/gemini-api/docs/thought-signatures#faqs
UNSIGNED = base64.b64encode(b"skip_thought_signature_validator").decode()
_RESULT_IMAGES = ("image/png", "image/jpeg", "image/webp")
_IMAGES = (*_RESULT_IMAGES, "image/heic", "image/heif")
_NAMES = {
    "max_tokens": "maxOutputTokens",
    "temperature": "temperature",
    "top_p": "topP",
    "top_k": "topK",
    "seed": "seed",
}

Json = dict[str, Any]


def wire_contents(messages: Sequence[Message], old: bool) -> list[Json]:
    """Return the conversation as contents; neighbours of one role become one.

    `old` models take no images inside of tool results, and want no signatures.
    """
    form = f"{DIALECT} old" if old else DIALECT
    make = partial(_content, old=old)
    contents: list[Json] = []
    for message in messages:
        if message.role == "system":
            continue
        content = message.once(form, make)
        if contents and contents[-1]["role"] == content["role"]:
            parts = [*contents[-1]["parts"], *content["parts"]]
            contents[-1] = {"role": content["role"], "parts": parts}
        elif content["parts"]:
            contents.append(content)
    return contents


def system_parts(messages: Iterable[Message]) -> list[Json]:
    """Return the parts of the system instruction."""
    texts = [message.text for message in messages if message.role == "system"]
    return [{"text": text} for text in texts if text]


def wire_settings(settings: Mapping[str, Any], old: bool) -> Json:
    """Return the generation config. Raises `ConfigError` that names what cannot be sent."""
    wire: Json = {}
    for name, value in settings.items():
        if name == "stop":
            wire["stopSequences"] = [value] if isinstance(value, str) else list(value)
        elif name == "reasoning":
            wire["thinkingConfig"] = _thinking(value, old)
        elif name == "seed" and not -(2**31) <= value < 2**31:
            raise ConfigError(f"google takes a seed of 32 bits, not {value}")
        else:
            wire[_NAMES[name]] = value
    return wire


def _thinking(value: str | int, old: bool) -> Json:
    if value == "none":
        return {"thinkingBudget": 0}
    if isinstance(value, int):
        return {"thinkingBudget": value, "includeThoughts": True}
    if old:
        raise ConfigError(
            f"google does not take reasoning={value} for this model: "
            "give a number of tokens, or none"
        )
    return {"thinkingLevel": value.upper(), "includeThoughts": True}


def _content(message: Message, old: bool) -> Json:
    match message.role:
        case "assistant":
            return {"role": "model", "parts": _said(message.parts, old)}
        case "tool":
            return {"role": "user", "parts": _results(message.tool_results, old)}
    parts = [_image(p) if isinstance(p, Image) else {"text": p.text} for p in _shown(message.parts)]
    return {"role": "user", "parts": parts}


def _shown(parts: Iterable[Part]) -> list[Text | Image]:
    return [p for p in parts if isinstance(p, Image) or (isinstance(p, Text) and p.text)]


def _said(parts: Sequence[Part], old: bool) -> list[Json]:
    """Return what the model said, part by part, each signature where it came.

    Without its signature, reasoning is of no use to the model; another model's is none of its own.
    """
    said = [wire for wire in map(_said_part, parts) if wire is not None]
    calls = [wire for wire in said if "functionCall" in wire]
    if calls and not old and not any("thoughtSignature" in wire for wire in said):
        calls[0]["thoughtSignature"] = UNSIGNED
    return said


def _said_part(part: Part) -> Json | None:
    if isinstance(part, Image):
        return _image(part)
    if isinstance(part, ToolResult):
        return None
    signature = ((part.replay or {}).get(DIALECT) or {}).get("thought_signature")
    wire: Json = {"thoughtSignature": signature} if signature else {}
    match part:
        case ToolCall():
            call = {"id": part.id, "name": _name(part.name), "args": part.arguments}
            return {"functionCall": call, **wire}
        case Thinking():
            return {"text": part.text, "thought": True, **wire} if wire else None
    return {"text": part.text, **wire} if part.text or wire else None


def _results(results: Iterable[ToolResult], old: bool) -> list[Json]:
    parts: list[Json] = []
    images: list[Json] = []
    for result in results:
        made = [_image(p, _RESULT_IMAGES) for p in result.content if isinstance(p, Image)]
        notes = [image["text"] for image in made if "text" in image]
        shown = [image for image in made if "text" not in image]
        text = "\n".join(filter(None, [result.text, *notes])) or ("(an image)" if shown else "")
        response: Json = {
            "id": result.call_id,
            "name": _name(result.name),
            "response": {"error" if result.is_error else "output": text},
        }
        if old:
            images += shown
        elif shown:
            response["parts"] = shown
        parts.append({"functionResponse": response})
    return parts + images


def _image(image: Image, known: Sequence[str] = _IMAGES) -> Json:
    """Return an image; a note for one that the API would refuse, in every later turn as well."""
    if image.media_type not in known:
        return {"text": f"(an image, {image.media_type}, that cannot be shown)"}
    return {"inlineData": {"mimeType": image.media_type, "data": image.data}}


def _name(name: str) -> str:
    """Return the name of a call in the letters that are accepted: models invent others."""
    name = re.sub(r"[^A-Za-z0-9_.:-]", "_", name)[:127] or "unknown"
    return name if re.match(r"[A-Za-z_]", name) else f"_{name}"
