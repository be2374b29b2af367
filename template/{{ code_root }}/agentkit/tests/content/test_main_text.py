"""Choosing the content: what is left out, and what is kept when that would be too much."""

from __future__ import annotations

import pytest

from ...content.blocks import join, read_blocks
from ...content.main_text import main_blocks
from ...content.markup import tokens

STORY = "".join(
    f"<p>Paragraph {number} of a story that goes on for a while, with commas, clauses and all.</p>"
    for number in range(8)
)
TEASER = (
    "<p>Another story that somebody would like you to read next, told in one sentence only.</p>"
)
MENU = "<ul>" + "".join(f"<li><a href=/{name}>{name}</a></li>" for name in "abcdef") + "</ul>"


def content(page: str) -> str:
    """Return the text that is chosen from a page."""
    return join(main_blocks(*read_blocks(tokens(page))))


@pytest.mark.parametrize(
    "around",
    [
        *("<nav>{}</nav>", "<footer>{}</footer>", "<aside>{}</aside>", "<div role=banner>{}</div>"),
        *(
            "<div class=sidebar>{}</div>",
            "<div id=cookie-consent>{}</div>",
            "<ul class=menu>{}</ul>",
        ),
        *("<div class='post relatedPosts'>{}</div>", "<section class=newsletter_box>{}</section>"),
        *("<div class=Share-Buttons>{}</div>", "<section id=comments>{}</section>"),
    ],
)
def test_what_is_named_as_boilerplate_is_left_out(around: str) -> None:
    """By its tag, its role, or a word of its classes and id."""
    page = f"<body><div>{STORY}{around.format('<p>noise</p>')}</div></body>"
    assert "noise" not in content(page)
    assert "Paragraph 7" in content(page)


@pytest.mark.parametrize(
    "name", ["navy-blue", "headline", "shareholders", "adstock", "tagsoup", "ratings2x"]
)
def test_a_word_within_a_word_names_nothing(name: str) -> None:
    """An advert is not an adverb."""
    assert "kept" in content(f"<body><div>{STORY}<div class={name}><p>kept</p></div></div></body>")


def test_content_that_is_named_as_boilerplate_stays() -> None:
    """Blogs stand in widgets, and pages with a sidebar are called so."""
    page = f"<body class=has-sidebar><div class=widget>{STORY}</div>{TEASER * 4}</body>"
    assert "Paragraph 7" in content(page)


def test_comments_are_the_content_of_a_forum() -> None:
    """Where little else stands, they stay."""
    page = f"<body><h1>Question</h1><div class=comments>{STORY}</div></body>"
    assert "Paragraph 7" in content(page)


def test_the_main_element_is_the_content() -> None:
    """What stands beside it is not."""
    page = f"<body><div><p>aside</p>{TEASER}</div><main>{STORY}</main></body>"
    assert "aside" not in content(page)


def test_teasers_round_an_article_are_left_out() -> None:
    """Without any name that would tell them."""
    page = f"<body><div><div>{TEASER * 3}</div><div>{STORY}</div></div></body>"
    assert "Another story" not in content(page)
    assert "Paragraph 7" in content(page)


def test_sections_of_one_page_stay_together() -> None:
    """A manual has its text in many places."""
    sections = "".join(f"<section><h2>Part {n}</h2>{STORY}</section>" for n in range(4))
    assert all(f"Part {n}" in content(f"<body>{MENU}{sections}</body>") for n in range(4))


def test_a_row_of_links_is_left_out() -> None:
    """A menu without a name is still a menu; a few links in a text are not."""
    few = "<ul><li><a href=/x>x link</a></li><li><a href=/y>y link</a></li></ul>"
    found = content(f"<body><div>{MENU}{STORY}{few}</div></body>")
    assert found.startswith("Paragraph 0")
    assert found.endswith("- x link\n- y link")


def test_a_page_of_links_keeps_them() -> None:
    """They are all that it has."""
    links = "".join(f"<li><a href=/{n}>A page about matter number {n}</a></li>" for n in range(20))
    assert "matter number 19" in content(f"<body><ul>{links}</ul></body>")


def test_a_small_page_is_content_altogether() -> None:
    """Rules that throw out are for pages with something to throw out."""
    assert content("<nav>Home</nav><p>Content</p>") == "Home\n\nContent"


def test_short_sections_without_an_article_are_kept() -> None:
    """Thin as they are."""
    sections = "".join(f"<section><h2>S{n}</h2><p>Short {n}.</p></section>" for n in range(30))
    found = content(f"<body>{sections}</body>")
    assert "Short 0." in found
    assert "Short 29." in found


def test_a_page_of_only_a_table_is_kept() -> None:
    """Rows and cells stay apart."""
    rows = "".join(f"<tr><td>key {n}</td><td>value {n}</td></tr>" for n in range(40))
    assert "key 7 | value 7\nkey 8 | value 8" in content(f"<body><table>{rows}</table></body>")
