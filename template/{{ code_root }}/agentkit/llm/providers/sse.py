"""Server-sent events, read from bytes: no object per line, no JSON that nobody needs."""

from __future__ import annotations

from ...errors import MalformedReply

LONGEST_EVENT = 8 * 2**20  # bytes


class EventReader:
    """Cuts a stream's bytes into events (https://html.spec.whatwg.org/#server-sent-events).

    Accepts LF, CR, CRLF, comments, several data lines in an event, and an event that ends with the
    stream. Lines other than `data:` are skipped.
    """

    def __init__(self, provider: str) -> None:
        self._provider = provider
        self._rest = bytearray()  # an event that has begun
        self._held = b""  # a CR: its LF may be in the next chunk

    def feed(self, chunk: bytes) -> list[bytes]:
        """Return the data of the events that a chunk completes, in order.

        Raises `MalformedReply` when an event is longer than 8 MB.
        """
        if self._held or b"\r" in chunk:
            chunk = self._with_line_feeds(chunk)
        if self._rest:
            searched = len(self._rest) - 1
            self._rest += chunk
            if self._rest.find(b"\n\n", searched) < 0:
                if len(self._rest) > LONGEST_EVENT:
                    raise MalformedReply(f"{self._provider} sent an event that is longer than 8 MB")
                return []
            chunk = bytes(self._rest)
        elif chunk[-2:] == b"\n\n" and chunk.find(b"\n") == len(chunk) - 2:
            event = _data(chunk[:-2])  # nearly all of them: one event and no more
            return [event] if event else []
        *events, rest = chunk.split(b"\n\n")
        if rest or self._rest:
            self._rest = bytearray(rest)
        return [data for event in events if (data := _data(event))]

    def end(self) -> list[bytes]:
        """Return the data of the event that the end of the stream completes, if there is one."""
        event = _data(bytes(self._rest))
        return [event] if event else []

    def _with_line_feeds(self, chunk: bytes) -> bytes:
        chunk = self._held + chunk
        self._held = b"\r" if chunk.endswith(b"\r") else b""
        chunk = chunk.removesuffix(b"\r")
        return chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


def _data(event: bytes) -> bytes:
    if event[:6] == b"data: " and b"\n" not in event:
        return event[6:]
    lines = (line[5:].removeprefix(b" ") for line in event.split(b"\n") if line[:5] == b"data:")
    return b"\n".join(lines)
