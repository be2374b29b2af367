"""Bytes to text: the charset that is declared, if the bytes agree; else the one they look like."""

from __future__ import annotations

import codecs
import re

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_META = re.compile(rb"""<meta[^>]{1,500}?charset\s*=\s*["']?\s*([\w.:-]{1,40})""", re.IGNORECASE)
_XML = re.compile(rb"""^\s*<\?xml[^>]{1,200}?encoding\s*=\s*["']([\w.:-]{1,40})""")
_HEADER = re.compile(r"""charset\s*=\s*["']?\s*([\w.:-]{1,40})""", re.IGNORECASE)
_KNOWN = re.compile(
    r"utf-?(8|16|32)([-_]?[lb]e)?|(windows-|cp-?|x-cp)\d{3,4}|iso-?8859-?\d{1,2}(-[ei])?|latin-?\d"
    r"|(us-)?ascii|koi8-?[rut]|(x-)?(s(hift)?[-_]?jis|euc-?(jp|kr|cn|tw))|iso-2022-(jp|kr)"
    r"|(x-)?gbk?(2312|18030)?|big5(-hkscs)?|ks_c_5601-1987|tis-620|(x-)?mac-?(roman|cyrillic)?",
    re.IGNORECASE,
)
_WESTERN = re.compile(r"(us-)?ascii|iso-?8859-?1|latin-?1|windows-1252|cp-?1252", re.IGNORECASE)
_WIDER = {  # what browsers read in place of the name: the sets that hold it
    **dict.fromkeys(("gb2312", "gbk", "gb", "x-gbk", "euc-cn"), "gb18030"),
    **dict.fromkeys(("shift_jis", "shift-jis", "sjis", "x-sjis"), "cp932"),
    **dict.fromkeys(("euc-kr", "ks_c_5601-1987"), "cp949"),
    **{"iso-8859-9": "cp1254", "iso-8859-11": "cp874", "tis-620": "cp874", "big5": "big5hkscs"},
    **{"x-mac-cyrillic": "mac_cyrillic", "macintosh": "mac_roman", "iso-8859-8-i": "iso-8859-8"},
}
_CYRILLIC = r"\u0430-\u044f\u0451\u0454\u0456\u0457\u045e"
_KANA = "ぁ-んァ-ヶー"
# The commonest characters, which are about a third of any Chinese text.
_CHINESE = (
    "的一是不了在人有我他这這中大来來上个個国國到说說们們为為和你地出也时時年得就要下以生会會"
)
_LOOKS = (  # encoding, the characters that fill a text written in it, and their usual share
    ("cp1255", r"\u05d0-\u05ea", 0.9),  # before Cyrillic, which fills the same bytes and more
    ("cp1251", _CYRILLIC, 0.9),
    ("koi8-r", _CYRILLIC, 0.9),
    ("iso8859-5", _CYRILLIC, 0.9),
    ("cp866", _CYRILLIC, 0.9),
    ("cp932", _KANA, 0.4),
    ("euc_jp", _KANA, 0.4),
    ("gb18030", _CHINESE, 0.2),
    ("big5hkscs", _CHINESE, 0.2),
    ("cp949", "가-힣", 0.9),
    ("cp1253", r"\u03ac-\u03ce", 0.9),
    ("cp1256", r"\u0621-\u064a", 0.9),
)


def decode(body: bytes, content_type: str = "", is_markup: bool = True) -> str:
    """Return the text of a body whose Content-Type header is given.

    In order: byte order mark, header, `<meta>` or XML declaration (in markup), UTF-8, a guess. A
    charset that the bytes contradict is passed over; a character cut off at the end is dropped.
    """
    for mark, encoding in _BOMS:
        if body.startswith(mark):
            return _decoded(body[len(mark) :], encoding, "replace") or ""
    declared = list(_declared(body, content_type, is_markup))
    # Servers say Latin-1 by default, and any bytes are valid Latin-1: UTF-8 is tried before it.
    western = [name for name in declared if _WESTERN.fullmatch(name)]
    for encoding in [*(name for name in declared if name not in western), "utf-8"]:
        text = _decoded(body, encoding)
        if text is not None:
            return text
    encoding = "cp1252" if western else declared[0] if declared else guess(body)
    return _decoded(body, encoding, "replace") or ""


def guess(body: bytes) -> str:
    """Return the encoding that bytes look like which are neither ASCII nor UTF-8.

    Letters of Western languages stand alone among ASCII, those of others in rows.
    """
    sample = body[:50_000]
    rows = re.findall(rb"[\x80-\xff]{3,}", sample)
    if 2 * sum(map(len, rows)) < len(re.findall(rb"[\x80-\xff]", sample)):
        return "cp1252"
    scores = {name: _share(sample, name, letters) / usual for name, letters, usual in _LOOKS}
    best = max(scores, key=lambda name: scores[name])
    return best if scores[best] > 0.4 else "cp1252"


def _declared(body: bytes, content_type: str, is_markup: bool) -> list[str]:
    found = [match[1] for match in (_HEADER.search(content_type),) if match]
    if is_markup:
        inside = _XML.search(body[:1024]) or _META.search(body[:4096])
        if inside:
            name = inside[1].decode("ascii")
            # What could be read as ASCII is not UTF-16, whatever it says.
            found.append("utf-8" if name.lower().startswith(("utf-16", "utf-32")) else name)
    names = [name.lower() for name in found if _KNOWN.fullmatch(name)]
    return [_WIDER.get(name, name.removeprefix("x-")) for name in names]


def _decoded(body: bytes, encoding: str, errors: str = "strict") -> str | None:
    """Return the text, or None for an encoding that is unknown or that the bytes contradict."""
    try:
        return codecs.getincrementaldecoder(encoding)(errors).decode(body)
    except (UnicodeError, LookupError):
        return None


def _share(sample: bytes, encoding: str, letters: str) -> float:
    text = _decoded(sample, encoding)
    others = re.findall(r"[^\x00-\x7f]", text or "")
    return len(re.findall(f"[{letters}]", text or "")) / len(others) if others else 0.0
