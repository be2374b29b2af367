"""Plain data as YAML text."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped, unused-ignore]

from ...observability.yaml_text import block, inline

LOADERS = [yaml.SafeLoader] + ([yaml.CSafeLoader] if yaml.__with_libyaml__ else [])

TEXTS = {
    "empty": "",
    "word": "word",
    "words": "two words",
    "looks like a boolean": "yes",
    "looks like a boolean in capitals": "OFF",
    "one letter that old loaders take for a boolean": "n",
    "looks like nothing": "null",
    "tilde": "~",
    "looks like a number": "1e3",
    "looks like base 60": "12:30",
    "looks like a date": "2025-01-02",
    "looks like infinity": ".inf",
    "merge key": "<<",
    "colon and comment": "key: value # no comment",
    "quotes and backslash": "\"double\" 'single' \\n",
    "starts with a dash": "- item",
    "document marker": "---\nnext",
    "document end": "a\n...\n",
    "directive": "%YAML 1.1\nx",
    "leading space": "  indented\nnot indented",
    "leading break": "\n\nlate",
    "leading tab": "\tcode\nmore",
    "only breaks": "\n\n\n",
    "only white space": "  \n\t ",
    "one final break": "a\nb\n",
    "many final breaks": "a\nb\n\n\n",
    "final spaces": "a\nb   ",
    "blank lines between": "a\n\n\n   \n\nb",
    "long line": "word " * 60,
    "long line without spaces": "x" * 500,
    "carriage return": "a\r\nb\rc",
    "control characters": "bell \x07 null \x00 escape \x1b[31m\nnext line",
    "delete": "a\x7fb",
    "c1 control": "a\x85b\x9fc\nnext",
    "unicode line breaks": "a\u2028b\u2029c\nnext",
    "byte order mark": "\ufeffa\nb",
    "no character": "a\ufffe\uffff\nb",
    "soft hyphen and no-break space": "a\xadb\xa0c\nd",
    "astral": "🙂 数据 é\nnext",
    "astral with control": "🙂\x07\nnext",
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
def test_every_text_reads_back_as_key_value_and_item(text: str) -> None:
    """A text comes back equal wherever it stands, also with other things after it."""
    data = {text or "empty": text, "list": [text, [text, {"deep": text}]], "after": 1}
    for loader, written in product(LOADERS, (block(data), inline(data))):
        assert yaml.load(written, loader) == data


@pytest.mark.parametrize(
    "value",
    [
        *(None, True, False, 0, -5, 10**40, 0.1, -0.0, 1e-6, 1e16, 1.5e300, math.inf, -math.inf),
        *([], {}, [[]], [{}], {"a": {}}, {"a": []}, [1, [2, [3]]], [{"a": 1, "b": [2]}, "x"]),
        {"many": list(range(50))},
    ],
)
def test_every_value_reads_back(value: Any) -> None:
    """Numbers keep their type, empty collections stay what they are."""
    data = {"value": value, "items": [value]}
    for loader, written in product(LOADERS, (block(data), inline(data))):
        loaded = yaml.load(written, loader)
        assert loaded == data
        assert type(loaded["value"]) is type(value)


def test_not_a_number_reads_back() -> None:
    """NaN is written in a form that loaders know."""
    assert math.isnan(yaml.safe_load(block({"value": math.nan}))["value"])


def test_a_key_longer_than_loaders_allow_reads_back() -> None:
    """Very long keys, with any kind of value, take the explicit form."""
    data = {"k" * 1_100: "text", "é\n" * 600: {"a": {"b": [1] * 20}}, "z" * 2_000: "a\nb\n"}
    assert yaml.safe_load(block({"outer": [data]})) == {"outer": [data]}


def test_shared_objects_are_written_twice_without_anchors() -> None:
    """A reader never has to look for an anchor somewhere else."""
    shared = {"text": "some\ntext"}
    text = block({"first": shared, "second": [shared, shared]})
    assert text.count("some") == 3
    assert "&" not in text
    assert "*" not in text


def test_multi_line_text_is_a_literal_block() -> None:
    """People read text with its line breaks, not with escapes."""
    assert block({"text": "one\n  two\n"}) == "text: |\n  one\n    two\n"


def test_a_long_line_is_a_literal_block() -> None:
    """Quotes in a long text need no escapes."""
    text = 'say "hello" ' * 10 + "."
    assert block({"text": text}) == f"text: |-\n  {text}\n"


def test_small_collections_stand_on_one_line() -> None:
    """Settings and token counts read as one line."""
    data = {"usage": {"input": 1, "output": 2}, "tools": ["a", "b"]}
    assert block(data) == "usage: {input: 1, output: 2}\ntools: [a, b]\n"


def test_an_indented_block_reads_back_as_an_item() -> None:
    """A block made for column 0 may be moved to the right as a whole."""
    data = {"text": "  one\n\ntwo\n\n", "list": [{"a": "x\ny"}]}
    moved = "items:\n  - " + block(data)[:-1].replace("\n", "\n    ") + "\n"
    assert yaml.safe_load(moved) == {"items": [data]}


def test_lone_surrogates_become_the_replacement_character() -> None:
    """What no file can hold does not stop the writing."""
    text = block({"short": "a\ud83d", "long": "b\ude00\n" * 50, "key\ud800": 1})
    assert yaml.safe_load(text.encode())["short"] == "a\ufffd"


def test_other_objects_are_written_as_their_text() -> None:
    """A key or a value that is no plain data does not stop the writing."""
    data = {"outer": {1: {"value": 2 + 3j, "tuple": (1, 2)}}}
    assert yaml.safe_load(block(data)) == {"outer": {"1": {"value": "(2+3j)", "tuple": [1, 2]}}}


def test_a_line_of_json_is_not_escaped() -> None:
    """Quotes and backslashes in a short text stand as they are."""
    assert block({"text": '{"it\'s": "a\\n"}'}) == "text: '{\"it''s\": \"a\\n\"}'\n"
