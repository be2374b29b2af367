"""Reading tags: as browsers do, in linear time, whatever the page."""

from __future__ import annotations

import pytest

from ...content.markup import Token, attributes, tokens


def read(page: str) -> list[tuple[str, str, str, str]]:
    """Return a page's tokens as plain tuples."""
    return [tuple(token) for token in tokens(page)]  # type: ignore[misc]


def test_tags_and_texts_come_in_order() -> None:
    """Names are in lower case, entities are left to whoever reads the text."""
    assert read("a <P>b &amp; c</P><Br/>") == [
        ("text", "", "a ", ""),
        ("start", "p", "", ""),
        ("text", "", "b &amp; c", ""),
        ("end", "p", "", ""),
        ("start", "br", "/", ""),
    ]


@pytest.mark.parametrize(
    ("tag", "expected"),
    [
        ("<a href=http://x/y/?z>", {"href": "http://x/y/?z"}),
        ("<a title='a > b' HREF=\"x\">", {"title": "a > b", "href": "x"}),
        ("<a hidden\ndata-x = 1>", {"hidden": "", "data-x": "1"}),
        ("<a id=1 id=2>", {"id": "1"}),
        ("<a title='&lt;&eacute;'>", {"title": "<é"}),
        ("<a title=''>", {"title": ""}),
        ('<a b"c d>', {'b"c': "", "d": ""}),
        ("<a =b>", {"=b": ""}),
    ],
)
def test_attributes_are_read_as_browsers_do(tag: str, expected: dict[str, str]) -> None:
    """Quoted or not, without a value, twice, with entities."""
    (token,) = tokens(tag)
    assert attributes(token) == expected


@pytest.mark.parametrize(
    "page",
    [
        *("<!-- <p>x</p> -->", "<!-->", "<!--->", "<!-- a --!>", "<!doctype html>", "<?php x ?>"),
        *("</ x>", "<!x <p>", "<!-- never closed <p>", "<![CDATA[x]>"),
    ],
)
def test_comments_and_declarations_are_skipped(page: str) -> None:
    """Also those that are not closed."""
    assert read(page) == []


@pytest.mark.parametrize("page", ["1 < 2", "a <3 b", "<", "<>"])
def test_a_sign_that_begins_no_tag_is_text(page: str) -> None:
    """People write it."""
    assert "".join(text for kind, _, text, _ in read(page) if kind == "text").strip("<> ") == (
        page.strip("<> ")
    )


def test_a_script_is_one_token() -> None:
    """What looks like a tag in it is none, and it ends where it says so."""
    assert read("<script a=1>if (a<b) '</scrip'</SCRIPT >x") == [
        ("raw", "script", " a=1", "if (a<b) '</scrip'"),
        ("text", "", "x", ""),
    ]


@pytest.mark.parametrize("name", ["script", "style", "title", "textarea", "iframe"])
def test_a_raw_element_that_is_not_closed_takes_the_rest(name: str) -> None:
    """As in a browser."""
    assert read(f"<{name}>x <p>y") == [("raw", name, "", "x <p>y")]


def test_a_tag_cut_off_at_the_end_is_no_text() -> None:
    """A body may have been cut there."""
    assert read('x<div class="a b') == [("text", "", "x", ""), ("start", "div", ' class="a b', "")]


def test_an_attribute_that_is_not_closed_keeps_what_there_is() -> None:
    """Its value has one quote only."""
    assert attributes(Token("start", "div", ' class="a b')) == {"class": "a b"}


@pytest.mark.parametrize(
    "piece",
    [
        *(
            "<a ",
            '<div a="',
            "<",
            "<!--",
            "<script>",
            "</div ",
            "<!-",
            "<title>",
            "<a b=",
            "< ",
            "</",
        ),
        *("<a / ", "<a '", "--!", "<![CDATA[", "<svg><style>", "<p a='>'"),
    ],
)
def test_no_page_takes_more_than_linear_time(piece: str) -> None:
    """Each of these is read in well under a second; were it quadratic, in hours."""
    for token in tokens(piece * 100_000):
        attributes(token)
