"""Metadata: where each field comes from, in which order, and addresses made absolute."""

from __future__ import annotations

import json

import pytest

from ...content.json_ld import json_ld
from ...content.markup import tokens
from ...content.metadata import absolute, read_metadata

URL = "https://site.example.com/dir/page"


def fields(page: str) -> dict[str, str]:
    """Return what a page says about itself."""
    return read_metadata(tokens(page), URL).fields


def linked(data: object) -> str:
    """Return a script with JSON-LD."""
    return f'<script type="application/ld+json">{json.dumps(data)}</script>'


@pytest.mark.parametrize(
    ("page", "name", "value"),
    [
        ("<title>A &amp; B\n C</title>", "title", "A & B C"),
        ("<title>T</title><meta property=og:title content=O>", "title", "O"),
        ("<svg><title>icon</title></svg>", "title", "icon"),
        ("<meta name=description content=' a  b '>", "description", "a b"),
        ("<meta name=Description content=>", "description", None),
        ("<meta name=author content='Ann'>", "author", "Ann"),
        (
            "<meta name=author content='http://x/ann'><a rel=author href=/ann>Ann</a>",
            "author",
            "Ann",
        ),
        ("<span itemprop=author><a><b itemprop=name>Ann</b></a> 9 posts</span>", "author", "Ann"),
        ("<p class=byline>By <b>Ann Lee</b></p>", "author", "Ann Lee"),
        ("<div class=post-author-name>written by Ann</div>", "author", "Ann"),
        ("<div class=authority>No</div>", "author", None),
        ("<meta property=og:site_name content=S>", "publisher", "S"),
        ("<html lang=en-US>", "lang", "en"),
        ("<html xml:lang=PT_br>", "lang", "pt"),
        ("<html lang=x-klingon><meta property=og:locale content=de_AT>", "lang", "de"),
        ("<link rel=canonical href=/x>", "canonical_url", "https://site.example.com/x"),
        ("<link rel='canonical' href='mailto:a@b'>", "canonical_url", None),
        ("<meta property=og:url content=other>", "canonical_url", f"{URL[:-4]}other"),
        (
            "<meta property=og:image content=//cdn.example.com/i.png>",
            "image",
            "https://cdn.example.com/i.png",
        ),
        (
            "<base href=/b/><meta name=twitter:image content=i.png>",
            "image",
            "https://site.example.com/b/i.png",
        ),
        ("<meta property=og:image content='javascript:alert(1)'>", "image", None),
        ("<meta property=og:video content=/v.mp4>", "video", "https://site.example.com/v.mp4"),
        ("<audio src=a.mp3>", "audio", f"{URL[:-4]}a.mp3"),
    ],
)
def test_a_field_is_read_from_tags(page: str, name: str, value: str | None) -> None:
    """With entities decoded, space collapsed, and nothing made up."""
    assert fields(page).get(name) == value


@pytest.mark.parametrize(
    ("page", "value"),
    [
        (
            "<meta property=article:published_time content=2026-05-04T09:30:00Z>",
            "2026-05-04T09:30:00+00:00",
        ),
        ("<meta name=date content=2026-05-04>", "2026-05-04"),
        ("<time datetime=2026-05-04>yesterday</time>", "2026-05-04"),
        ("<time>May 4, 2026</time>", "2026-05-04"),
        ("<span class=post-date>Posted on 14 Sept. 2026 at noon</span>", "2026-09-14"),
        ("<meta name=date content='2026-05-04 10:00:00 +0100 +0100'>", "2026-05-04"),
        ("<time datetime=P1D>a day</time>", None),
        ("<span class=date>soon</span>", None),
        ("<meta name=date content='99 May 2026x'>", None),
        ("<p class=update>May 4, 2026</p>", None),
    ],
)
def test_a_date_is_in_iso_8601(page: str, value: str | None) -> None:
    """Or it is none."""
    assert fields(page).get("date") == value


ARTICLE = {
    "@context": "https://schema.org",
    "@type": "NewsArticle",
    "headline": "H",
    "description": "D",
    "image": ["/i.png"],
    "datePublished": "2026-05-04",
    "inLanguage": "en-GB",
    "author": [{"@type": "Person", "name": "Ann"}, {"name": "Bob"}],
    "publisher": {"name": "P", "logo": {"@type": "ImageObject", "url": "/logo.png"}},
}
EXPECTED = {
    "title": "H",
    "description": "D",
    "image": "https://site.example.com/i.png",
    "author": "Ann, Bob",
    "publisher": "P",
    "date": "2026-05-04",
    "lang": "en",
    "logo": "https://site.example.com/logo.png",
}


@pytest.mark.parametrize(
    "data",
    [
        ARTICLE,
        [{"@type": "BreadcrumbList", "name": "no"}, ARTICLE],
        {"@graph": [{"@type": "WebSite", "name": "no"}, ARTICLE]},
        {"@type": "WebPage", "headline": "no", "mainEntity": ARTICLE},
        {**ARTICLE, "@type": ["Thing", "BlogPosting"]},
    ],
)
def test_json_ld_gives_what_a_page_is_about(data: object) -> None:
    """Alone, in a list, in a graph, or as the main thing of a page."""
    assert fields(linked(data)) == EXPECTED


def test_json_ld_may_refer_to_its_nodes() -> None:
    """By their ids."""
    graph = [
        {"@type": "Article", "author": {"@id": "#ann"}, "publisher": {"@id": "#missing"}},
        {"@type": "Person", "@id": "#ann", "name": "Ann"},
    ]
    assert fields(linked({"@graph": graph})) == {"author": "Ann"}


@pytest.mark.parametrize(
    "text",
    [
        *("", "{", "[]", "null", "7", '"x"', "{}", '{"@type": 3}', '{"@type": "Article"}'),
        '{"@type": "Article", "headline": {"a": 1}, "author": [[null, 3]], "image": {"url": 5}}',
        "[" * 100_000,
        '{"@type": "Article", "publisher": "\ud800"',
    ],
)
def test_odd_json_ld_gives_nothing(text: str) -> None:
    """It breaks nothing either."""
    assert list(json_ld(text)) == []


def test_json_ld_with_raw_newlines_and_comment_marks_is_read() -> None:
    """Many pages have it so."""
    text = '<!--{"@type": "Article", "headline": "a\nb"}-->'
    assert list(json_ld(text)) == [("headline", "a\nb")]


def test_an_author_given_as_text_is_a_name() -> None:
    """Not everybody writes an object."""
    assert fields(linked({"@type": "Article", "author": "Ann"})) == {"author": "Ann"}


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("x", "https://site.example.com/dir/x"),
        ("?q=1", "https://site.example.com/dir/page?q=1"),
        ("//other.example.com", "https://other.example.com"),
        ("http://a/\n b", "http://a/b"),
        *(
            (none, None)
            for none in ("", "#top", "mailto:a@b", "javascript:x", "data:,x", "http://[")
        ),
    ],
)
def test_addresses_are_absolute(address: str, expected: str | None) -> None:
    """What is no web address is none."""
    assert absolute(URL, address) == expected
