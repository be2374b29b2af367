"""Undoes a body's Content-Encoding in small pieces, so that a reader can stop at its limit.

HTTP clients inflate whatever arrived in one go, which turns 64 kB of a bomb into 64 MB.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator

from ..errors import FetchError

ACCEPTED = "gzip, deflate"
PIECE = 65_536  # bytes at most that one step inflates to

Decode = Callable[[bytes], Iterator[bytes]]

_GZIP_START = 0x1F


def decoder(encoding: str) -> Decode:
    """Return what decodes a body of this Content-Encoding, chunk after chunk.

    Raises `FetchError` for an encoding that was not asked for; the decoder raises it for a body
    that is damaged.
    """
    names = [name for name in encoding.lower().replace(" ", "").split(",") if name]
    names = [name for name in names if name not in ("identity", "none", "utf-8")]
    if not names:
        return lambda data: iter((data,))
    if len(names) > 1 or names[0] not in ("gzip", "x-gzip", "deflate"):
        raise FetchError(f"the server sent content-encoding {encoding[:40]!r} without being asked")
    return _Inflater().feed


class _Inflater:
    def __init__(self) -> None:
        self._stream: zlib._Decompress | None = None

    def feed(self, data: bytes) -> Iterator[bytes]:
        try:
            yield from self._feed(data)
        except zlib.error:
            raise FetchError("the body is damaged: its compression does not add up") from None

    def _feed(self, data: bytes) -> Iterator[bytes]:
        piece = b""
        while data or len(piece) == PIECE:
            if self._stream is None:
                self._stream = zlib.decompressobj(_window(data[0]))
            elif self._stream.eof:
                if not data or data[0] != _GZIP_START:
                    return  # padding after the end; browsers ignore it as well
                self._stream = zlib.decompressobj(_window(data[0]))
            piece = self._stream.decompress(data, PIECE)
            data = self._stream.unused_data if self._stream.eof else self._stream.unconsumed_tail
            if piece:
                yield piece


def _window(first: int) -> int:
    """Return zlib's name for the format: gzip, zlib, or the bare deflate that some servers send."""
    if first == _GZIP_START:
        return zlib.MAX_WBITS | 16
    return zlib.MAX_WBITS if first & 0x0F == 8 else -zlib.MAX_WBITS
