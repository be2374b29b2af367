"""Unpacking bodies: step by step, in every form that servers send, and what is refused."""

from __future__ import annotations

import gzip
import zlib

import pytest

from ...content.content_encoding import PIECE, decoder
from ...errors import FetchError

TEXT = b"some text, " * 20_000


def unpack(encoding: str, data: bytes, size: int = 1_000) -> bytes:
    """Decode data that arrives in chunks of `size` bytes."""
    decode = decoder(encoding)
    chunks = (data[start : start + size] for start in range(0, len(data), size))
    return b"".join(piece for chunk in chunks for piece in decode(chunk))


def bare(data: bytes) -> bytes:
    """Return data as deflate without zlib's frame."""
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush()


@pytest.mark.parametrize("encoding", ["", "identity", "Identity, none", "utf-8"])
def test_a_plain_body_stays_as_it_is(encoding: str) -> None:
    """Some servers name a charset here."""
    assert unpack(encoding, TEXT) == TEXT


@pytest.mark.parametrize("size", [1, 7, 1_000, 10_000_000])
@pytest.mark.parametrize(
    ("encoding", "data"),
    [
        ("gzip", gzip.compress(TEXT)),
        ("X-GZIP", gzip.compress(TEXT)),
        ("deflate", zlib.compress(TEXT)),
        ("deflate", bare(TEXT)),
        ("gzip", gzip.compress(TEXT[:100]) + gzip.compress(TEXT[100:])),
        ("gzip", gzip.compress(TEXT) + b"\0\0 padding"),
        ("gzip", zlib.compress(TEXT)),
    ],
)
def test_a_packed_body_is_unpacked(encoding: str, data: bytes, size: int) -> None:
    """In whatever chunks it comes: gzip also in parts and with padding, deflate with no frame."""
    assert unpack(encoding, data, size) == TEXT


def test_no_step_unpacks_more_than_a_piece() -> None:
    """A caller can stop before a bomb has grown."""
    pieces = decoder("gzip")(gzip.compress(b"\0" * 10_000_000))
    assert len(next(pieces)) == PIECE
    assert max(map(len, pieces)) <= PIECE


def test_a_body_cut_short_gives_what_there_is() -> None:
    """What was read of a page can still be of use."""
    assert TEXT.startswith(unpack("gzip", gzip.compress(TEXT)[:-300]))


@pytest.mark.parametrize("data", [b"<p>not packed", b"\x1f\x8b\x08 broken"])
def test_a_damaged_body_is_a_fetch_error(data: bytes) -> None:
    """One line says so."""
    with pytest.raises(FetchError, match=r"^the body is damaged"):
        unpack("gzip", data)


@pytest.mark.parametrize("encoding", ["br", "zstd", "gzip, gzip", "gzip, br", "compress"])
def test_an_encoding_that_was_not_asked_for_is_refused(encoding: str) -> None:
    """Unpacked in one go, or twice, a bomb would get through."""
    with pytest.raises(FetchError, match=f"content-encoding '{encoding}' without being asked"):
        decoder(encoding)
