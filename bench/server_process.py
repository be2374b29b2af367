"""A server under load, in a process of its own: what it takes of CPU and memory."""

import os
import signal
import socket
import subprocess
import time
from pathlib import Path
from types import TracebackType

from . import environments, launch
from .catalog import AdapterInfo
from .processes import free_port

PATIENCE = 60.0  # seconds until it listens
TICKS = os.sysconf("SC_CLK_TCK")


class ServerProcess:
    """A module of `servers/`, for the length of a `with` block; its files are in a new folder."""

    def __init__(self, info: AdapterInfo, base: str, scratch: Path) -> None:
        self.info, self.port = info, free_port()
        environment = launch.variables(info, scratch)
        self.folder = Path(environment["BENCH_DEBUG_DIR"])
        command = [environments.python(info.venv), "-m", f"bench.servers.{info.name}"]
        with (self.folder / "server.log").open("wb") as log:
            self.process = subprocess.Popen(
                [*command, str(self.port), base],
                env=environment,
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def __enter__(self) -> "ServerProcess":
        """Wait until it listens."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline and self.process.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return self
            except OSError:
                time.sleep(0.1)
        self.process.kill()
        raise RuntimeError(f"{self.info.name} did not start: {self.log()[-300:]}")

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop it, whatever it does."""
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def log(self) -> str:
        """Return what it printed."""
        return (self.folder / "server.log").read_text(errors="replace")

    def cpu(self) -> float:
        """Return the CPU seconds it took so far (Linux)."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS
