"""`serve` as a process of its own: clients that go away, and the signal to end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from .pseudo_terminal import MODULE, child_environment

SECONDS = 20.0  # until something that must happen is given up


@pytest.fixture
def server(tmp_path: Path, loopback: None) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A running server whose agent begins to answer `wait` and never ends, and its address."""
    command = [sys.executable, "-m", MODULE, "serve", "--port", "0", "--grace", "0.1"]
    process = subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, text=True, env=child_environment()
    )
    assert process.stdout is not None
    try:
        yield process, process.stdout.readline().split()[-1]
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def begin(response: httpx2.Response) -> Iterator[str]:
    """Read the stream up to the first text, and return the rest of its lines."""
    lines = response.iter_lines()
    assert any('"text"' in line for line in lines)
    return lines


def test_who_goes_away_ends_the_turn(server: tuple[subprocess.Popen[str], str]) -> None:
    """The log says that the run was cancelled."""
    _, url = server
    with httpx2.Client(base_url=url) as http:
        with http.stream("POST", "/chat/stream", json={"input": "wait"}) as response:
            begin(response)
        until = time.monotonic() + SECONDS
        outcome = "unfinished"
        while outcome == "unfinished" and time.monotonic() < until:
            (run,) = http.get("/runs").json()["runs"]
            outcome = run["outcome"]
    assert outcome == "cancelled"


@pytest.mark.skipif(os.name != "posix", reason="other systems end a process at once")
def test_a_signal_ends_streams_and_the_process(
    server: tuple[subprocess.Popen[str], str],
) -> None:
    """A turn that does not end in time is stopped; its client is told, and the stream whole."""
    process, url = server
    with httpx2.stream("POST", f"{url}/chat/stream", json={"input": "wait"}) as response:
        lines = begin(response)
        process.send_signal(signal.SIGTERM)
        *_, error, done = filter(None, lines)
    assert json.loads(error.removeprefix("data: "))["error"]["type"] == "shutting_down"
    assert done == "data: [DONE]"
    assert process.wait(SECONDS) == -signal.SIGTERM
