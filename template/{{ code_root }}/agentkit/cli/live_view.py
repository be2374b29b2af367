"""A conversation as it happens: the answer on stdout, everything else dimly on stderr."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO, cast

from ..llm.events import (
    Appended,
    Event,
    Finished,
    Retrying,
    TextDelta,
    ToolFinished,
    ToolProgress,
    ToolStarted,
)
from ..llm.result import GenerateResult
from ..messages import Message
from ..observability.redact import mask_known
from .terminal import dim, one_line, plain, say, say_aside, width


class LiveView:
    """Shows the events of turns.

    On a terminal text appears as it comes. Elsewhere the answer is written once it is final, since
    a reply that breaks off begins anew and nothing can be taken back. With `answer=False` only
    stderr is written to.
    """

    def __init__(self, answer: bool = True) -> None:
        self.log = cast("TextIO", _LogStream(self))
        self._answer = answer
        self._live = answer and sys.stdout.isatty()
        self._open_line: TextIO | None = None  # where text stands on the current line
        self._streamed = False
        self._held: list[str] | None = None

    def show(self, event: Event) -> None:
        """Show one event."""
        match event:
            case TextDelta():
                self._write(event.text)
            case Retrying():
                self._retry(event)
            case ToolStarted():
                name, arguments = event.call.name, event.call.arguments_text
                self.note(f"tool {name} {event.call.malformed or arguments}")
            case ToolProgress():
                total = "" if event.total is None else f"/{event.total:g}"
                self.note(f"tool {event.call.name} {event.done:g}{total} {event.message}")
            case ToolFinished():
                self._tool_finished(event)
            case Appended():
                self._appended(event.messages)
            case Finished():
                self._finished(event.result)

    def note(self, text: str) -> None:
        """Write one line about the work to stderr, cut to what fits."""
        self.write_aside(dim(one_line(mask_known(text), width(sys.stderr) - 1)) + "\n")

    def write_aside(self, text: str) -> None:
        """Write whole lines to stderr; while a question waits for its answer, they wait, too."""
        if self._held is not None:
            self._held.append(text)
            return
        self.end_line()
        say_aside(text, nl=False)

    @contextmanager
    def question(self, text: str) -> Iterator[None]:
        """Ask on stderr; nothing else is written until the block ends."""
        self.end_line()
        say_aside(plain(text), nl=False)
        held: list[str] = []
        self._held = held
        self._open_line = sys.stderr
        try:
            yield
            self._open_line = None
        finally:
            self._held = None
            for line in held:
                self.write_aside(line)

    def end_line(self) -> None:
        """Go to a new line if text stands on the current one."""
        if stream := self._open_line:
            self._open_line = None
            (say if stream is sys.stdout else say_aside)("")

    def leave_echo(self) -> None:
        """Go to a new line, also behind the ^C or ^D that a terminal shows."""
        if self._open_line is None and sys.stdin.isatty():
            self._open_line = sys.stderr
        self.end_line()

    def _write(self, text: str) -> None:
        text = plain(text)
        if self._live and text:
            self._streamed = True
            self._open_line = None if text.endswith("\n") else sys.stdout
            say(text, nl=False)

    def _retry(self, event: Retrying) -> None:
        self._streamed = False
        when = f" in {event.delay:.1f} s" if event.delay else ""
        self.note(f"trying again{when}: {event.reason}")

    def _tool_finished(self, event: ToolFinished) -> None:
        state = "failed" if event.result.is_error else "done"
        self.note(f"tool {event.call.name} {state} in {event.seconds:.1f} s: {event.result.text}")

    def _appended(self, messages: tuple[Message, ...]) -> None:
        last = messages[-1]
        if last.role == "assistant":
            if not self._streamed:  # not every provider streams
                self._write(last.text)
            self._streamed = False
            self.end_line()

    def _finished(self, result: GenerateResult) -> None:
        text = plain(result.text)
        if self._answer and not self._live and text:
            say(text, nl=not text.endswith("\n"))


class _LogStream(io.TextIOBase):
    """The logger's stderr, which never writes into a line of the answer."""

    def __init__(self, view: LiveView) -> None:
        self._view = view

    def write(self, text: str) -> int:
        self._view.write_aside(plain(text))
        return len(text)
