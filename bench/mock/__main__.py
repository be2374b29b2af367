"""python -m bench.mock --port 8089"""

# mypy: disable-error-code="import-not-found"

import argparse
import asyncio
import signal

import uvloop

from .server import Connection


async def serve(port: int) -> None:
    """Serve until the process is told to end."""
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    server = await loop.create_server(Connection, "127.0.0.1", port, backlog=4096)
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    print(f"mock server on 127.0.0.1:{port}", flush=True)
    await stop.wait()
    server.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=8089)
    uvloop.run(serve(parser.parse_args().port))
