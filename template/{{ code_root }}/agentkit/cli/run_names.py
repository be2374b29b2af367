"""Short names for runs: their ids are made to be sorted, not to be typed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from ..errors import ConfigError
from ..observability.run_context import started_at

SHORTEST = 4  # the random end of an id


def run_ids(debug_dir: Path) -> list[str]:
    """Return the ids of all runs of a debug directory."""
    try:
        return [path.name for path in debug_dir.iterdir() if path.is_dir()]
    except FileNotFoundError:
        return []


def short_name(run_id: str, known: Iterable[str]) -> str:
    """Return the shortest end of an id that no other has; the user's own ids stay whole."""
    if started_at(run_id) is None:
        return run_id
    others = [other for other in known if other != run_id]
    for length in range(SHORTEST, len(run_id)):
        name = run_id[-length:]
        if not any(other.startswith(name) or other.endswith(name) for other in others):
            return name
    return run_id


def find_run(name: str, known: Sequence[str], prog: str) -> str:
    """Return the one id that is `name`, or begins or ends with it; raises `ConfigError` if none."""
    if name in known:
        return name
    found = [run_id for run_id in known if run_id.startswith(name) or run_id.endswith(name)]
    if len(found) == 1:
        return found[0]
    problem = f'{len(found)} runs match "{name}"' if found else f'no run "{name}"'
    advice = "give more of its id" if found else f"{prog} runs lists them"
    raise ConfigError(f"{problem}; {advice}")
