"""The context of a run: its id, where its files go, and who watches."""

from __future__ import annotations

import json
import os
import re
import secrets
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from threading import Lock
from typing import Any

from ..errors import ConfigError
from .call_log import CallLog
from .logger import Logger
from .private_directory import make_directory
from .records import Observer, Record
from .redact import add_environment, exception_text, mask, safe_sanitize
from .slug import slug as slug

_LAST_MS = 253_402_300_799_999  # 9999-12-31T23:59:59.999Z, the end of what a date can say
_LAST_SEQUENCE = 9_999_999
_sequence = count()  # makes ids of one millisecond differ, and sort newest first
_least_left = [_LAST_MS]  # what the newest id of this process begins with
_naming = Lock()

Watcher = Callable[["RunContext"], Observer]


@dataclass(frozen=True, slots=True)
class RunContext:
    """What one run (or one conversation) shares: id, debug directory, logger and observers.

    Files go to `<debug_dir>/<run_id>/`; `start_time` is in UTC.
    """

    run_id: str
    debug_dir: Path
    logger: Logger
    start_time: datetime
    observers: list[Observer] = field(default_factory=list, repr=False)
    _watchers: list[Watcher] = field(default_factory=list, repr=False, compare=False)
    _ids: count[int] = field(default_factory=lambda: count(1), repr=False, compare=False)

    @property
    def run_dir(self) -> Path:
        """The directory of this run's files."""
        return self.debug_dir / self.run_id

    def next_id(self) -> int:
        """Return a number that no other run, call or tool of this context has."""
        return next(self._ids)

    def watch(self, watcher: Watcher) -> None:
        """Add the observer that `watcher` makes for this context, and for those made from it."""
        self._watchers.append(watcher)
        self.observers.append(watcher(self))

    def another(self, debug_dir: Path | None = None, run_id: str | None = None) -> RunContext:
        """Return a context for another conversation: a new id, the same logger and watchers.

        With `debug_dir` its files go there, with `run_id` that is its id.
        """
        ctx = create_run_context(self.logger, debug_dir or self.debug_dir, run_id)
        for watcher in self._watchers:
            ctx.watch(watcher)
        return ctx

    def notify(self, record: Record) -> None:
        """Tell every observer. One that fails is dropped with a warning, the run goes on."""
        for observer in tuple(self.observers):
            try:
                observer(record)
            except Exception as error:
                with suppress(ValueError):  # another thread was faster
                    self.observers.remove(observer)
                name = getattr(observer, "__name__", type(observer).__name__)
                self.logger.warn(f"observer {name} failed and is off: {exception_text(error)}")

    def save_debug_file(self, name: str, content: Any, stage_dir: str | None = None) -> Path | None:
        """Write text as it is, anything else as JSON, for the owner's eyes only (0600).

        Returns the path, or None when the disk refuses: that costs a warning, never the run.
        """
        text = content if isinstance(content, str) else None
        if text is None:
            text = json.dumps(safe_sanitize(content), indent=2, ensure_ascii=False)
        path = get_sub_debug_dir(self, stage_dir or "") / slug(name)
        try:
            make_directory(path.parent, self.debug_dir)
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with open(descriptor, "w", encoding="utf-8", errors="replace") as file:
                file.write(mask(text))
        except OSError as error:
            self.logger.warn(f"debug file not written: {exception_text(error)}")
            return None
        return path


def create_run_context(
    logger: Logger | None = None,
    debug_dir: str | os.PathLike[str] = "debug",
    run_id: str | None = None,
    observers: Sequence[Observer] = (),
) -> RunContext:
    """Return a context whose call log writes below `debug_dir`; `run_id` is made if not given.

    Raises `ConfigError` for a run id that is no plain file name.
    """
    add_environment()
    if run_id is not None and (slug(run_id) != run_id or not run_id):
        raise ConfigError(f"run_id {mask(run_id)!r}: use letters, digits, '.', '_' and '-' only")
    logger = logger or Logger("agent")
    ctx = RunContext(run_id or new_run_id(), Path(debug_dir), logger, datetime.now(UTC))
    ctx.observers.extend((CallLog(ctx.run_dir, logger), *observers))
    return ctx


def get_sub_debug_dir(ctx: RunContext, stage_dir: str) -> Path:
    """Return the directory of a stage of this run; it stays inside the run's directory."""
    parts = [slug(part) for part in re.split(r"[/\\]", stage_dir) if part.strip(". ")]
    return ctx.run_dir.joinpath(*parts)


def new_run_id() -> str:
    """Return an id that sorts before every earlier one, also across processes of one machine.

    A clock that is set back only leads to ids of the same millisecond within this process.
    """
    with _naming:
        left = min(_LAST_MS - time.time_ns() // 1_000_000, *_least_left)
        _least_left[:] = [left]
        sequence = _LAST_SEQUENCE - next(_sequence) % (_LAST_SEQUENCE + 1)
    return f"{left:015d}-{sequence:07d}-{secrets.token_hex(2)}"


def started_at(run_id: str) -> datetime | None:
    """Return when a run with a generated id began, in UTC; None for ids of another form."""
    if not re.fullmatch(r"\d{15}-\d{7}-[0-9a-f]{4}", run_id):
        return None
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=_LAST_MS - int(run_id[:15]))
