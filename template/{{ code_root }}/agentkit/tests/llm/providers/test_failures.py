"""The text of an error: one line that can be shown, without secrets and soon made."""

from __future__ import annotations

import httpx2
import pytest

from ....errors import BadRequest, MalformedReply
from ....llm.providers.failures import disconnected, failure, no_json, one_line, reported
from ....observability.redact import add_secret

KEY = "canary0123456789" * 4


def test_no_half_of_a_secret_stays_at_the_cut() -> None:
    """Wherever it stands in a text of which only the beginning is looked at."""
    add_secret(KEY)
    for position in range(11_900, 20_100, 29):
        line = one_line("x" * position + KEY + "y" * 20_000)
        assert "canary" not in line
        assert len(line) < 500


def test_secrets_that_shrink_do_not_uncover_the_cut() -> None:
    """Masked, a text full of them is so short that its end is shown."""
    add_secret(KEY)
    for shift in range(len(KEY)):
        assert "canary" not in one_line("x" * shift + KEY * 2000)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("half \ud83d a pair", "half \ufffd a pair"),
        ("\x1b[31mred\x1b[0m", "[31mred [0m"),
        ("a\x00b\x07c\x7fd\x9be", "a b c d e"),
        ("a\r\nb\tc\u2028d", "a b c d"),
        ("abc \u202egnp.exe", "abc gnp.exe"),
        ("Nghĩa là 🌍", "Nghĩa là 🌍"),
    ],
)
def test_an_error_text_can_be_shown_and_stored(text: str, line: str) -> None:
    """No half of a surrogate pair, nothing that drives a terminal, in one line."""
    assert one_line(text) == line
    assert str(reported("openai", {"message": text})) == f"openai failed: {line}"


def test_every_error_of_the_wire_is_cleaned() -> None:
    """Whichever of them a server's bytes get into."""
    odd = "\x1b[2J\x9b\u202e"
    errors = [
        failure("openai", 400, f'{{"error":{{"message":"{odd}\\ud83d"}}}}'.encode(), {}),
        reported("openai", {"message": "m", "param": f"{odd}\ud83d"}),
        disconnected(
            "openai", "http://h/", httpx2.RemoteProtocolError(f"illegal line {odd}\ud83d")
        ),
        no_json("openai", odd.encode()),
    ]
    for error in errors:
        assert str(error).encode()
        assert not set("\x1b\x9b\u202e").intersection(str(error))


def test_of_a_long_body_only_the_beginning_is_looked_at() -> None:
    """It is the event loop that would wait for the rest."""
    long = b'{"error":{"message":"' + b"x" * 2**22
    assert len(str(failure("openai", 400, long + b'"}}', {}))) < 500
    assert len(str(no_json("openai", long))) < 300
    assert len(str(reported("openai", {"message": "x" * 2**22}))) < 500


@pytest.mark.parametrize("code", ["9" * 5000, "-12", "400.5", {"a": 1}, None])
def test_a_code_that_is_no_status_is_no_status(code: object) -> None:
    """Then the text decides."""
    assert type(reported("openai", {"message": "m", "code": code})) is MalformedReply


def test_an_error_that_is_nested_too_deep_is_one_line() -> None:
    """A body can be nested deeper than Python writes out."""
    error: object = "end"
    for _ in range(100_000):
        error = {"a": error}
    assert "nested too deep" in str(reported("openai", error))
    deep = b'{"error":' + b'{"a":' * 900 + b"1" + b"}" * 901
    assert type(failure("openai", 400, deep, {})) is BadRequest
