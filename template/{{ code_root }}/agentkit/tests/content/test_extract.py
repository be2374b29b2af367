"""Extraction: whole pages, field by field, and pages that hold no text."""

# ruff: noqa: RUF001  (one of the pages is in Russian)

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest

from ...content import extract
from ...content.document import Document, Link
from ...content.extract import NEEDS_JAVASCRIPT, NO_TEXT, extract_html

PAGES = Path(__file__).parent / "pages"
URL = "https://site.example.com/dir/page"

# What each page gives; a field that is not named is None. `text` lists blocks that must be there,
# in this order, and `absent` what must not.
EXPECTED: dict[str, dict[str, object]] = {
    "news-article": {
        "url": "https://tide.example.com/2026/05/hydrogen-buses/?from=mail",
        "canonical_url": "https://tide.example.com/2026/05/hydrogen-buses/",
        "title": "Harbour town switches its buses to hydrogen",
        "description": (
            "A small port has retired its last diesel bus and says the fuel is made on the quay."
        ),
        "image": "https://tide.example.com/img/bus.jpg?w=1024",
        "author": "Mara Lindqvist",
        "publisher": "Tide Gazette",
        "date": "2026-05-04T09:30:00+00:00",
        "lang": "en",
        "logo": "https://tide.example.com/logo.png",
        "links": (Link("Mara Lindqvist", "https://tide.example.com/staff/mara"),),
        "text": (
            "By Mara Lindqvist, 4 May 2026\n\nThe first of nine new buses. Credit: Tide Gazette.",
            "two dogs on their way to the vet.\n\n“We make the fuel",
            "\n\nFuel from the quay\n\nAn electrolyser",
            "\n- Nine single-deck buses\n- One electrolyser rated at 1.5 MW\n- Four turbines",
            "the first week of the new timetable.",
        ),
        "absent": ("Weather", "Ferry fares", "Subscribe", "All rights", "tracker", "serif"),
    },
    "product-page": {
        "canonical_url": "https://lumen.example.com/products/brass-desk-lamp-40",
        "title": "Brass Desk Lamp 40",
        "description": "A hand-turned brass lamp with a flicker-free warm light.",
        "image": "https://lumen.example.com/cdn/lamp.webp?v=1",
        "publisher": "Lumen & Sons",
        "lang": "en",
        "text": (
            "Warm light without flicker\n\nA single 40 lumen-per-watt emitter",
            "lowest of its five settings.\n\nTurned by hand\n\nEach base",
            "whenever you miss it.\n\nMade to be mended\n\nFour screws",
        ),
        "absent": ("Your cart", "Shipping", "About", "Add to cart", "Black", "price=42"),
    },
    "glued-blocks": {
        "title": "Glued",
        "text": (
            "when they are written by someone patient.\n\n“The second one",
            "not even a comment.”\n\nA third block",
            "extracted text.\n\ncell one | cell two\n\nLine one\nline two, and then",
        ),
        "absent": (),
    },
    "unicode": {
        "title": "Журавли вернулись на озеро",
        "description": "Первые стаи замечены утром.",
        "image": "https://site.example.com/img/crane.jpg",
        "lang": "ru",
        "text": (
            "Журавли вернулись на озеро\n\nПервые стаи",
            "всё ли на месте 🐦.\n\nЛесник",
            "зимовка прошла хорошо».\n\nСмотровую",
        ),
        "absent": (),
    },
    "malformed": {
        "title": "Broken & open",
        "text": ("Unclosed paragraph with a reasonable number of words in it",),
        "absent": ("script", "Never seen"),
    },
    "short-page": {"title": "Test Title", "text": ("Content",), "absent": ()},
    "script-only": {
        "title": "App",
        "lang": "de",
        "note": NEEDS_JAVASCRIPT,
        "text": (),
        "absent": ("boot", "JavaScript"),
    },
}
_OWN = ("text", "text_length", "truncated", "content_type")


def page(name: str) -> Document:
    """Return what one of the sample pages gives."""
    url = str(EXPECTED[name].get("url", URL))
    return extract_html((PAGES / f"{name}.html").read_text(encoding="utf-8"), url)


@pytest.mark.parametrize("name", EXPECTED)
def test_a_page_gives_its_metadata(name: str) -> None:
    """Field by field, and nothing that it does not say."""
    found = page(name)
    expected = {"url": URL, "canonical_url": URL, "links": (), **EXPECTED[name]}
    for field in fields(found):
        if field.name not in _OWN:
            assert getattr(found, field.name) == expected.get(field.name), field.name


@pytest.mark.parametrize("name", EXPECTED)
def test_a_page_gives_its_text(name: str) -> None:
    """In order, with blocks apart, without menus, scripts and teasers."""
    found = page(name)
    wanted, absent = EXPECTED[name]["text"], EXPECTED[name]["absent"]
    assert isinstance(wanted, tuple)
    assert isinstance(absent, tuple)
    places = [found.text.find(part) for part in wanted]
    assert -1 not in places
    assert places == sorted(places)
    assert [word for word in absent if word in found.text] == []
    assert found.text_length == len(found.text)
    assert not found.truncated


@pytest.mark.parametrize(
    "html",
    [
        "<div id=root></div><script src=/a.js></script>",
        "<div id=app>Loading…</div><script src=/a.js></script>",
        "<body><script>boot()</script><noscript>Please enable JavaScript.</noscript>Hi</body>",
        "<p>You need to enable JavaScript to run this app.</p><script>x()</script>",
        "<p>JavaScript is disabled in your browser.</p><script>x()</script>",
        "<script>document.write('all of it')</script>",
    ],
)
def test_a_page_that_scripts_fill_says_so(html: str) -> None:
    """Its title and language are known all the same."""
    found = extract_html(f"<html lang=de><title>T</title>{html}", URL)
    assert (found.note, found.title, found.lang) == (NEEDS_JAVASCRIPT, "T", "de")


@pytest.mark.parametrize(
    "html",
    [
        "<p>Content</p><script>count()</script>",
        "<div id=root><p>Short, but rendered by the server.</p></div>",
        "<p>How to enable JavaScript: a guide.</p>",
        "<p>Hi</p><script type='application/ld+json'>{}</script><div id=root>",
    ],
)
def test_a_short_page_needs_no_javascript(html: str) -> None:
    """Most pages have scripts that add nothing to read."""
    assert extract_html(html, URL).note is None


@pytest.mark.parametrize("html", ["", " \n", "<html><body></body></html>", "<img src=a.png>"])
def test_a_page_without_text_says_so(html: str) -> None:
    """Instead of an empty answer."""
    found = extract_html(html, URL)
    assert (found.text, found.note) == ("", NO_TEXT)


def test_the_first_heading_is_the_title_of_a_page_without_one() -> None:
    """Better than none."""
    assert extract_html("<h1>A <i>heading</i></h1><p>text", URL).title == "A heading"


def test_links_are_absolute_and_each_is_there_once() -> None:
    """Resolved against the page, or its <base>; those that lead nowhere are left out."""
    html = (
        "<base href='/docs/'><p>Go <a href=x>here</a>, <a href='/y#z'>there</a>,"
        " <a href=x>again</a>, <a href='#top'>up</a>, <a href='mailto:a@b'>mail</a>,"
        " <a href=img><img></a></p>"
    )
    assert extract_html(html, URL).links == (
        Link("here", "https://site.example.com/docs/x"),
        Link("there", "https://site.example.com/y#z"),
    )


def test_what_is_read_of_a_page_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a million tags, the first ones; the document says that it is cut."""
    monkeypatch.setattr(extract, "MOST_TOKENS", 20)
    found = extract_html("<p>word" * 1_000, URL)
    assert (found.text, found.truncated) == ("\n\n".join(["word"] * 10), True)


def test_deep_nesting_gives_its_text() -> None:
    """However deep."""
    found = extract_html("<div>" * 5_000 + "hello", URL)
    assert (found.text, found.note) == ("hello", None)
