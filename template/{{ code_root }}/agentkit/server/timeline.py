"""A run as a timeline, drawn from what the call log wrote.

Everything here is read from files that may be cut off or damaged: what is missing is left out.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from ..observability.call_reader import read_call, read_calls, read_events

Data = dict[str, Any]

MOST_CALLS = 500  # of a run; the first ones
LONGEST = 2_000  # characters of a text


def read_timeline(run_dir: Path) -> list[Data]:
    """Return the calls, attempts, retries and tools of a run in the order in which they began.

    The log's times are milliseconds: of what began in the same one, what ended first comes first,
    and a call before its attempts.
    """
    events = read_events(run_dir)
    zero = _seconds(events[0].get("time")) if events else 0.0
    groups = [list(_call(path)) for path in read_calls(run_dir)[:MOST_CALLS]]
    groups += [[_tool(event)] for event in events if event["event"] == "tool_finished"]
    found: list[tuple[float, float, Data]] = []
    for first, *others in groups:
        end = round(first["started"] + first["seconds"] - zero, 3)
        for entry in (first, *others):
            entry["started"] = round(max(0.0, entry["started"] - zero), 3)
            found.append((entry["started"], end, entry))
    return [entry for *_, entry in sorted(found, key=lambda item: item[:2])]


def read_title(run_dir: Path) -> str:
    """Return what the user said first in a run, as long as it was logged."""
    for path in read_calls(run_dir)[:1]:
        for message in read_call(path).get("messages", []):
            if isinstance(message, dict) and message.get("role") == "user":
                return _text(message)
    return ""


def _call(path: Path) -> Iterator[Data]:
    call = read_call(path)
    if "problem" in call:
        yield {"kind": "call", "name": path.stem, "started": 0.0, "seconds": 0.0} | {
            "error": call["problem"]
        }
        return
    attempts = [a for a in call.get("attempts") or () if isinstance(a, dict)]
    outcome = call.get("outcome")
    outcome = outcome if isinstance(outcome, dict) else {}
    name, started = str(call.get("identifier")), _seconds(call.get("time"))
    entry = _entry("call", name, started, outcome)
    if attempts and isinstance(reply := attempts[-1].get("reply"), dict):
        entry["text"] = _text(reply)
    yield entry | ({} if outcome else {"error": "unfinished"})
    if len(attempts) > 1:
        yield from _attempts(attempts, name, started)


def _attempts(attempts: list[Data], name: str, begun: float) -> Iterator[Data]:
    """Yield each attempt, and the wait before the next one."""
    ended = begun
    for number, attempt in enumerate(attempts):
        started = _seconds(attempt.get("time")) or begun
        if number:
            wait = round(max(0.0, started - ended), 3)
            yield {"kind": "retry", "name": name, "started": ended, "seconds": wait}
        problem = {"error": str(attempt["problem"])} if "problem" in attempt else {}
        yield _entry("attempt", f"{name} {number + 1}", started, attempt) | problem
        ended = started + _number(attempt.get("seconds"))


def _tool(event: Data) -> Data:
    seconds = _number(event.get("seconds"))
    started = _seconds(event.get("time")) - seconds
    entry = {"kind": "tool", "name": str(event.get("tool")), "started": started, "seconds": seconds}
    return entry | ({"error": "the tool failed"} if event.get("is_error") else {})


def _entry(kind: str, name: str, started: float, ending: Data) -> Data:
    entry: Data = {"kind": kind, "name": name, "started": started}
    entry["seconds"] = _number(ending.get("seconds"))
    if isinstance(usage := ending.get("usage"), dict):
        for name in ("input_tokens", "output_tokens"):
            entry[name] = int(_number(usage.get(name)))
    if isinstance(cost := ending.get("cost"), (int, float)):
        entry["cost_usd"] = cost
    if isinstance(error := ending.get("error"), dict):
        entry["error"] = f"{error.get('type')}: {error.get('message')}"
    return entry


def _text(message: Data) -> str:
    """Return what a logged message says, and which tools it calls."""
    if "text" in message:
        return str(message["text"])[:LONGEST]
    said = []
    for part in message.get("parts") or ():
        if "text" in part:
            said.append(str(part["text"]))
        elif "tool_call" in part:
            arguments = json.dumps(part.get("arguments", {}), ensure_ascii=False, default=str)
            said.append(f"{part['tool_call']} {arguments}")
    return "\n".join(said)[:LONGEST]


def _seconds(time: Any) -> float:
    try:
        return datetime.fromisoformat(str(time)).timestamp()
    except ValueError:
        return 0.0


def _number(value: Any) -> float:
    return float(value) if isinstance(value, (int, float)) else 0.0
