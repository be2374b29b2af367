"""Known secrets and what looks like one, in every form and in every sink."""

from __future__ import annotations

import base64
import json
import logging
from typing import Any
from urllib.parse import quote, quote_plus

import pytest

from ...observability.redact import (
    LONGEST_TEXT,
    add_environment,
    add_secret,
    add_url_secrets,
    exception_text,
    is_secret_name,
    mask,
    mask_known,
    shorten,
)

SECRET = 'canary/+ "ünd" &=0123'


@pytest.mark.checklist("secrets")
@pytest.mark.parametrize(
    "spell",
    [
        str,
        quote,
        quote_plus,
        lambda text: quote(text, safe=""),
        json.dumps,
        lambda text: json.dumps(text, ensure_ascii=False),
        repr,
        *(
            lambda text, shift=shift: base64.b64encode(b"x" * shift + text.encode()).decode()
            for shift in range(3)
        ),
        lambda text: base64.urlsafe_b64encode(f"user:{text}:more".encode()).decode(),
    ],
    ids=[
        *("plain", "quote", "quote_plus", "quote_all", "json", "json_unicode", "repr"),
        *("base64", "base64_1", "base64_2", "base64_url"),
    ],
)
def test_a_known_secret_is_masked_in_every_spelling(spell: Any) -> None:
    """URL-encoded, JSON-escaped, in base64: none of it comes through."""
    add_secret(SECRET)
    spelled = spell(SECRET)
    masked = mask_known(f"before {spelled} after")
    assert masked.startswith("before ")
    assert masked.endswith(" after")
    assert "***" in masked
    assert spelled not in masked


@pytest.mark.checklist("secrets")
def test_a_secret_that_contains_another_is_masked_whole() -> None:
    """The longer one is replaced first, so nothing of it is left over."""
    add_secret("canary-0123")
    add_secret("canary-0123-tail")
    assert mask_known("canary-0123-tail canary-0123") == "*** ***"


@pytest.mark.parametrize("value", [None, "", "none", "abc"])
def test_blanks_and_placeholders_are_no_secrets(value: str | None) -> None:
    """A key like "none" would garble every log."""
    add_secret(value)
    assert mask_known("none of abc") == "none of abc"


@pytest.mark.checklist("secrets")
@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("api_key=abc123 x", "api_key=*** x"),
        ("https://h/p?a=1&key=abc&b=2", "https://h/p?a=1&key=***&b=2"),
        ("Authorization: Bearer abc.def-123", "Authorization: Bearer ***"),
        ("postgres://user:pass@host/db", "postgres://user:***@host/db"),
        ('{"password": "hunter2", "n": 1}', '{"password": "***", "n": 1}'),
        ("invalid key sk-proj-0123456789abcdefgh.", "invalid key ***."),
        ("https://h/f?code=abc&sig=d%3D&x=1", "https://h/f?code=***&sig=***&x=1"),
        ("subscription-key=abc x-functions-key=def", "subscription-key=*** x-functions-key=***"),
        ("Config(accessToken='a b', pwd=\"c\")", "Config(accessToken='***', pwd=\"***\")"),
        ('{"private_key": "-----BEGIN KEY-----\\nMII"}', '{"private_key": "***"}'),
        ("got Authorization=Bearer abc.def-123", "got Authorization=*** ***"),
    ],
)
def test_what_looks_like_a_secret_is_masked(text: str, masked: str) -> None:
    """Nobody has to know a secret for it to be masked where its place gives it away."""
    assert mask(text) == masked


@pytest.mark.parametrize(
    "text",
    [
        *(
            "max_tokens=100",
            "tokens=100",
            "'total_tokens': '5'",
            "the token count is 5",
            "code=404",
        ),
        *("10:30@noon", "a secret place", "task-force", "author=me", "sort_key=name"),
    ],
)
def test_plain_language_is_not_masked(text: str) -> None:
    """Words that only sound like secrets stay readable."""
    assert mask(text) == text


@pytest.mark.parametrize(
    ("name", "secret"),
    [
        *((n, True) for n in ("api_key", "apiKey", "X-Api-Key", "Authorization", "cookie")),
        *((n, True) for n in ("client_secret", "DB_PASSWORD", "x-goog-key", "openaiApiKey")),
        *((n, True) for n in ("token", "tokens", "private_key", "privateKey", "pwd", "auth")),
        *((n, True) for n in ("passphrase", "X-Amz-Signature", "sig", "Ocp-Apim-Subscription-Key")),
        *((n, False) for n in ("max_tokens", "inputTokens", "cache_read_tokens", "total_tokens")),
        *((n, False) for n in ("key", "code", "name", "author", "design", "tokenizer")),
    ],
)
def test_names_tell_secrets_from_other_values(name: str, secret: bool) -> None:
    """Headers and parameters are judged by their names; token counts are no secrets."""
    assert is_secret_name(name) is secret


@pytest.mark.checklist("secrets")
def test_environment_variables_named_like_keys_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """The value of BRAVE_API_KEY is masked even if only a tool ever uses it."""
    monkeypatch.setenv("BRAVE_API_KEY", "canary-brave-1")
    monkeypatch.setenv("HOME_PAGE", "not-a-secret")
    add_environment()
    assert mask_known("canary-brave-1 not-a-secret") == "*** not-a-secret"


@pytest.mark.checklist("secrets")
def test_what_a_url_carries_is_known() -> None:
    """Its password and key-like parameters are masked, decoded as well."""
    add_url_secrets("https://me:pass%20word1@host/?api_key=canary-9&code=canary-8&page=123456")
    assert mask_known("pass word1 canary-9 canary-8 123456") == "*** *** *** 123456"


@pytest.mark.parametrize(
    "text", ["a=" * 100_000, "token=" * 50_000, "a-" * 100_000, '"a' * 100_000]
)
def test_a_text_made_to_be_slow_is_masked_in_one_pass(text: str) -> None:
    """Were it searched from each place to its end, this would take hours."""
    assert len(mask(text)) <= len(text)


def test_secrets_may_be_added_while_a_text_is_masked() -> None:
    """A thread that masks does not stumble over one that adds."""
    add_secret("canary-first")

    class Slow(str):
        def __contains__(self, form: object) -> bool:
            add_secret(f"another-{form}")  # what a second thread might do at this very moment
            return str(form) in str(self)

    assert mask_known(Slow("canary-first")) == "***"


def test_the_text_of_a_group_is_its_root_cause() -> None:
    """People read what went wrong, not that several tasks ran."""
    group = ExceptionGroup("tasks", [ExceptionGroup("inner", [OSError("disk")])])
    assert exception_text(group) == "OSError: disk"


def test_long_text_keeps_head_and_tail() -> None:
    """A text over the limit says how much was left out."""
    text = "a" * LONGEST_TEXT + "b" * LONGEST_TEXT
    short = shorten(text)
    assert len(short) < LONGEST_TEXT + 100
    assert short.startswith("aaa")
    assert short.endswith("bbb")
    assert f"{LONGEST_TEXT} characters left out" in short
    assert shorten("a" * LONGEST_TEXT) == "a" * LONGEST_TEXT


def test_a_library_does_not_log_a_known_secret(caplog: pytest.LogCaptureFixture) -> None:
    """httpx2 logs the whole URL of each request at INFO, a key in its query included."""
    add_secret("canary-key-12345")
    with caplog.at_level("INFO", logger="httpx2"):
        logging.getLogger("httpx2").info("HTTP Request: %s", "http://h/v1?key=canary-key-12345")
    assert caplog.messages == ["HTTP Request: http://h/v1?key=***"]


@pytest.mark.parametrize("key", ["gsk_" + "a1" * 12, "AIza" + "b2" * 12, "sk-ant-" + "c3" * 12])
def test_what_looks_like_a_key_is_masked_in_an_error(key: str) -> None:
    """A key that was pasted into the wrong place is not known as one, but has its shape."""
    assert key not in mask(f"no model after {key}/")
