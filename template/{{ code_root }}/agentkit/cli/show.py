"""`runs show`: one conversation, as its call log tells it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import typer

from ..errors import ConfigError
from ..observability.call_reader import read_call, read_calls, read_runs
from ..texts import encode_json
from .run_names import find_run, run_ids
from .runs import CANCELLED, local_time, run_cost
from .terminal import complain, plain, say

Data = dict[str, Any]


def show_run(debug_dir: Path, name: str | None, prog: str) -> None:
    """Print a run call by call: what was new to the model, each attempt, and the reply.

    Files that cannot be read are named on stderr. Raises `ConfigError` when there is no such run.
    """
    run_id = _newest(debug_dir) if name is None else find_run(name, run_ids(debug_dir), prog)
    if run_id is None:
        raise ConfigError(f"no runs in {debug_dir}; {prog} ask and {prog} chat leave some")
    _line(f"run {run_id}", bold=True)
    shown: set[str] = set()
    for path in read_calls(debug_dir / run_id):
        call = read_call(path)
        if "problem" in call:
            complain(f"unreadable: {call['problem']}")
        else:
            _show_call(call, shown)


def _newest(debug_dir: Path) -> str | None:
    newest = read_runs(debug_dir, 1)
    return str(newest[0]["run_id"]) if newest else None


def _show_call(call: Data, shown: set[str]) -> None:
    _line(f"\n--- {_call_head(call)}", dim=True)
    new, repeated = _new_messages(call, shown)
    if repeated:
        _line(f"({repeated} messages from above, sent again)", dim=True)
    for message in new:
        _show_message(message)
    for attempt in _dicts(call.get("attempts")):
        _show_attempt(attempt, shown)
    if "outcome" not in call:
        _line("(no outcome: the process ended before the call did)", dim=True)


def _call_head(call: Data) -> str:
    outcome = _dict(call.get("outcome"))
    name = f"call {call.get('call')} {call.get('stage')}/{call.get('identifier')}"
    attempts = len(_dicts(call.get("attempts")))
    amounts = [f"{attempts} attempt{'s' * (attempts != 1)}", _tokens(outcome.get("usage"))]
    amounts += [run_cost(outcome["cost"])] if "cost" in outcome else []
    amounts += [f"{outcome['seconds']} s"] if "seconds" in outcome else []
    return f"{name}, {local_time(call.get('time'))}, {call.get('model')}, {', '.join(amounts)}"


def _new_messages(call: Data, shown: set[str]) -> tuple[list[Data], int]:
    """Return the call's messages that were not shown yet, and how many were.

    A file whose history was rewritten (compaction, a new process) lists all of it again.
    """
    messages = _dicts(call.get("messages"))
    fresh = messages
    if "history" not in call:
        fresh = [message for message in messages if _key(message) not in shown]
    shown.update(map(_key, messages))
    return fresh, len(messages) - len(fresh)


def _show_attempt(attempt: Data, shown: set[str]) -> None:
    number, error = attempt.get("attempt"), _dict(attempt.get("error"))
    for correction in _dicts(attempt.get("corrections")):
        _show_message(correction)
    if reply := _dict(attempt.get("reply")):
        shown.add(_key(reply))
        _show_message(reply)
    if problem := attempt.get("problem"):
        _line(f"(attempt {number} was not accepted: {problem})", dim=True)
    if error.get("type") == CANCELLED:
        _line(f"(attempt {number} was cancelled)", dim=True)
    elif error:
        status = f", status {error['status']}" if "status" in error else ""
        _line(f"(attempt {number} failed: {error.get('type')}: {error.get('message')}{status})")


def _show_message(message: Data) -> None:
    _line(f"{message.get('role')}:", bold=True)
    for part in _dicts(message.get("parts")) or [message]:
        _line(_part_text(part))


def _part_text(part: Data) -> str:
    if "tool_call" in part:
        arguments = part.get("malformed", part.get("arguments"))
        text = arguments if isinstance(arguments, str) else _json(arguments)
        return f"  -> {part['tool_call']} {text}"
    if "tool_result" in part:
        state = "failed: " if part.get("is_error") else ""
        return _indented(f"<- {part['tool_result']}: {state}{part.get('text')}")
    if "thinking" in part:
        return _indented(f"(thinking) {part['thinking']}")
    return _indented(str(part.get("text", part.get("image", ""))))


def _json(value: object) -> str:
    try:
        return encode_json(value)
    except (TypeError, ValueError):
        return str(value)  # a date, say: the file was edited by hand


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines())


def _tokens(usage: object) -> str:
    data = _dict(usage)
    return f"{data.get('input_tokens', 0)} in + {data.get('output_tokens', 0)} out tokens"


def _line(text: str, *, bold: bool = False, dim: bool = False) -> None:
    say(typer.style(plain(text), bold=bold or None, dim=dim or None))


def _key(message: Data) -> str:
    return json.dumps(message, sort_keys=True, default=str)


def _dicts(value: object) -> list[Data]:
    items: Iterable[object] = value if isinstance(value, list) else ()
    return [item for item in items if isinstance(item, dict)]


def _dict(value: object) -> Data:
    return value if isinstance(value, dict) else {}
