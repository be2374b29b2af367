"""Reads back what the call log wrote, for people and tools.

Nothing here raises for a bad file: what cannot be read gives an entry whose only key `problem`
says which file it is and why.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

from .call_log import RUN_FILE, numbered
from .run_context import started_at

Data = dict[str, Any]

_KINDS = ("input_tokens", "output_tokens")
_FILE = re.compile(r"[\w.-]*\w/\d+-[\w.-]+\.yaml", re.ASCII)


def read_call(path: Path) -> Data:
    """Return one call as it was written: request, attempts, outcome."""
    data = _load(path)
    if isinstance(data, dict) and ("problem" in data or isinstance(data.get("messages"), list)):
        return data
    return _problem(path, "not the file of a model call")


def read_messages(path: Path) -> list[Data]:
    """Return a call's conversation: its request, followed through earlier files, and the reply."""
    chain = [read_call(path)]
    read = {path.name}
    while history := chain[-1].get("history"):
        earlier = _earlier(path, history)
        fresh = earlier is not None and earlier.name not in read
        chain.append(read_call(earlier) if earlier and fresh else _problem(path, "broken history"))
        read.add(earlier.name if earlier else "")
    messages: list[Data] = []
    for call in reversed(chain):
        messages = [*messages[: _shared(call)], *_own_messages(call)]
    return messages


def read_calls(run_dir: Path) -> list[Path]:
    """Return the files of a run's model calls in the order in which they began."""
    return [path for _, path in sorted(numbered(run_dir))]


def read_runs(debug_dir: Path, limit: int | None = None, after: str | None = None) -> list[Data]:
    """Return what the runs of a debug directory came to, newest first, `limit` at most.

    With `after`, a run id, those that follow it in the list. Each has `run_id`, `started`, `model`,
    `turns`, `steps`, `tokens` (`input_tokens` and `output_tokens` together), `cost` (USD, None if
    not known), `seconds`, `outcome` and `tools` (how often each was called). What sub-agents did is
    part of the run that called them.
    """
    files = sorted(debug_dir.glob(f"*/{RUN_FILE}"), key=_newest_first)
    if after is not None:
        names = [file.parent.name for file in files]
        files = files[names.index(after) + 1 :] if after in names else []
    return [read_run(file.parent) for file in files[:limit]]


def read_run(run_dir: Path) -> Data:
    """Return what one run came to; see `read_runs`."""
    return _read_run(run_dir / RUN_FILE)


def read_events(run_dir: Path) -> list[Data]:
    """Return the events of a run in the order in which they were written."""
    return _load_events(run_dir / RUN_FILE)


def _read_run(file: Path) -> Data:
    events = _load_events(file)
    if not events:
        return {"run_id": file.parent.name} | _problem(file, "not the events of a run")
    turns = _turns(events)
    last = turns[-1] if turns else {}
    costs = [turn.get("cost") for turn in turns if "cost" in turn]
    return {
        "run_id": file.parent.name,
        "started": events[0].get("time"),
        "model": last.get("model") or _last_model(file.parent),
        "turns": len(turns),
        "steps": sum(_number(turn.get("steps")) for turn in turns),
        "tokens": sum(map(_tokens, turns)),
        **{name: sum(_tokens(turn, name) for turn in turns) for name in _KINDS},
        "cost": None if None in costs else sum(map(_number, costs)),
        "seconds": sum(_number(turn.get("seconds")) for turn in turns),
        "outcome": _outcome(last),
        "tools": dict(Counter(str(e.get("tool")) for e in events if e["event"] == "tool_finished")),
    }


def _turns(events: list[Data]) -> list[Data]:
    """Return start and end of each run that no tool started, merged; numbers may come again."""
    turns: list[Data] = []
    running: dict[Any, Data] = {}
    for event in events:
        if event["event"] == "run_started" and event.get("parent") is None:
            running[str(event.get("run"))] = turn = dict(event)
            turns.append(turn)
        elif event["event"] == "run_finished":
            running.pop(str(event.get("run")), {}).update(event)
    return turns


def _outcome(turn: Data) -> str:
    if isinstance(error := turn.get("error"), dict):
        return f"{error.get('type')}: {error.get('message')}"
    return str(turn.get("finish_reason") or "unfinished")


def _tokens(turn: Data, *kinds: str) -> float:
    usage = turn.get("usage")
    if not isinstance(usage, dict):
        return 0
    return sum(_number(usage.get(kind)) for kind in kinds or _KINDS)


def _number(value: Any) -> float:
    return value if isinstance(value, (int, float)) else 0


def _last_model(run_dir: Path) -> str | None:
    calls = read_calls(run_dir)
    model = read_call(calls[-1]).get("model") if calls else None
    return str(model) if model else None


def _newest_first(file: Path) -> tuple[float, str]:
    run_id = file.parent.name
    if started := started_at(run_id):
        return -started.timestamp(), run_id
    try:
        return -file.stat().st_mtime, run_id
    except OSError:
        return 0.0, run_id


def _earlier(path: Path, history: Any) -> Path | None:
    file = str(history.get("from")) if isinstance(history, dict) else ""
    return path.parent.parent / file if _FILE.fullmatch(file) else None


def _shared(call: Data) -> int | None:
    history = call.get("history")
    count = history.get("messages") if isinstance(history, dict) else None
    return count if isinstance(count, int) else None


def _own_messages(call: Data) -> list[Data]:
    if "problem" in call:
        return [call]
    attempts = call.get("attempts")
    last = attempts[-1] if isinstance(attempts, list) and attempts else None
    reply = last.get("reply") if isinstance(last, dict) else None
    return [m for m in [*call["messages"], reply] if isinstance(m, dict)]


def _load_events(file: Path) -> list[Data]:
    """Return the events; where the file was damaged, those lines that are whole."""
    data = _load(file)
    if not isinstance(data, list):
        lines = [line for line in _read(file).splitlines() if line.startswith(b"- ")]
        data = [item for line in lines for item in _parse(line, file)]
    return [item for item in data if isinstance(item, dict) and "event" in item]


def _load(path: Path) -> Any:
    try:
        return _parse(path.read_bytes(), path)
    except OSError as error:
        return _problem(path, error.strerror or type(error).__name__)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def _parse(data: bytes, path: Path) -> Any:
    import yaml  # type: ignore[import-untyped, unused-ignore]

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        return yaml.load(data, loader)
    except Exception as error:  # the loader's own, and what its constructors raise for bad values
        return _problem(path, f"{type(error).__name__}, {str(error).splitlines()[0]}")


def _problem(path: Path, reason: str) -> Data:
    return {"problem": f"{path.parent.name}/{path.name}: {reason}"}
