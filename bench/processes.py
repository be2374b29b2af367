"""Child processes: run one to its end and know what it cost; the mock server."""

import os
import signal
import socket
import subprocess
import tempfile
import threading
import time
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from . import environments

TIMEOUT = 120.0  # seconds; nothing here takes so long unless it hangs


@dataclass(frozen=True)
class Finished:
    """A process that ended; its CPU seconds include those of the children it waited for."""

    code: int
    wall: float
    cpu: float
    stdout: str
    stderr: str

    def last_line(self) -> str:
        """Return the last line it printed."""
        return (self.stdout.strip().splitlines() or [""])[-1]


def run(command: list[str], environment: dict[str, str], cwd: Path | None = None) -> Finished:
    """Run a command to its end, killing it after TIMEOUT seconds."""
    with tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:
        start = time.perf_counter()
        process = subprocess.Popen(
            command,
            env=environment,
            cwd=cwd or environments.ROOT,
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            start_new_session=True,
        )
        timer = threading.Timer(TIMEOUT, os.killpg, (process.pid, signal.SIGKILL))
        timer.start()
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - start
        timer.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        stdout.seek(0)
        stderr.seek(0)
        return Finished(
            code=process.returncode,
            wall=wall,
            cpu=usage.ru_utime + usage.ru_stime,
            stdout=stdout.read().decode(errors="replace"),
            stderr=stderr.read().decode(errors="replace"),
        )


class MockServer:
    """The mock server in a process of its own, for the length of a `with` block."""

    def __enter__(self) -> str:
        """Start it and return its address."""
        port = int(os.environ.get("BENCH_PORT") or free_port())
        python = environments.python("mock_server")
        self.process = subprocess.Popen(
            [python, "-m", "bench.mock", "--port", str(port)],
            env=environments.clean(),
            cwd=environments.ROOT,
            stdout=subprocess.DEVNULL,
        )
        address = f"http://127.0.0.1:{port}"
        self._wait(address)
        return address

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop it."""
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(5)

    def _wait(self, address: str) -> None:
        for _ in range(100):
            try:
                urllib.request.urlopen(address + "/_health", timeout=1).close()
                return
            except OSError:
                time.sleep(0.05)
        self.process.kill()
        raise SystemExit(f"the mock server did not start on {address}; is the port free?")


def free_port() -> int:
    """Return a port of this machine that nobody listens on."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])
