"""Clients of one server, in a process of their own: python -m bench.load_client JOB

JOB is JSON; what came of it is one JSON object on the last line. Every client asks its questions
one after another, each in a session and on a connection of its own. Slow ones ask once and read
1,000 bytes a second as long as the others are at it.
"""

# mypy: disable-error-code="import-not-found"

import asyncio
import json
import re
import socket
import sys
from dataclasses import dataclass, field
from string import Template
from time import perf_counter

import uvloop

from .adapter import Json
from .mock.behaviour import parse

PROMPT = "Tell me a story"
RATE = 1_000  # bytes per second of a slow client
TIMEOUT = 60.0


@dataclass
class Job:
    """What to ask and how often, and the mock's behaviour, which says what has to come.

    After `limit` seconds no more questions are asked.
    """

    port: int
    request: dict[str, str]
    text: str
    behaviour: str
    clients: int
    questions: int
    limit: float = TIMEOUT
    slow: int = 0
    seconds: float = 0.0
    name: str = ""
    first: list[float] = field(default_factory=list)
    whole: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def message(self, session: str, user: str) -> bytes:
        """Return a request; the server closes the connection after its answer."""
        words = {"prompt": PROMPT, "session": session, "user": user}
        body = Template(self.request["body"]).substitute(words).encode()
        head = f"POST {self.request['path']} HTTP/1.1\r\nhost: 127.0.0.1:{self.port}\r\n"
        head += f"content-type: {self.request['content_type']}\r\naccept: text/event-stream\r\n"
        return f"{head}connection: close\r\ncontent-length: {len(body)}\r\n\r\n".encode() + body


async def run(job: Job) -> Json:
    """Let all clients ask; return the seconds to the first text and to the end of every answer."""
    slow = [asyncio.create_task(read_slowly(job, number)) for number in range(job.slow)]
    await asyncio.sleep(job.seconds / 4)
    start = perf_counter()
    await asyncio.gather(*(client(job, number) for number in range(job.clients)))
    seconds = perf_counter() - start
    await asyncio.sleep(max(0.0, job.seconds * 3 / 4 - seconds))
    waiting = [task for task in slow if not task.done()]
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    job.errors += ["a slow client was cut off"] * (job.slow - len(waiting))
    return {"seconds": seconds, "first": job.first, "whole": job.whole, "errors": job.errors}


async def client(job: Job, number: int) -> None:
    """Ask one question after another."""
    start = perf_counter()
    for question in range(job.questions):
        if perf_counter() - start > job.limit:
            return
        message = job.message(f"{job.name}-{number}-{question}", f"user-{number}")
        try:
            async with asyncio.timeout(TIMEOUT):
                await ask(job, message)
        except (OSError, ValueError) as error:
            job.errors.append(repr(error)[:300])


async def ask(job: Job, message: bytes) -> None:
    """Ask one question and check its answer; raises `ValueError` for a wrong one."""
    start, first, raw, pattern = perf_counter(), None, bytearray(), re.compile(job.text.encode())
    reader, writer = await asyncio.open_connection("127.0.0.1", job.port)
    writer.write(message)
    while data := await reader.read(1 << 16):
        raw += data
        if first is None and pattern.search(raw):
            first = perf_counter() - start
    whole = perf_counter() - start
    writer.close()
    body = unchunk(bytes(raw)).decode()
    if first is None or "".join(re.findall(job.text, body)) != parse(job.behaviour).text:
        raise ValueError(f"wrong answer: {raw[:150]!r} … {raw[-100:]!r}")
    job.first.append(first)
    job.whole.append(whole)


def unchunk(raw: bytes) -> bytes:
    """Return the body of a response whose chunks are all there."""
    rest = raw.partition(b"\r\n\r\n")[2]
    pieces: list[bytes] = []
    while rest:
        size, _, rest = rest.partition(b"\r\n")
        length = int(size, 16)
        if not length:
            return b"".join(pieces)
        pieces.append(rest[:length])
        rest = rest[length + 2 :]
    raise ValueError(f"the answer was cut off: {raw[:150]!r} … {raw[-100:]!r}")


async def read_slowly(job: Job, number: int) -> None:
    """Ask one question and read its answer slowly, through buffers as small as they get."""
    loop = asyncio.get_running_loop()
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        connection.setblocking(False)
        await loop.sock_connect(connection, ("127.0.0.1", job.port))
        await loop.sock_sendall(connection, job.message(f"slow-{number}", f"slow-{number}"))
        more = True
        while more:
            more = bool(await loop.sock_recv(connection, RATE))
            await asyncio.sleep(1)


if __name__ == "__main__":
    print(json.dumps(uvloop.run(run(Job(**json.loads(sys.argv[1]))))))
