"""Approval of tools by the person at the terminal."""

from __future__ import annotations

import asyncio
import os
import sys

from ..messages import ToolCall
from ..observability.redact import mask_known
from ..tools.registry import Approve
from .live_view import LiveView
from .terminal import say_aside


def ask_on_terminal(view: LiveView) -> Approve:
    """Return an approver that asks y/N, one call at a time; anything but y or yes means no."""
    turn = asyncio.Lock()

    async def approve(call: ToolCall) -> bool:
        async with turn:
            _forget_typed_ahead()
            # The whole call is shown: what is cut off could be what matters.
            question = mask_known(f"run {call.name} {call.arguments_text}? [y/N] ")
            with view.question(question):
                answer = await _read_line()
                if not answer.endswith("\n") or not sys.stdin.isatty():
                    say_aside("")  # nobody pressed Enter there
        return answer.strip().lower() in ("y", "yes")

    return approve


def _forget_typed_ahead() -> None:
    """Drop what was typed before the question was there: it cannot be an answer to it."""
    if not sys.stdin.isatty():
        return
    try:
        import termios
    except ImportError:  # Windows
        return
    termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)


async def _read_line() -> str:
    """Read a line; while a person thinks, other tools go on and Ctrl-C is heard."""
    if not sys.stdin.isatty():
        return sys.stdin.readline()  # what Python has buffered of a pipe is out of a poll's sight
    loop, descriptor = asyncio.get_running_loop(), sys.stdin.fileno()
    ready = asyncio.Event()
    try:
        loop.add_reader(descriptor, ready.set)
    except NotImplementedError:  # Windows
        return sys.stdin.readline()
    try:
        await ready.wait()
        return os.read(descriptor, 4096).decode(errors="replace")
    finally:
        loop.remove_reader(descriptor)
