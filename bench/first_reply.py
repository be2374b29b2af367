"""A new process to its first reply, as a user's script: python -m bench.first_reply ADAPTER BASE"""

import asyncio
import os
import sys
from importlib import import_module


async def main() -> None:
    """Import, build the agent, ask once."""
    adapter = import_module(f"bench.adapters.{sys.argv[1]}").make(sys.argv[2])
    if not await adapter.one_turn("hi"):
        raise SystemExit("no reply")


asyncio.run(main())
os._exit(0)  # a peer's background threads are not part of the reply
