"""Feeds: RSS and Atom, their entries as text, also when they are broken."""

from __future__ import annotations

from ...content.document import Link
from ...content.feed import MOST_ENTRIES, feed_document

URL = "https://site.example.com/feed"

RSS = """<?xml version="1.0"?><rss><channel><title>News &amp;amp; more</title>
<link>https://site.example.com/</link><description>All of it</description>
<language>en-GB</language><image><title>logo</title></image>
<item><title><![CDATA[First <b>one</b>]]></title><link>/1?a=1&amp;b=2</link>
<pubDate>Mon, 04 May 2026 09:30:00 GMT</pubDate>
<description>&lt;p&gt;Some&lt;/p&gt;&lt;p&gt;text &amp;eacute;&lt;/p&gt;</description>
<content:encoded><![CDATA[<p>All of the text</p>]]></content:encoded></item>
<item><guid>https://site.example.com/2</guid><title>Second</title></item>
</channel></rss>"""

ATOM = """<feed xmlns="http://www.w3.org/2005/Atom"><title type="text">Notes</title>
<author><name>Ann</name></author><link rel="self" href="/feed"/>
<entry><title>One</title><link rel="replies" href="/r"/><link href="https://site.example.com/1"/>
<id>tag:1</id><updated>2026-05-04</updated><summary/>
<content type="xhtml"><div><p>a</p><p>b</p></div></content></entry></feed>"""


def test_rss_gives_its_entries() -> None:
    """Title, date, address and summary of each, with all the escaping undone."""
    found = feed_document(RSS, URL)
    assert (found.title, found.description, found.lang) == ("News & more", "All of it", "en")
    assert found.text == (
        "First one\nMon, 04 May 2026 09:30:00 GMT\n/1?a=1&b=2\nSome\n\ntext é\n\nSecond"
    )
    assert found.links == (
        Link("First one", "https://site.example.com/1?a=1&b=2"),
        Link("Second", "https://site.example.com/2"),
    )


def test_atom_gives_its_entries() -> None:
    """The link to read, not those to replies or the feed itself."""
    found = feed_document(ATOM, URL)
    assert (found.title, found.author) == ("Notes", "Ann")
    assert found.text == "One\n2026-05-04\nhttps://site.example.com/1\na b"


def test_a_broken_feed_gives_what_there_is() -> None:
    """It is no XML any more; nobody repairs it for us."""
    found = feed_document("<rss><item><title>One</title><description>a & b <p>c</rss", URL)
    assert "One" in found.text


def test_a_feed_without_entries_says_so() -> None:
    """Instead of an empty answer."""
    assert feed_document("<rss></rss>", URL).note == "The feed has no entries."


def test_a_feed_is_bounded() -> None:
    """The first entries are the newest."""
    found = feed_document("<rss>" + "<item><title>t</title></item>" * 300, URL)
    assert found.text.count("t") == MOST_ENTRIES
    assert found.truncated


def test_entities_of_xml_are_not_expanded() -> None:
    """A few lines of them could grow to gigabytes."""
    bomb = '<!DOCTYPE rss [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><rss><item><title>&b;</title>'
    assert feed_document(bomb, URL).text == "&b;"
