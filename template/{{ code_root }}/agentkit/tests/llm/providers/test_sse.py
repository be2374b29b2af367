"""Server-sent events are cut right wherever the network cuts the bytes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

import pytest

from ....llm.providers.sse import data_events


async def chunks(parts: Sequence[bytes]) -> AsyncIterator[bytes]:
    """Yield the parts as they come from a network."""
    for part in parts:
        yield part


async def events(*parts: bytes) -> list[bytes]:
    """Return the data of the events in these bytes."""
    return [event async for event in data_events(chunks(parts))]


@pytest.mark.parametrize(
    ("stream", "expected"),
    [
        (b'data: {"a":1}\n\ndata: [DONE]\n\n', [b'{"a":1}', b"[DONE]"]),
        (b"data: a\r\n\r\ndata: b\r\n\r\n", [b"a", b"b"]),
        (b"data: a\r\rdata: b\r\r", [b"a", b"b"]),
        (b"data:a\n\ndata:  b\n\n", [b"a", b" b"]),
        (b": keep-alive\n\ndata: a\n\n: OPENROUTER PROCESSING\n\n", [b"a"]),
        (b"event: message\nid: 7\nretry: 10\ndata: a\n\n", [b"a"]),
        (b"data: one\ndata: two\n\n", [b"one\ntwo"]),
        (b"data: a\n\n\n\ndata: b\n\n", [b"a", b"b"]),
        (b"data: a\n\ndata: b", [b"a", b"b"]),
        (b"data: a\n\ndata: b\r\n\r", [b"a", b"b"]),
        (b"", []),
        (b"\n\n", []),
        (b"data:\n\n", []),
        (b"datax: a\n\n", []),
        ("data: Nghĩa là 🌍\n\n".encode(), ["Nghĩa là 🌍".encode()]),
    ],
)
async def test_events_are_found_however_the_bytes_are_cut(
    stream: bytes, expected: list[bytes]
) -> None:
    """LF, CR and CRLF, comments, other fields, several data lines, and an end without a blank."""
    for size in (1, 2, 3, 7, 1000):
        parts = [stream[start : start + size] for start in range(0, len(stream), size)]
        assert await events(*parts) == expected, size


async def test_an_event_comes_as_soon_as_it_is_complete() -> None:
    """Nothing waits for the next event: a person is reading."""
    seen: list[bytes] = []

    async def network() -> AsyncIterator[bytes]:
        yield b"data: a\n\nda"
        assert seen == [b"a"]
        yield b"ta: b\n\n"
        assert seen == [b"a", b"b"]

    async for event in data_events(network()):
        seen.append(event)
    assert seen == [b"a", b"b"]
