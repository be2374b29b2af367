"""One child process: its output line by line, a sign of life, a deadline for its whole tree."""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO

_TICK = 0.2
_KEPT_LINES = 5000


@dataclass(frozen=True)
class Finished:
    """How a child ended: `code` is None when the deadline came first."""

    code: int | None
    lines: list[str]
    seconds: float


@dataclass(frozen=True)
class Watch:
    """Who is told about a running child: each line, and the seconds so far every `beat` seconds."""

    on_line: Callable[[str], None]
    on_wait: Callable[[float], None]
    beat: float = 4.0


def run(
    command: list[str], folder: Path, env: dict[str, str], deadline: float, watch: Watch
) -> Finished:
    """Run a command until it ends or until `deadline` (of time.monotonic), then end its tree.

    OSError when it cannot be started. Nothing that it started outlives this call.
    """
    started = time.monotonic()
    process = _start(command, folder, env)
    try:
        lines = _follow(process, started, deadline, watch)
        code = _wait(process, deadline)
    finally:
        _end_tree(process)
    return Finished(code, lines, time.monotonic() - started)


def _start(command: list[str], folder: Path, env: dict[str, str]) -> subprocess.Popen[str]:
    # A group of its own can be ended as a whole, and a Ctrl-C reaches it only through us.
    if sys.platform == "win32":
        flags = subprocess.CREATE_NEW_PROCESS_GROUP
    else:
        flags = 0
    return subprocess.Popen(
        command,
        cwd=folder,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        start_new_session=sys.platform != "win32",
        creationflags=flags,
    )


def _follow(
    process: subprocess.Popen[str], started: float, deadline: float, watch: Watch
) -> list[str]:
    assert process.stdout is not None
    incoming: queue.SimpleQueue[str | None] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(process.stdout, incoming), daemon=True).start()
    lines: deque[str] = deque(maxlen=_KEPT_LINES)
    next_beat = started + watch.beat
    while (now := time.monotonic()) < deadline:
        if now >= next_beat:
            watch.on_wait(now - started)
            next_beat = now + watch.beat
        ended = process.poll() is not None
        try:
            line = incoming.get(timeout=min(_TICK, deadline - now))
        except queue.Empty:
            # Something that the child started may hold the pipe open for ever.
            if ended:
                break
            continue
        if line is None:
            break
        lines.append(line)
        watch.on_line(line)
    return list(lines)


def _read(stream: IO[str], incoming: queue.SimpleQueue[str | None]) -> None:
    with stream:
        for line in stream:
            incoming.put(line.rstrip("\r\n"))
    incoming.put(None)


def _wait(process: subprocess.Popen[str], deadline: float) -> int | None:
    try:
        return process.wait(timeout=max(0.0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        return None


def _end_tree(process: subprocess.Popen[str]) -> None:
    if sys.platform == "win32":
        if process.poll() is None:
            command = ["taskkill", "/F", "/T", "/PID", str(process.pid)]
            subprocess.run(command, capture_output=True, check=False)
    else:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    process.wait()
