"""Who holds something that others wait for, and whether that process is still there."""

from __future__ import annotations

import os
import secrets
import socket

LEASE = 15.0  # seconds a turn stays taken after its process was last heard of
RENEWAL = 5.0  # seconds between two signs of life
POLL = 0.1  # seconds between two looks at a turn that another process holds


def new_owner() -> str:
    """Return a name that says which process it belongs to, and that nobody else has."""
    return f"{_host()}:{os.getpid()}:{secrets.token_hex(8)}"


def is_dead(owner: str) -> bool:
    """Tell whether the process of an owner has ended; False where this machine cannot know."""
    host, process, _ = owner.rsplit(":", 2)
    if os.name != "posix" or host != _host():
        return False
    try:
        os.kill(int(process), 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False


def _host() -> str:
    """Return a name for the space in which a process id means one process."""
    try:
        space = os.stat("/proc/self/ns/pid").st_ino  # containers can share a host name
    except OSError:
        space = 0
    return f"{socket.gethostname()}/{space}"
