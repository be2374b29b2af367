"""A process of its own that uses a session store."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from ...session import sqlite_store

PACKAGE = Path(sqlite_store.__file__).parents[1]


def run_process(script: str, path: Path) -> subprocess.Popen[str]:
    """Start a process that runs a script with `store` made; its output is a pipe."""
    head = (
        "import asyncio, os, sys\n"
        f"sys.path.append({str(PACKAGE.parent)!r})\n"
        f"from {PACKAGE.name}.messages import Message\n"
        f"from {PACKAGE.name}.session.sqlite_store import SqliteSessionStore\n"
        f"store = SqliteSessionStore({str(path)!r})\n"
    )
    return subprocess.Popen(
        [sys.executable, "-c", head + script], stdout=subprocess.PIPE, text=True
    )
