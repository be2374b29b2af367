"""Blocks: where text begins and ends, what is seen, and broken markup."""

from __future__ import annotations

import pytest

from ...content.blocks import Block, join, read_blocks
from ...content.markup import tokens


def blocks(page: str) -> list[Block]:
    """Return the blocks of a page."""
    return read_blocks(tokens(page))[1]


def text(page: str) -> str:
    """Return the text of a page."""
    return join(blocks(page))


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        ("<p>one.</p><p>two</p>", "one.\n\ntwo"),
        ("<p>one<p>two<div>three</div>four", "one\n\ntwo\n\nthree\n\nfour"),
        ("<h2>Title</h2>text", "Title\n\ntext"),
        ("one<br>two<br/>three", "one\ntwo\nthree"),
        ("one<hr>two", "one\n\ntwo"),
        ("<ul><li>one</li><li>two</li></ul>", "- one\n- two"),
        ("<ul><li>one<li>two</ul>three", "- one\n- two\n\nthree"),
        ("<ul><li>one<ul><li>in</ul><li>two</ul>", "- one\n- in\n- two"),
        ("<ol><li><p>one</p></li><li><p>two</p></ol>", "- one\n\n- two"),
        ("<dl><dt>a<dd>b<dt>c<dd>d</dl>", "a\nb\nc\nd"),
        ("<table><tr><td>a</td><td>b</td></tr><tr><td>c<td>d</table>", "a | b\nc | d"),
        ("<table><tr><th>a<th>b<tr><td>c<td></table>", "a | b\nc"),
        ("<table><caption>t</caption><tr><td>a</table>", "t\n\na"),
        ("<details><summary>more</summary>text</details>", "more\n\ntext"),
        ("a<span>b</span><b>c</b>", "abc"),
        ("a <i> b </i> c", "a b c"),
        ("<p>\n  a\n  b\t c\n</p>", "a b c"),
        ("a&nbsp;b &lt;p&gt; &eacute;&#8364;", "a b <p> é€"),
        ("<pre>  a\n    b\n\n</pre>", "  a\n    b"),
        ("<pre><code>a\n</code><code>b</code></pre>c", "a\nb\n\nc"),
        ("<a href=x><div>one</div><div>two</div></a>", "one\n\ntwo"),
        ("<b>a<p>b</b>c</p>d", "a\n\nbc\n\nd"),
        ("</div></p>a</b><p></div>b", "a\n\nb"),
        ("", ""),
        ("   \n ", ""),
        ("just text", "just text"),
    ],
)
def test_blocks_are_kept_apart(page: str, expected: str) -> None:
    """Words of two blocks never touch; those of one block do as they did."""
    assert text(page) == expected


HIDDEN = (
    *("<p hidden>x</p>", "<div hidden='until-found'>x</div>", "<p aria-hidden=true>x</p>"),
    *("<div style='color:red; display: none'>x<p>y</div>", "<i STYLE=visibility:hidden>x</i>"),
    *(
        "<script>x</script>",
        "<style>x</style>",
        "<template><p>x</template>",
        "<title>x</title>",
    ),
    *("<noscript>x</noscript>", "<svg><text>x</text></svg>", "<select><option>x</select>"),
    *("<button>x</button>", "<textarea>x</textarea>", "<iframe>x</iframe>", "<!-- x -->"),
    *("<dialog>x</dialog>", "<object>x</object>", "<canvas>x</canvas>", "<video>x</video>"),
    *("<div hidden><div>x</div>y</div>", "<p hidden>x<b>y</p>", "<svg><path/><g>x</svg>"),
)


def test_what_nobody_sees_is_no_text() -> None:
    """And what comes after it is."""
    found = {hidden: text(f"<div>before {hidden} after</div>").split() for hidden in HIDDEN}
    assert found == {hidden: ["before", "after"] for hidden in HIDDEN}


SHOWN = (
    *("<p aria-hidden=false>x</p>", "<p style='display:block'>x</p>", "<p class=hidden>x</p>"),
    *(
        "<dialog open>x</dialog>",
        "<main aria-hidden=true>x</main>",
        "<svg/>x",
        "<details>x</details>",
    ),
    *("<p data-x=none>x</p>", "<input hidden>x", "<div><button>b</div>x", "<body hidden>x"),
)


def test_what_is_seen_is_text() -> None:
    """Not everything with such a word hides."""
    assert {shown: text(shown) for shown in SHOWN} == dict.fromkeys(SHOWN, "x")


def test_five_thousand_nested_tags_give_their_text() -> None:
    """Closed or not."""
    assert text("<div>" * 5_000 + "hello" + "</div>" * 5_000 + "<p>after") == "hello\n\nafter"
    assert text("<div>" * 5_000 + "hello") == "hello"


def test_a_block_knows_where_it_stands() -> None:
    """Its path leads through the elements, outermost first; their labels are words."""
    elements, found = read_blocks(tokens('<main><div class="Post postBody" id=X>a</div></main>'))
    assert [elements[number].name for number in found[0].path] == ["main", "div"]
    assert elements[found[0].path[-1]].label == "post post-body x"
    assert found[0].name == "div"


def test_a_role_is_kept() -> None:
    """It says more than a class."""
    assert read_blocks(tokens("<div role=Navigation>x"))[0][0].role == "navigation"


def test_an_end_tag_in_a_cell_closes_nothing_outside() -> None:
    """As in a browser; the table's own end does."""
    elements, found = read_blocks(tokens("<div><table><tr><td>a</div>b</table>c</div>d"))
    assert [[elements[n].name for n in block.path] for block in found] == [
        ["div", "table", "tr"],
        ["div"],
        [],
    ]


def test_links_are_counted_and_kept_with_their_block() -> None:
    """By the characters of their text; an anchor without an address is no link to follow."""
    (block,) = blocks("<p>see <a href='/x?a=1&amp;b=2'>the\n page</a> and <a name=y>this</a></p>")
    assert block.links == [("the page", "/x?a=1&b=2")]
    assert block.linked == len("the page") + len("this")


def test_a_link_round_blocks_belongs_to_the_first() -> None:
    """That is its text; the others are linked as well."""
    first, second = blocks("<a href=/x><h3>Title</h3><p>teaser</p></a>")
    assert (first.links, second.links) == ([("Title", "/x")], [])
    assert second.linked == len("teaser")
