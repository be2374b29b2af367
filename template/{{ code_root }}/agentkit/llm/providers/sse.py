"""Server-sent events, read from bytes: no object per line, no JSON that nobody needs."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator


async def data_events(chunks: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
    """Yield the data of each event (https://html.spec.whatwg.org/#server-sent-events).

    Accepts LF, CRLF, comments, several data lines in an event, and an event that ends with the
    stream. Lines other than `data:` are skipped.
    """
    rest = b""
    async for chunk in chunks:
        buffer, held = rest + chunk if rest else chunk, b""
        if b"\r" in buffer:
            if buffer.endswith(b"\r"):  # the LF may be in the next chunk
                buffer, held = buffer[:-1], b"\r"
            buffer = buffer.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        *events, rest = buffer.split(b"\n\n")
        rest += held
        for event in events:
            if event.startswith(b"data: ") and b"\n" not in event:  # nearly all of them
                yield event[6:]
            elif data := _data(event):
                yield data
    data = _data(rest.removesuffix(b"\r"))
    if data:
        yield data


def _data(event: bytes) -> bytes:
    lines = (line[5:].removeprefix(b" ") for line in event.split(b"\n") if line[:5] == b"data:")
    return b"\n".join(lines)
