"""Kinds of content: the bytes first, then the declared type; what holds no text is refused."""

from __future__ import annotations

import re

import pytest

from ...content.media_type import kind_of
from ...errors import FetchError

URL = "https://a.example.com/x"


def kind(media_type: str, body: bytes) -> str:
    """Return the kind of a body with this declared type."""
    return kind_of(media_type, media_type, body, URL)


KINDS = (
    ("text/html", b"<p>x", "html"),
    ("text/html", b"just words", "html"),
    ("application/xhtml+xml", b"<?xml version='1.0'?><html>", "html"),
    ("application/xml", b"<?xml version='1.0'?>\n<!DOCTYPE html>\n<html>", "html"),
    ("text/html", b"%PDF-1.7 x", "pdf"),
    ("", b"\n%PDF-1.4", "pdf"),
    ("application/pdf", b"%PDF-1.4", "pdf"),
    ("application/pdf", b"<html>an error page", "html"),
    ("application/rss+xml", b"<?xml version='1.0'?><rss version='2.0'>", "feed"),
    ("text/xml", b"<!-- a --> <feed xmlns='x'>", "feed"),
    ("text/html", b"<rss>", "feed"),
    ("application/xml", b"<rdf:RDF xmlns:rdf='x'>", "feed"),
    ("application/xml", b"<urlset><url>", "text"),
    ("text/plain", b"<rss>", "text"),
    ("text/plain", b"<html>source", "text"),
    ("application/json", b'{"a": 1}', "text"),
    ("text/csv", b"a,b", "text"),
    ("application/x-yaml", b"a: 1", "text"),
    ("", b"<!doctype html><p>x", "html"),
    ("", b"  <html>", "html"),
    ("application/octet-stream", b"plain words", "text"),
    ("", b"[1, 2]", "text"),
    ("text/plain", b"BMW builds cars", "text"),
    ("text/plain", b"MZ and RIFF and ID3", "text"),
    ("text/plain", "\ufeffutf-16".encode("utf-16-le"), "text"),
)


def test_a_body_has_a_kind() -> None:
    """As it is declared, unless its bytes say otherwise."""
    found = [(media_type, body, kind(media_type, body)) for media_type, body, _ in KINDS]
    assert found == list(KINDS)


REFUSED = (
    ("image/png", b"anything", "image/png"),
    ("image/svg+xml", b"<svg>", "image/svg+xml"),
    ("video/mp4", b"x", "video/mp4"),
    ("application/zip", b"x", "application/zip"),
    ("application/vnd.ms-excel", b"x", "application/vnd.ms-excel"),
    ("application/vnd.openxmlformats-officedocument.wordprocessingml.document", b"x", "vnd"),
    ("text/html", b"\x89PNG\r\n\x1a\n", "image/png"),
    ("text/html", b"\xff\xd8\xff\xe0", "image/jpeg"),
    ("text/plain", b"GIF89a\x01\x00", "image/gif"),
    ("", b"RIFF\x00\x00\x00\x00WEBP", "image/webp"),
    ("", b"PK\x03\x04", "application/zip"),
    ("text/plain", b"\x00\x00\x00 ftypisom", "video/mp4"),
    ("application/octet-stream", b"\x7fELF", "application/x-executable"),
    ("text/html", b"abc\x00def", "text/html"),
    ("", b"abc\x00def", "unknown"),
)


def test_what_holds_no_text_is_refused() -> None:
    """By its declared type or by its bytes; the error names the type and the address."""
    for media_type, body, named in REFUSED:
        with pytest.raises(FetchError, match=f"content type .*{re.escape(named)}.*{URL}"):
            kind(media_type, body)
