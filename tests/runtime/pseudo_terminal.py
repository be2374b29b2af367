"""A program on a terminal of its own, and somebody who reads and types there."""

from __future__ import annotations

import os
import select
import subprocess
import sys
from pathlib import Path
from types import TracebackType

from . import program

MODULE = program.__name__
PATIENCE = 30.0  # seconds until a program that says nothing more has failed the test
CTRL_C, CTRL_D, UP = "\x03", "\x04", "\x1b[A"


def child_environment(**variables: str) -> dict[str, str]:
    """Return this environment with the path that this process imports from."""
    return os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "TERM": "xterm"} | variables


class PseudoTerminal:
    """Runs `program.py` with arguments; `seen` is all that the terminal showed."""

    def __init__(self, *arguments: str) -> None:
        self.seen = ""
        self._arguments = arguments
        self._read_to = 0

    def __enter__(self) -> PseudoTerminal:
        import pty

        self._descriptor, theirs = pty.openpty()
        self._process = subprocess.Popen(
            [sys.executable, "-m", MODULE, *self._arguments],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
            env=child_environment(),
            cwd=Path.cwd(),
        )
        os.close(theirs)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._descriptor)

    def expect(self, text: str) -> None:
        """Read until the text has come, behind what was expected before."""
        while (found := self.seen.find(text, self._read_to)) < 0:
            assert self._read(), f"{text!r} did not come: {self.seen!r}"
        self._read_to = found + len(text)

    def insist(self, key: str, text: str) -> None:
        """Press a key until the text comes: readline misses a signal right behind its prompt."""
        for _ in range(int(PATIENCE)):
            self.type(key)
            while self._read(patience=1.0):
                if text in self.seen[self._read_to :]:
                    return
        raise AssertionError(f"{text!r} did not come: {self.seen!r}")

    def type(self, text: str) -> None:
        """Press keys."""
        os.write(self._descriptor, text.encode())

    def end(self) -> int:
        """Read until the program has ended and return its exit code."""
        while self._read():
            continue
        return self._process.wait(PATIENCE)

    def _read(self, patience: float = PATIENCE) -> bool:
        ready, _, _ = select.select([self._descriptor], [], [], patience)
        if not ready:
            return False
        try:
            data = os.read(self._descriptor, 65_536)
        except OSError:  # what Linux says when nobody holds the other side any more
            return False
        self.seen += data.decode(errors="replace").replace("\r\n", "\n")
        return bool(data)
