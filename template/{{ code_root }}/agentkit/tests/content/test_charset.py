"""Charsets: the byte order mark, the header, the page's own word, and a guess where none helps."""

# ruff: noqa: RUF001  (other alphabets are the point here)

from __future__ import annotations

import codecs

import pytest

from ...content.charset import decode

RUSSIAN = "Первые стаи замечены ранним утром, когда лёд ещё держался у берега."
CHINESE = "今天天气很好，我们一起去公园散步，在那里遇到了一个老朋友。他说他最近工作很忙。"
TAIWANESE = "今天天氣很好，我們一起去公園散步，在那裡遇到了一個老朋友。他說他最近工作很忙。"
JAPANESE = "今日は天気がいいので、公園まで散歩に行きました。そこで古い友人に会いました。"


@pytest.mark.parametrize(
    ("mark", "encoding"),
    [
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
        (codecs.BOM_UTF32_LE, "utf-32-le"),
        (codecs.BOM_UTF32_BE, "utf-32-be"),
    ],
)
def test_a_byte_order_mark_decides(mark: bytes, encoding: str) -> None:
    """Whatever else is declared; the mark itself is no text."""
    assert decode(mark + "añb".encode(encoding), "text/html; charset=koi8-r") == "añb"


@pytest.mark.parametrize(
    ("header", "encoding", "text"),
    [
        ("text/html; charset=windows-1251", "cp1251", RUSSIAN),
        ("text/html;charset=KOI8-R", "koi8-r", RUSSIAN),
        ("text/html; charset='shift_jis'", "cp932", JAPANESE),
        ('text/html; charset="EUC-JP"', "euc_jp", JAPANESE),
        ("text/html; charset=gb2312", "gb18030", "镕 is in no GB 2312"),
        ("text/html; charset=big5", "big5", TAIWANESE),
        ("text/html; charset=ISO-8859-1", "cp1252", "“quoted” in cp1252"),
        ("text/html; charset=iso-8859-2", "iso-8859-2", "zażółć"),
        ("text/plain; charset=utf-16le", "utf-16-le", "no mark"),
        ("text/html; charset=utf8", "utf-8", "ünï"),
    ],
)
def test_the_header_names_the_charset(header: str, encoding: str, text: str) -> None:
    """Under its own name or as the wider one that browsers read in its place."""
    assert decode(text.encode(encoding), header) == text


@pytest.mark.parametrize(
    "head",
    [
        '<meta charset="windows-1251">',
        "<meta charset=windows-1251>",
        '<META content="text/html; charset=windows-1251" http-equiv="Content-Type">',
        '<?xml version="1.0" encoding="windows-1251"?>',
    ],
)
def test_a_page_names_its_charset(head: str) -> None:
    """In a meta tag of either form, or in an XML declaration."""
    page = f"{head}<p>{RUSSIAN}"
    assert decode(page.encode("cp1251"), "text/html") == page


def test_plain_text_names_no_charset() -> None:
    """A text about meta tags is not a page."""
    text = '<meta charset="koi8-r"> é'
    assert decode(text.encode(), "text/plain", is_markup=False) == text


def test_the_header_comes_before_the_page() -> None:
    """The server may have converted it."""
    page = f"<meta charset=koi8-r><p>{RUSSIAN}"
    assert decode(page.encode("cp1251"), "text/html; charset=windows-1251") == page


@pytest.mark.parametrize(
    "header", ["", "text/html; charset=ISO-8859-1", "text/html; charset=us-ascii"]
)
def test_utf8_is_known_by_its_bytes(header: str) -> None:
    """Servers say Latin-1 by default; other bytes are hardly ever valid UTF-8 by chance."""
    assert decode(RUSSIAN.encode(), header) == RUSSIAN


def test_a_declared_charset_that_the_bytes_contradict_is_passed_over() -> None:
    """The next word that fits is taken."""
    page = f"<meta charset=windows-1251><p>{RUSSIAN}"
    assert decode(page.encode("cp1251"), "text/html; charset=utf-8") == page


def test_a_page_that_says_utf16_in_ascii_is_not() -> None:
    """It could not have been read otherwise."""
    page = '<meta charset="utf-16le"><p>plains'
    assert len(page) % 2 == 0
    assert decode(page.encode(), "text/html") == page


@pytest.mark.parametrize(
    "name", ["unknown-8", "zip", "base64", "rot13", "unicode_escape", "utf-7", "idna", "hex", "x"]
)
def test_a_name_that_is_no_charset_of_the_web_is_ignored(name: str) -> None:
    """Python knows codecs that do other things than decode text."""
    assert decode(b"a\\u0041+AGE-", f"text/html; charset={name}") == "a\\u0041+AGE-"


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        *((RUSSIAN, name) for name in ("cp1251", "koi8-r", "cp866", "iso8859-5")),
        *((JAPANESE, name) for name in ("cp932", "euc_jp")),
        (CHINESE, "gb18030"),
        (TAIWANESE, "big5hkscs"),
        ("오늘은 날씨가 좋아서 공원까지 산책을 갔습니다.", "cp949"),
        ("L'été dernier, c'était très agréable, même s'il a plu.", "cp1252"),
        ("Schöne Grüße aus München, wo die Straßen überfüllt sind.", "cp1252"),
        ("Ο καιρός είναι καλός σήμερα και πήγαμε μια βόλτα.", "cp1253"),
        ("היום מזג האוויר יפה והלכנו לטייל בפארק", "cp1255"),
        ("الطقس جميل اليوم وذهبنا في نزهة إلى الحديقة", "cp1256"),
    ],
)
def test_an_undeclared_charset_is_guessed(text: str, encoding: str) -> None:
    """From the letters that the bytes would be."""
    page = f'<html><head><title>A page</title></head><body class="main"><p>{text}</p></body>'
    assert decode(page.encode(encoding), "text/html") == page


def test_a_character_cut_off_at_the_end_is_dropped() -> None:
    """A body that was cut at its limit is still in its charset."""
    assert decode("aж".encode()[:-1]) == "a"


def test_bytes_in_no_charset_are_replaced() -> None:
    """What can be read is kept."""
    assert decode(b"a\xffb", "text/html; charset=utf-8") == "a\ufffdb"


def test_nothing_is_an_empty_text() -> None:
    """An empty body has any charset."""
    assert decode(b"") == ""
