"""Replies as documents: pages, PDF, JSON, text, feeds; and what is refused, cut or empty."""

from __future__ import annotations

import httpx2
import pytest

from ...content.extract import NEEDS_JAVASCRIPT
from ...errors import FetchError
from .fake_web import Body, FakeWeb, once, reply, zipped
from .fetching import fetched
from .pdf_file import pdf

PAGE = "https://site.example.com/page"


async def test_a_charset_is_read_from_the_header() -> None:
    """The page itself need not name it."""
    body = "<p>Ранним утром".encode("cp1251")
    found = await fetched(FakeWeb({PAGE: reply(body, "text/html; charset=windows-1251")}), PAGE)
    assert found.text == "Ранним утром"


@pytest.mark.parametrize("content_type", ["application/pdf", "text/html", None])
async def test_a_pdf_is_read_whatever_it_is_called(content_type: str | None) -> None:
    """Its first bytes tell."""
    found = await fetched(FakeWeb({PAGE: reply(pdf("A report"), content_type)}), PAGE)
    assert found.text == "A report"


async def test_a_pdf_that_was_cut_is_an_error() -> None:
    """Its end is what a reader needs first."""
    web = FakeWeb({PAGE: reply(pdf("A report"), "application/pdf")})
    with pytest.raises(FetchError, match="the PDF is larger than 300 bytes"):
        await fetched(web, PAGE, max_bytes=300)


@pytest.mark.parametrize(
    ("content_type", "text"),
    [
        ("application/json", '{"a": [1, 2],\n "b": "ü"}'),
        ("application/problem+json", "{}"),
        ("text/plain", "one\n\n  two <b>"),
        ("text/csv", "a,b\n1,2"),
        ("text/markdown", "# Title"),
        (None, "no type at all"),
    ],
)
async def test_json_and_text_are_returned_as_they_are(content_type: str | None, text: str) -> None:
    """Nothing in them is markup."""
    found = await fetched(FakeWeb({PAGE: reply(text, content_type)}), PAGE)
    assert found.text == text
    assert found.content_type == (content_type or "text/plain")


async def test_newlines_of_all_systems_become_one() -> None:
    """A model should not see the difference."""
    assert (
        await fetched(FakeWeb({PAGE: reply("a\r\nb\rc", "text/plain")}), PAGE)
    ).text == "a\nb\nc"


async def test_a_feed_gives_its_entries() -> None:
    """Under any of the types that feeds have."""
    rss = "<?xml version='1.0'?><rss><channel><item><title>News</title></item></channel></rss>"
    assert (await fetched(FakeWeb({PAGE: reply(rss, "application/rss+xml")}), PAGE)).text == "News"


@pytest.mark.parametrize("content_type", ["image/png", "video/mp4", "application/zip"])
async def test_a_type_without_text_is_refused_unread(content_type: str) -> None:
    """The error names the type."""
    body = Body(once(b"\0"))
    response = httpx2.Response(200, headers={"content-type": content_type}, stream=body)
    with pytest.raises(FetchError, match=f"unsupported content type {content_type}"):
        await fetched(FakeWeb({PAGE: response}), PAGE)
    assert (body.sent, body.closed) == (0, True)


async def test_an_image_called_a_page_is_refused() -> None:
    """Never binary soup."""
    with pytest.raises(FetchError, match="unsupported content type image/png"):
        await fetched(FakeWeb({PAGE: reply(b"\x89PNG\r\n\x1a\n\0\0", "text/html")}), PAGE)


@pytest.mark.parametrize(
    ("status", "phrase"), [(404, "Not Found"), (500, "Internal"), (799, "unk")]
)
async def test_an_error_page_is_an_error_with_its_status(status: int, phrase: str) -> None:
    """Not content, however nice the page is."""
    web = FakeWeb({PAGE: reply("<p>Sorry, we could not find that.", status=status)})
    with pytest.raises(FetchError, match=rf"^HTTP {status} \(?{phrase}.*: {PAGE}$") as caught:
        await fetched(web, PAGE)
    assert caught.value.status == status


@pytest.mark.parametrize(("status", "body"), [(204, ""), (205, ""), (200, ""), (200, " \n")])
async def test_an_empty_answer_says_so(status: int, body: str) -> None:
    """It is no error, and no content."""
    found = await fetched(FakeWeb({PAGE: reply(body, None, status)}), PAGE)
    assert found.text == ""
    assert found.note == f"The server sent no content (HTTP {status})."


async def test_a_page_that_needs_javascript_says_so() -> None:
    """With what is known of it."""
    html = "<html lang=de><title>App</title><div id=root></div><script src=/a.js></script>"
    found = await fetched(FakeWeb({PAGE: reply(html)}), PAGE)
    assert (found.note, found.title, found.lang) == (NEEDS_JAVASCRIPT, "App", "de")


async def test_a_page_that_was_cut_says_so() -> None:
    """Its beginning is still of use."""
    found = await fetched(FakeWeb({PAGE: reply("<p>word</p>" * 1_000)}), PAGE, max_bytes=1_001)
    assert found.truncated
    assert found.text.startswith("word\n\nword")
    assert found.note == "Only the first 1,001 bytes were read."


async def test_a_text_without_a_newline_is_cut() -> None:
    """20 MB in one line are no trouble."""
    web = FakeWeb({PAGE: reply(b"x" * 20_000_000, "text/plain")})
    found = await fetched(web, PAGE, max_bytes=1_000_000, max_chars=50)
    assert (found.text, found.text_length) == ("x" * 50, 1_000_000)


async def test_a_bomb_is_cut_where_the_limit_is() -> None:
    """Unpacked it would be a hundred times as large."""
    found = await fetched(FakeWeb({PAGE: zipped(b"word " * 2_000_000)}), PAGE, max_bytes=50_000)
    assert (found.text_length, found.truncated) == (49_999, True)
