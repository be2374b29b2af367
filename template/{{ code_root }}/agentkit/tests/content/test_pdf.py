"""PDF: text and metadata, files that are damaged or locked, and a project without pypdf."""

from __future__ import annotations

import io
import sys

import pytest

from ...content import pdf as module
from ...content.pdf import NO_TEXT, pdf_document
from ...errors import FetchError
from .pdf_file import pdf

URL = "https://a.example.com/report.pdf"


def test_a_pdf_gives_its_text_and_metadata() -> None:
    """Page by page, kept apart."""
    found = pdf_document(pdf("First page", "Second page", title="A report"), URL)
    assert (found.text, found.text_length) == ("First page\n\nSecond page", 23)
    assert (found.title, found.author) == ("A report", "Ann")
    assert found.date == "2026-05-04T09:30:00+00:00"
    assert (found.content_type, found.note, found.truncated) == ("application/pdf", None, False)


def test_a_pdf_without_text_says_so() -> None:
    """It may be a scan."""
    found = pdf_document(pdf(""), URL)
    assert (found.text, found.title, found.note) == ("", None, NO_TEXT)


def test_a_long_pdf_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading stops after the page that reached the limit."""
    monkeypatch.setattr(module, "MOST_CHARS", 5)
    found = pdf_document(pdf("one", "two", "three"), URL)
    assert (found.text, found.truncated) == ("one\n\ntwo", True)


@pytest.mark.parametrize("body", [b"%PDF-1.7", b"%PDF-1.4\n" + b"\0" * 500, pdf("x")[:150]])
def test_a_damaged_pdf_is_one_line(body: bytes, caplog: pytest.LogCaptureFixture) -> None:
    """And nothing in a log, from where it would get to the terminal."""
    with pytest.raises(FetchError, match=rf"^the PDF cannot be read \(\w+\): {URL}$"):
        pdf_document(body, URL)
    assert caplog.records == []


def test_a_pdf_with_flaws_is_read_in_silence(caplog: pytest.LogCaptureFixture) -> None:
    """Its table of contents is wrong, its text is there."""
    flawed = pdf("Text").replace(b"startxref\n", b"startxref\n9")
    assert pdf_document(flawed, URL).text == "Text"
    assert caplog.records == []


def test_a_locked_pdf_is_one_line() -> None:
    """It needs a password that nobody has."""
    from pypdf import PdfReader, PdfWriter

    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(pdf("secret"))))
    writer.encrypt("password", algorithm="RC4-128")
    locked = io.BytesIO()
    writer.write(locked)
    with pytest.raises(FetchError, match=r"^the PDF cannot be read \(\w+\)"):
        pdf_document(locked.getvalue(), URL)


def test_without_pypdf_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """It also names the content type."""
    monkeypatch.setitem(sys.modules, "pypdf", None)
    with pytest.raises(FetchError, match="content type application/pdf: install pypdf"):
        pdf_document(pdf("x"), URL)
