"""Messages as the Messages API wants them: pure functions from values to JSON."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Container, Iterable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

from ...messages import Image, Message, Part, Text, Thinking, ToolCall, ToolResult
from ...texts import clean, encode_json

DIALECT = "anthropic"
THINKING = {"thinking", "redacted_thinking"}
NO_WORDS = {"type": "text", "text": "(no text)"}  # the API refuses empty text and empty turns
_IMAGES = ("image/jpeg", "image/png", "image/gif", "image/webp")

Block = dict[str, Any]


class Turn(NamedTuple):
    """What one message adds to a request: a role, and blocks as JSON texts joined by commas.

    `calls` are the ids of the calls in it, `opening` is the type of its first block, `thinks` tells
    whether thinking is among the blocks.
    """

    role: str
    blocks: str
    calls: tuple[str, ...] = ()
    opening: str = ""
    thinks: bool = False


def turns_of(messages: Iterable[Message], refused: Container[int]) -> list[Turn]:
    """Return the turns of the messages that say something.

    No id of a call comes twice, which the API refuses. A turn whose blocks' hash is in `refused`
    comes without its thinking.
    """
    turns: list[Turn] = []
    seen: set[str] = set()
    repeats, is_repeat = 0, False
    for message in messages:
        turn = message.once(DIALECT, _turn)
        if message.role == "assistant":
            is_repeat = len(set(turn.calls)) < len(turn.calls) or not seen.isdisjoint(turn.calls)
            repeats += is_repeat
            seen.update(turn.calls)
        repeat = repeats if is_repeat and message.role in ("assistant", "tool") else 0
        bare = turn.thinks and hash(turn.blocks) in refused
        if repeat or bare:
            changed = partial(_turn, repeat=repeat, bare=bare)
            turn = message.once(f"{DIALECT} {repeat} {bare}", changed)
        if turn.blocks:
            turns.append(turn)
    return turns


def joined(turns: Iterable[Turn]) -> str:
    """Return the JSON of the turns of a conversation: neighbours of one role become one."""
    pieces: list[str] = []
    role = ""
    for turn in turns:
        if turn.role == role:
            pieces.append(",")
        else:
            pieces.append(f'{"]}," if role else ""}{{"role":"{turn.role}","content":[')
            role = turn.role
        pieces.append(turn.blocks)
    return "".join(pieces) + ("]}" if role else "")


def began_with_thinking(turns: Sequence[Turn]) -> bool:
    """Tell whether a request may ask for thinking with a budget.

    The API takes calls and their results for one turn of the assistant, up to the user's next
    words, and refuses such thinking in a turn that did not begin with it.
    """
    opening = ""
    for before, turn in pairwise([Turn("", ""), *turns]):
        if turn.role == "assistant":
            opening = opening or turn.opening
        elif "tool_result" not in (before.opening, turn.opening):
            opening = ""
    return not opening or opening in THINKING


def _turn(message: Message, *, repeat: int = 0, bare: bool = False) -> Turn:
    match message.role:
        case "assistant":
            blocks = _assistant(message, repeat, bare)
        case "tool":
            results = enumerate(message.tool_results)
            blocks = [_result(result, _id(result.call_id, repeat, n)) for n, result in results]
        case "user":
            blocks = _content(message.parts) or [NO_WORDS]
        case _:
            blocks = _content(message.parts)
    role = "user" if message.role == "tool" else message.role
    kinds = [block["type"] for block in blocks]
    calls = tuple([block["id"] for block in blocks if block["type"] == "tool_use"])
    text = clean(",".join(map(encode_json, blocks)))
    return Turn(role, text, calls, kinds[0] if kinds else "", not THINKING.isdisjoint(kinds))


def _assistant(message: Message, repeat: int, bare: bool) -> list[Block]:
    """Return the blocks in the order in which they came; thinking only if it is this API's own."""
    blocks: list[Block] = []
    number = 0
    for part in message.parts:
        match part:
            case Thinking():
                if part.replay and DIALECT in part.replay and not bare:
                    blocks.append(part.replay[DIALECT])
            case ToolCall():
                blocks.append(_use(part, _id(part.id, repeat, number)))
                number += 1
            case Image():
                blocks.append(_note(part))
            case _:
                blocks += _content((part,))
    while blocks and blocks[-1]["type"] in THINKING:  # cut off while it thought: refused as an end
        blocks.pop()
    return blocks


def _use(call: ToolCall, call_id: str) -> Block:
    name = re.sub(r"[^A-Za-z0-9_-]", "_", call.name)[:64] or "unknown"  # models invent names
    return {"type": "tool_use", "id": call_id, "name": name, "input": call.arguments}


def _id(call_id: str, repeat: int, number: int) -> str:
    """Return an id that the API accepts, the same for a call and its result.

    Other providers make longer ids, and with other characters. Some use an id again: those calls
    are told apart by their place.
    """
    if repeat:
        return f"repeated_{repeat}_{number}"
    if re.fullmatch(r"[A-Za-z0-9_-]{1,64}", call_id):
        return call_id
    return "call_" + hashlib.sha256(call_id.encode("utf-8", "replace")).hexdigest()[:40]


def _result(result: ToolResult, call_id: str) -> Block:
    content = _content(result.content) or [NO_WORDS]
    block = {"type": "tool_result", "tool_use_id": call_id, "content": content}
    return {**block, "is_error": True} if result.is_error else block


def _content(parts: Iterable[Part]) -> list[Block]:
    blocks: list[Block] = []
    for part in parts:
        if isinstance(part, Text) and part.text.strip():
            blocks.append({"type": "text", "text": part.text})
        elif isinstance(part, Image):
            blocks.append(_image(part) if part.media_type in _IMAGES else _note(part))
    return blocks


def _image(image: Image) -> Block:
    source = {"type": "base64", "media_type": image.media_type, "data": image.data}
    return {"type": "image", "source": source}


def _note(image: Image) -> Block:
    """Return what stands for an image that the API refuses: it would refuse every later turn."""
    return {"type": "text", "text": f"(an image, {image.media_type}, that cannot be shown)"}
