"""What the call log writes: each record as a piece of YAML that may be appended to the one before.

A call's file is one mapping whose keys come in the order in which things happen: the request,
`attempts` as they end, `outcome` last. So a file cut off after any piece is whole YAML. Secrets
are masked before text is laid out, since no search would find them across indented lines.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from ..messages import Image, Message, Part, Reply, Text, Thinking, ToolCall, ToolResult, Usage
from ..texts import is_deeper
from .records import (
    AttemptFinished,
    CallFinished,
    CallStarted,
    RunFinished,
    RunStarted,
    ToolFinished,
)
from .redact import (
    DEEPEST,
    LONGEST_TEXT,
    exception_text,
    mask,
    mask_known,
    safe_sanitize,
    shorten,
)
from .yaml_text import after_key, block, inline

_PAD = " " * 6  # before what goes on below a key of a part or of an attempt


def request_text(record: CallStarted) -> str:
    """Return what describes a call's request, apart from its messages; often the same for many."""
    data: dict[str, Any] = {"identifier": mask(record.identifier), "stage": mask(record.stage)}
    data["model"] = mask(record.model)
    if record.settings:
        data["settings"] = safe_sanitize(record.settings)
    if record.tools:
        data["tools"] = [mask_known(name) for name in record.tools]
    if record.schema:
        data["schema"] = mask(record.schema)
    return block(data)


def messages_text(messages: Sequence[Message], base: tuple[str, int] | None) -> str:
    """Return a call's messages; the first N of them by the name of the file that holds them."""
    if base is None:
        return _message_list("messages", messages, "")
    history = block({"history": {"from": base[0], "messages": base[1]}})
    return history + _message_list("messages", messages[base[1] :], "")


def attempt_text(
    record: AttemptFinished, corrections: Sequence[Message], now: str, first: bool
) -> str:
    """Return one attempt; `corrections` are the messages that only this attempt had on top."""
    text = "attempts:\n" if first else ""
    text += f"  - attempt: {record.attempt}\n"
    if not first:  # the first one begins with the call
        text += f'    time: "{now}"\n'
    text += f"    seconds: {record.seconds:.3f}\n"
    if corrections:
        text += "    " + _message_list("corrections", corrections, "    ")
    if record.reply:
        text += _reply_text(record.reply, record.problem)
    if record.problem:
        text += "    " + block({"problem": shorten(mask(record.problem))}, "    ")
    if record.error:
        text += "    " + block({"error": _error_data(record.error)}, "    ")
    if record.reply:
        text += f"    usage: {_usage_text(record.reply.usage)}\n"
    return f"{text}    cost: {_usd(record.cost)}\n"


def outcome_text(record: CallFinished) -> str:
    """Return how a call ended, the last piece of its file."""
    return f"outcome: {{attempts: {record.attempts}, {_ending(record)}}}\n"


def run_started_text(record: RunStarted, now: str) -> str:
    """Return the line of `run.yaml` for a run that begins."""
    parent = "" if record.parent is None else f", parent: {record.parent}"
    name = inline(mask(record.identifier))
    event = f'event: run_started, run: {record.run}, time: "{now}"'
    return f"- {{{event}, identifier: {name}{parent}}}\n"


def tool_finished_text(record: ToolFinished, now: str) -> str:
    """Return the line of `run.yaml` for a tool that ended."""
    failed = "true" if record.result.is_error else "false"
    return (
        f'- {{event: tool_finished, run: {record.run}, time: "{now}", '
        f"tool: {inline(mask_known(record.call.name))}, seconds: {record.seconds:.3f}, "
        f"is_error: {failed}}}\n"
    )


def run_finished_text(record: RunFinished, model: str | None, now: str) -> str:
    """Return the line of `run.yaml` for a run that ended."""
    event = f'event: run_finished, run: {record.run}, time: "{now}", model: {inline(model)}'
    return f"- {{{event}, steps: {record.steps}, {_ending(record)}}}\n"


def _ending(record: CallFinished | RunFinished) -> str:
    if record.error is not None:
        text = f"error: {inline(_error_data(record.error))}"
    else:
        text = f"finish_reason: {record.finish_reason}"
    usage = _usage_text(record.usage)
    return f"{text}, seconds: {record.seconds:.3f}, usage: {usage}, cost: {_usd(record.cost)}"


def _error_data(error: BaseException) -> dict[str, Any]:
    """Return type, message and what the provider said about an error, without secrets."""
    kind, _, message = exception_text(error).partition(": ")
    data: dict[str, Any] = {"type": kind, "message": shorten(message)}
    for name in ("status", "retry_after"):
        value = getattr(error, name, None)
        if value is not None:
            data[name] = value
    return data


def _usage_text(usage: Usage) -> str:
    """Return the tokens; kinds other than input and output only where there are some."""
    text = f"input_tokens: {usage.input_tokens}, output_tokens: {usage.output_tokens}"
    for name in ("cache_read_tokens", "cache_write_tokens", "reasoning_tokens"):
        if value := getattr(usage, name):
            text += f", {name}: {value}"
    return "{" + text + "}"


def _usd(cost: float | None) -> str:
    return "null" if cost is None else f"{cost:.8f}"


def _reply_text(reply: Reply, problem: str | None) -> str:
    detail = ""
    if reply.detail:
        detail = f"    detail:{after_key(shorten(mask(reply.detail)), _PAD)}"
    text = (
        f"    model:{after_key(mask_known(reply.model), _PAD)}"
        f"    finish_reason: {reply.finish_reason}\n{detail}"
        f"    reply:\n{_PAD}{_indented(reply.message, _PAD)}"
    )
    if reply.raw and (problem or reply.raw != reply.message.text):
        text += f"    {block({'raw': _text(reply.raw)}, '    ')}"
    return text


def _message_list(key: str, messages: Sequence[Message], pad: str) -> str:
    if not messages:
        return f"{key}: []\n"
    items = [f"{pad}  - {_indented(message, pad + '    ')}" for message in messages]
    return f"{key}:\n{''.join(items)}"


def _indented(message: Message, pad: str) -> str:
    return message.once("log", _message_text)[:-1].replace("\n", "\n" + pad) + "\n"


def _message_text(message: Message) -> str:
    parts = message.parts
    if len(parts) == 1 and isinstance(parts[0], Text):
        return f"role: {message.role}\ntext:{after_key(_text(parts[0].text), '  ')}"
    listed = "".join([f"\n  - {_part(part)}"[:-1] for part in parts])
    return f"role: {message.role}\nparts:{listed or ' []'}\n"


def _part(part: Part) -> str:
    """Return a part as lines, all but the first indented by four: laid out as `block` would."""
    match part:
        case Text():
            return _entry("text", part.text)
        case Thinking():
            return _entry("thinking", part.text)
        case Image():
            return _entry("image", _image(part))
        case ToolCall():
            return "    ".join(_call(part))
        case ToolResult():
            return "    ".join(_result(part))


def _entry(key: str, text: str) -> str:
    return f"{key}:{after_key(_text(text), _PAD)}"


def _call(call: ToolCall) -> list[str]:
    head = [_entry("tool_call", call.name), _entry("id", call.id)]
    if call.malformed is not None:
        return [*head, _entry("malformed", call.malformed)]
    return [*head, f"arguments:{after_key(_arguments(call), _PAD)}"]


def _result(result: ToolResult) -> list[str]:
    texts = [_image(p) if isinstance(p, Image) else p.text for p in result.content]
    head = [_entry("tool_result", result.name), _entry("call_id", result.call_id)]
    head.append(_entry("text", "\n".join(texts)))
    return [*head, "is_error: true\n"] if result.is_error else head


def _arguments(call: ToolCall) -> Any:
    """Return the arguments as data, or as text where masking or their size breaks the JSON."""
    text = call.arguments_text
    masked = mask_known(text)
    if len(text) > LONGEST_TEXT or is_deeper(call.arguments, DEEPEST):
        return shorten(masked)
    if masked == text:
        return call.arguments
    try:
        return json.loads(masked)
    except ValueError:
        return masked


def _image(image: Image) -> str:
    size = len(image.data) * 3 // 4
    shown = f"{size} bytes" if size < 1_000 else f"{size // 1_000} kB"
    return f"[{mask_known(image.media_type)}, {shown}]"


def _text(text: str) -> str:
    return shorten(mask_known(text))
