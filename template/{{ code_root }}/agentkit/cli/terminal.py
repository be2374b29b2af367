"""Text on a terminal: made harmless, and kept within what the terminal can show."""

from __future__ import annotations

import os
import re
import shutil
import sys
from io import TextIOWrapper
from typing import TextIO, cast

import typer

from ..messages import Usage

PIPED_WIDTH = 200  # characters of a line that nobody's terminal limits

# Whole sequences (colours, cursor, titles, clipboard), then single controls, then marks that
# reverse the direction of text: they can make a command look like another one. No sequence goes
# past the beginning of the next, so that many without an end are not searched again and again.
_CONTROLS = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x90\x98\x9c-\x9f]*(?:\x07|\x1b\\|\x9c)"
    r"|\x1b[ -/]*[0-~]"
    r"|[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]"
)


class OutputLost(OSError):
    """Standard output takes nothing: the disk is full, or it is closed."""


def prepare_streams() -> None:
    """Open what is closed, and let no text fail on an encoding that lacks its characters.

    A closed standard input is empty; a closed standard output takes nothing, which is an error
    for those that have something to say; a closed standard error swallows what it gets.
    """
    sys.stdin = sys.stdin or _open_null(os.O_RDONLY, "r")
    sys.stdout = sys.stdout or _open_null(os.O_RDONLY, "w")
    sys.stderr = sys.stderr or _open_null(os.O_WRONLY, "w")
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")


def _open_null(flags: int, mode: str) -> TextIO:
    return cast("TextIO", open(os.open(os.devnull, flags), mode, encoding="utf-8"))


def say(text: str, nl: bool = True) -> None:
    """Write to stdout; raises `OutputLost` when it takes nothing."""
    try:
        typer.echo(text, nl=nl, color=colour())
    except BrokenPipeError:
        raise
    except OSError as error:
        sys.stdout = _open_null(os.O_WRONLY, "w")  # what is left over would fail at exit again
        raise OutputLost(error.errno, error.strerror, "standard output") from None


def say_aside(text: str, nl: bool = True) -> None:
    """Write to stderr; where that takes nothing, what is said there is lost."""
    try:
        typer.echo(text, nl=nl, err=True, color=colour())
    except OSError:
        sys.stderr = _open_null(os.O_WRONLY, "w")


def plain(text: str) -> str:
    """Return the text without what would drive a terminal; line breaks and tabs stay."""
    return _CONTROLS.sub("", text)


def one_line(text: str, width: int) -> str:
    """Return the beginning of the text as one line of at most `width` characters."""
    line = " ".join(plain(text[: width * 4]).split())
    return line if len(line) <= width and len(text) <= width * 4 else f"{line[: width - 3]}..."


def width(stream: TextIO) -> int:
    """Return how many characters a line of the stream has."""
    return shutil.get_terminal_size().columns if stream.isatty() else PIPED_WIDTH


def note(text: str) -> None:
    """Write a line about the work, dimly, to stderr."""
    say_aside(dim(plain(text)))


def dim(text: str) -> str:
    """Return the text in a style that steps back; streams that are no terminal drop it."""
    return typer.style(text, dim=True)


def complain(text: str) -> None:
    """Write one line about what is wrong to stderr."""
    label = typer.style("error:", fg="red", bold=True)
    say_aside(f"{label} {' '.join(plain(text).split())}")


def colour() -> bool | None:
    """Return False where the user wants no colour, None to let the stream decide."""
    return False if os.environ.get("NO_COLOR") else None


def amounts(usage: Usage, cost: float | None) -> str:
    """Return tokens and cost for people."""
    return f"{usage.input_tokens} in + {usage.output_tokens} out tokens, {dollars(cost)}"


def dollars(cost: float | None) -> str:
    """Return an amount of USD for people; None is an unknown price."""
    if cost is None:
        return "price unknown"
    return "<$0.0001" if 0 < cost < 0.00005 else f"${cost:.4f}"
