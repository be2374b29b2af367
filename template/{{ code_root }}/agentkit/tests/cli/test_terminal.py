"""Tests of text on a terminal."""

from __future__ import annotations

import pytest

from ...cli.terminal import amounts, dollars, one_line, plain
from ...messages import Usage


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain ễ 🙂 [bold]", "plain ễ 🙂 [bold]"),
        ("a\x1b[1;31mb\x1b[0mc", "abc"),
        ("a\x1b]0;title\x07b\x1b]8;;http://x\x1b\\c", "abc"),
        ("a\x1bP1$r0m\x1b\\b\x1b_x\x1b\\c", "abc"),
        ("a\x1bcb\x1b(0c", "abc"),
        ("a\x9b2Jb\x9d0;t\x9cc", "abc"),
        ("a\x00\x07\b\r\x7f\x85b", "ab"),
        ("a\x1b]0;never ended", "a0;never ended"),
        ("rm \u202egpj.exe\u2066", "rm gpj.exe"),
        ("a\tb\r\nc\n", "a\tb\nc\n"),
    ],
)
def test_what_drives_a_terminal_is_dropped(text: str, shown: str) -> None:
    """Sequences and controls go, all other text stays, with its lines and tabs."""
    assert plain(text) == shown


def test_a_sequence_in_two_pieces_is_harmless() -> None:
    """Streamed text may be cut anywhere: what is left of a sequence is only text."""
    assert plain("a\x1b") + plain("[2Jb") == "a[2Jb"


@pytest.mark.parametrize("opening", ["\x1b]", "\x1bP", "\x9d", "\x90", "\x9d0;", "\x1b[0", "\x9b "])
def test_a_text_made_to_be_slow_is_searched_in_one_pass(opening: str) -> None:
    """Were each sequence without an end searched to the end of the text, this would take hours."""
    many = 1_000_000 // len(opening)
    assert "\x1b" not in plain(opening * many)


@pytest.mark.parametrize(
    ("text", "line"),
    [("short", "short"), ("a\n  b\tc", "a b c"), ("x" * 20, "xxxxxxx..."), ("x" * 10, "x" * 10)],
)
def test_one_line_fits(text: str, line: str) -> None:
    """Text becomes one line, cut at the end where it is too long."""
    assert one_line(text, 10) == line


@pytest.mark.parametrize(
    ("cost", "text"),
    [(None, "price unknown"), (0.0, "$0.0000"), (0.00001, "<$0.0001"), (1.5, "$1.5000")],
)
def test_costs_are_told_apart(cost: float | None, text: str) -> None:
    """Unknown, nothing and next to nothing are three things."""
    assert dollars(cost) == text


def test_amounts_are_tokens_and_cost() -> None:
    """One line says what a turn took."""
    assert amounts(Usage(10, 2), 0.25) == "10 in + 2 out tokens, $0.2500"
