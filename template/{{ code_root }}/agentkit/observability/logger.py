"""A small structured logger: levels, a context, exceptions written out for real. Never raises."""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Literal, TextIO, get_args

from .redact import mask, safe_sanitize

Level = Literal["debug", "info", "warn", "error"]
LEVELS: tuple[Level, ...] = get_args(Level)


class Logger:
    """Writes lines `time LEVEL [context] message {meta}` to a stream (default: stderr).

    `meta` may be anything; exceptions in it keep type, message, traceback and cause, and secrets
    are masked. Messages below `level` cost one comparison.
    """

    def __init__(self, context: str, level: Level = "info", stream: TextIO | None = None) -> None:
        self.context = context
        self.level = level
        self._stream = stream
        self._threshold = LEVELS.index(level)

    @classmethod
    def from_level_string(cls, context: str, text: str) -> Logger:
        """Return a logger for a level written by a person; an unknown one warns and means debug."""
        level = text.strip().lower()
        level = "warn" if level == "warning" else level
        for known in LEVELS:
            if level == known:
                return cls(context, known)
        logger = cls(context, "debug")
        logger.warn(f'unknown log level "{text}", using debug; known: {", ".join(LEVELS)}')
        return logger

    def child(self, context: str) -> Logger:
        """Return a logger of the same level and stream for a part of this one's context."""
        return Logger(f"{self.context}:{context}", self.level, self._stream)

    def debug(self, message: str, meta: Any = None) -> None:
        """Write what only helps to find a fault."""
        self._write(0, message, meta)

    def info(self, message: str, meta: Any = None) -> None:
        """Write what happens in normal operation."""
        self._write(1, message, meta)

    def warn(self, message: str, meta: Any = None) -> None:
        """Write what was worked around."""
        self._write(2, message, meta)

    def error(self, message: str, error_or_meta: Any = None) -> None:
        """Write what failed, with the exception or other facts."""
        self._write(3, message, error_or_meta)

    def _write(self, level: int, message: str, meta: Any) -> None:
        if level < self._threshold:
            return
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        line = f"{now} {LEVELS[level].upper():5} " + mask(f"[{self.context}] {message}")
        if meta is not None:
            line += " " + json.dumps(safe_sanitize(meta), ensure_ascii=False)
        line = line.replace("\r", "\\r").replace("\n", "\\n") + "\n"
        stream = self._stream or sys.stderr
        with suppress(OSError, ValueError, AttributeError):  # full, closed, or no stderr at all
            encoding = getattr(stream, "encoding", None) or "utf-8"
            stream.write(line.encode(encoding, "backslashreplace").decode(encoding))
            stream.flush()
