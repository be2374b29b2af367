"""What the user sees, and the log that keeps all of it."""

from __future__ import annotations

import io
import os
import sys
from dataclasses import dataclass
from typing import TextIO

from environment import mask


@dataclass(frozen=True)
class Marks:
    """The three outcomes of a checklist line, in what the terminal can show."""

    passed: str
    failed: str
    not_run: str


def prepare_stdout() -> None:
    """Show each line at once, and never fail on a character the terminal lacks."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True, errors="replace")


def choose_marks(encoding: str | None) -> Marks:
    """Return tick and cross where the encoding has them, else plain ASCII."""
    marks = Marks("✓", "✗", "·")
    try:
        (marks.passed + marks.failed + marks.not_run).encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return Marks("[ok]", "[FAIL]", "[--]")
    return marks


class Console:
    """Prints lines and logs them, with secrets masked; a broken sink costs no more than itself."""

    def __init__(self, secrets: list[str]) -> None:
        self._log: TextIO = io.StringIO()
        self._secrets = secrets
        self.marks = choose_marks(getattr(sys.stdout, "encoding", None))

    def open_log(self, log: TextIO) -> None:
        """Log to a file from now on."""
        self._log = log

    def say(self, line: str = "") -> None:
        """Print a line and log it."""
        try:
            print(mask(line, self._secrets), flush=True)
        except OSError:
            # The reader is gone ("copier copy … | head"). Python flushes once more at exit, and
            # a failure there would be an exit status that makes Copier delete the project.
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        self.log(line)

    def phase(self, name: str, text: str) -> None:
        """Print one step of the work as `name  text`."""
        self.say(f"  {name:<12} {text}")

    def log(self, line: str) -> None:
        """Add a line to the log only."""
        try:
            self._log.write(mask(line, self._secrets) + "\n")
        except OSError as error:
            self._log = io.StringIO()
            self.say(f"The log ends here, it cannot be written: {error.strerror}")

    def mask(self, line: str) -> str:
        """Return the line as it may be stored."""
        return mask(line, self._secrets)
