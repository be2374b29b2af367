"""What kind of content a body is: by its first bytes, then by its declared type."""

from __future__ import annotations

import re
from typing import Literal

from ..errors import FetchError
from .charset import decode

Kind = Literal["html", "feed", "pdf", "text"]

_MAGIC = (  # what the first bytes of a file mean, whatever it is called
    (b"\x89PNG\r\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"II*\x00", "image/tiff"),
    (b"MM\x00*", "image/tiff"),
    (b"\x00\x00\x01\x00", "image/x-icon"),
    (b"PK\x03\x04", "application/zip"),
    (b"\x1f\x8b", "application/gzip"),
    (b"7z\xbc\xaf", "application/x-7z-compressed"),
    (b"\x7fELF", "application/x-executable"),
    (b"\xd0\xcf\x11\xe0", "application/msword"),
    (b"\x1aE\xdf\xa3", "video/webm"),
)
_LIKE_TEXT = (  # the same, but a text may begin like this, too; a file has control characters
    (b"GIF8", "image/gif"),
    (b"BM", "image/bmp"),
    (b"RIFF", "image/webp"),
    (b"Rar!", "application/vnd.rar"),
    (b"MZ", "application/x-msdownload"),
    (b"OggS", "audio/ogg"),
    (b"ID3", "audio/mpeg"),
    (b"wOF", "font/woff"),
)
_CONTROLS = re.compile(rb"[\x00-\x08\x0e-\x1a]")
_UNREADABLE = re.compile(
    r"(?:image|audio|video|font|model)/.+|application/(?:zip|gzip|wasm|msword|java-archive"
    r"|x-.*(?:compressed|executable|tar|rar)|vnd\.(?:ms-|openxml|oasis|rar|android).*)"
)
_UNSAID = ("", "application/octet-stream", "binary/octet-stream", "unknown/unknown")
_HTML = ("text/html", "application/xhtml+xml")
_XML = re.compile(r"(?:text|application)/(?:.+\+)?xml")
_PROLOGUE = r"\s*(?:<\?[^>]*>\s*|<!--.{0,1000}?-->\s*|<!doctype[^>]*>\s*)*"
_FEED_START = re.compile(rf"{_PROLOGUE}<(?:rss|feed|rdf:rdf)[\s>]", re.IGNORECASE | re.DOTALL)
_HTML_START = re.compile(
    rf"{_PROLOGUE}<(?:html|head|body|title|meta|script|div|p|h1|table|main|article)[\s>]",
    re.IGNORECASE | re.DOTALL,
)


def refuse_unreadable(media_type: str, url: str) -> None:
    """Raise `FetchError` for a declared type that holds no text, such as an image."""
    if _UNREADABLE.fullmatch(media_type):
        raise FetchError(
            f"unsupported content type {media_type[:80]}: {url} is no page, text, feed or PDF"
        )


def kind_of(media_type: str, header: str, body: bytes, url: str) -> Kind:
    """Return how to read a body; `header` is its whole Content-Type header.

    Raises `FetchError` for what holds no text, also when it is declared as text.
    """
    if b"%PDF-" in body[:1024]:
        return "pdf"
    refuse_unreadable(media_type, url)
    refuse_unreadable(_sniffed(body), url)
    head = decode(body[:4096], header)
    if "\x00" in head[:1000]:
        raise FetchError(
            f"unsupported content type {media_type[:80] or 'unknown'}: {url} is binary"
        )
    unsaid = media_type in _UNSAID or media_type == "application/pdf"
    if (unsaid or media_type in _HTML or _XML.fullmatch(media_type)) and _FEED_START.match(head):
        return "feed"
    if media_type in _HTML:
        return "html"
    is_html = (unsaid or _XML.fullmatch(media_type)) and _HTML_START.match(head)
    return "html" if is_html else "text"


def _sniffed(body: bytes) -> str:
    """Return the media type that a body's first bytes mean, or nothing."""
    if body[4:8] == b"ftyp":
        return "video/mp4"
    for magic, media_type in _MAGIC:
        if body.startswith(magic):
            return media_type
    if _CONTROLS.search(body[:200]):
        return next((kind for magic, kind in _LIKE_TEXT if body.startswith(magic)), "")
    return ""
