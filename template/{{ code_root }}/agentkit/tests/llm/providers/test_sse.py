"""Server-sent events are cut right wherever the network cuts the bytes."""

from __future__ import annotations

import pytest

from ....errors import MalformedReply
from ....llm.providers.sse import LONGEST_EVENT, EventReader


def events(*parts: bytes) -> list[bytes]:
    """Return the data of the events in these bytes, as they come from a network."""
    reader = EventReader("openai")
    return [event for part in parts for event in reader.feed(part)] + reader.end()


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
        (b"data: \n\n", []),
        (b"datax: a\n\n", []),
        ("data: Nghĩa là 🌍\n\n".encode(), ["Nghĩa là 🌍".encode()]),
    ],
)
def test_events_are_found_however_the_bytes_are_cut(stream: bytes, expected: list[bytes]) -> None:
    """LF, CR and CRLF, comments, other fields, several data lines, and an end without a blank."""
    for size in (1, 2, 3, 7, 1000):
        parts = [stream[start : start + size] for start in range(0, len(stream), size)]
        assert events(*parts) == expected, size


def test_an_event_comes_as_soon_as_it_is_complete() -> None:
    """Nothing waits for the next event: a person is reading."""
    reader = EventReader("openai")
    assert reader.feed(b"data: a\n\nda") == [b"a"]
    assert reader.feed(b"ta: b\n\n") == [b"b"]
    assert reader.end() == []


@pytest.mark.parametrize("piece", [b"data: " + b"x" * 2**20, b"\n" + b"x" * 2**20, b"x" * 2**20])
def test_an_event_without_an_end_is_given_up(piece: bytes) -> None:
    """A server that never ends one, or a line, would fill the memory."""
    with pytest.raises(MalformedReply, match="longer than 8 MB"):
        events(*[piece] * (LONGEST_EVENT // 2**20 + 1))
