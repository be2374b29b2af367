"""A request of OpenAI's Chat Completions, as a conversation of the agent."""

from __future__ import annotations

import base64
import re
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from ..messages import Image, Message, Text
from .problems import Problem

_DATA_URL = re.compile(r"data:(image/[\w.+-]{1,60});base64,([A-Za-z0-9+/]+=*)")
_REFUSED = {  # what clients may ask for, and would miss in silence
    "tools": "the agent brings its own tools",
    "functions": "the agent brings its own tools",
    "response_format": "answers are text",
    "audio": "answers are text",
}


class ChatMessage(BaseModel):
    """A message; system and developer messages count as what the user says.

    There are no tools' messages: the agent runs its own, and clients see none of them.
    """

    role: Literal["system", "developer", "user", "assistant"]
    content: str | list[dict[str, Any]] | None = None


class StreamOptions(BaseModel):
    """`include_usage` adds a last chunk with the tokens."""

    include_usage: bool = False


class CompletionRequest(BaseModel):
    """What clients of OpenAI's send. Sampling settings are the agent's own and not changed."""

    model_config = ConfigDict(extra="allow")

    messages: list[ChatMessage] = Field(min_length=1)
    model: str = Field("", description="Any name: there is one agent.")
    stream: bool | None = False
    stream_options: StreamOptions | None = None
    n: int | None = Field(1, ge=1, le=1, description="There is one answer.")


def read_conversation(body: CompletionRequest) -> tuple[list[Message], Message]:
    """Return the history and the message to answer; raises `Problem` for what is not supported."""
    for name, reason in _REFUSED.items():
        asked = (body.model_extra or {}).get(name)
        if asked and asked != {"type": "text"}:
            raise _bad(name, f"not supported, {reason}; leave it out")
    turns: list[tuple[Literal["user", "assistant"], list[Text | Image]]] = []
    for index, message in enumerate(body.messages):
        parts = _parts(message.content, f"messages[{index}]")
        role: Literal["user", "assistant"] = "user"
        if message.role == "assistant":
            role, parts = "assistant", tuple(part for part in parts if isinstance(part, Text))
        if turns and turns[-1][0] == role:
            turns[-1][1].extend(_apart(parts))
        elif parts:
            turns.append((role, list(parts)))
    if not turns or turns[-1][0] != "user":
        raise _bad("messages", "the last message must be the user's")
    *history, question = [Message(role, tuple(parts)) for role, parts in turns]
    return history, question


def _parts(content: str | list[dict[str, Any]] | None, where: str) -> tuple[Text | Image, ...]:
    """Return the parts, none if they say nothing."""
    parts: tuple[Text | Image, ...]
    if isinstance(content, str):
        parts = (Text(content),)
    else:
        parts = tuple(
            [_part(part, f"{where}.content[{i}]") for i, part in enumerate(content or ())]
        )
    return parts if any(isinstance(p, Image) or p.text.strip() for p in parts) else ()


def _part(part: dict[str, Any], where: str) -> Text | Image:
    match part:
        case {"type": "text", "text": str(text)}:
            return Text(text)
        case {"type": "image_url", "image_url": {"url": str(url)}}:
            if found := _DATA_URL.fullmatch(url):
                return Image(found[1], _checked(found[2], where))
            raise _bad(where, "an image must be a data: URL in base64; addresses are not fetched")
    raise _bad(where, "only text and image_url are supported")


def _checked(data: str, where: str) -> str:
    try:
        base64.b64decode(data, validate=True)
    except ValueError:
        raise _bad(where, "the image is not base64") from None
    return data


def _apart(parts: tuple[Text | Image, ...]) -> tuple[Text | Image, ...]:
    """Return the parts so that their text does not run into what stands before."""
    return tuple([Text(f"\n\n{p.text}") if isinstance(p, Text) else p for p in parts])


def _bad(where: str, problem: str) -> Problem:
    return Problem(400, "invalid_request", f"{where}: {problem}")
