"""What a developer sets for an API: key, address, options. A mistake costs no request."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ..errors import ConfigError, FetchError
from ..observability.redact import add_secret, add_url_secrets, mask
from ..texts import clean
from .http import parse_url


def resolve_api_key(api: str, key: str | None, variable: str, where: str) -> str:
    """Return the key, else that of the environment; a blank one counts as missing.

    Raises `ConfigError` that names the variable, and `where` a key can be had.
    """
    key = (key or "").strip() or os.environ.get(variable, "").strip()
    if not key:
        raise ConfigError(
            f"{variable} is not set, and {api} needs a key. Set it in the environment or in "
            f".env, or give it as api_key; keys are at {where}"
        )
    add_secret(key)
    if not re.fullmatch(r"[!-~]+", key):  # a header cannot carry it
        raise ConfigError(f"{variable}: the key of {api} holds a space or a special character")
    return key


def check_base_url(api: str, url: str) -> str:
    """Return the address of an API without a slash at its end.

    Raises `ConfigError` for what is no such address, or one with a query: a key in it would leak.
    """
    add_url_secrets(url)
    try:
        target = parse_url(url)
    except FetchError as error:
        raise ConfigError(f"{api}: {error}") from None
    if target.query:
        raise ConfigError(f"{api}: the address {mask(url)[:200]!r} must not have a query")
    return str(target).rstrip("/")


class Rule(NamedTuple):
    """What an option may be: the check, and the words that say it."""

    fits: Callable[[Any], bool]
    expected: str


FLAG = Rule(lambda value: isinstance(value, bool), "True or False")


def whole(low: int, high: int) -> Rule:
    """Return the rule for whole numbers of a range, both ends included."""
    return Rule(
        lambda value: type(value) is int and low <= value <= high,
        f"a whole number from {low:,} to {high:,}",
    )


def choice(*values: str) -> Rule:
    """Return the rule for one of a few words."""
    return Rule(lambda value: value in values, " or ".join(map(repr, values)))


def pattern(expression: str, expected: str) -> Rule:
    """Return the rule for texts that match a regular expression as a whole."""
    whole_text = re.compile(expression).fullmatch
    return Rule(lambda value: isinstance(value, str) and whole_text(value) is not None, expected)


def check_options(
    api: str, options: Mapping[str, Any], rules: Mapping[str, Rule]
) -> dict[str, Any]:
    """Return the options that are set; one that is None is not.

    Raises `ConfigError` for an unknown option and for a value that does not fit.
    """
    for name, value in options.items():
        if name not in rules:
            raise ConfigError(f"{api}: there is no option {name!r}; known: {', '.join(rules)}")
        if value is not None and not rules[name].fits(value):
            shown = mask(repr(value))[:100]
            raise ConfigError(f"{api}: {name} is {shown}, but must be {rules[name].expected}")
    return {name: value for name, value in options.items() if value is not None}


def check_query(api: str, query: str, most_characters: int, most_words: int) -> str:
    """Return the query on one line. Raises `FetchError` for one that is empty or too long."""
    words = clean(query).split()
    text = " ".join(words)
    if not text:
        raise FetchError(f"{api}: the query is empty; say what to search for")
    if len(text) > most_characters or len(words) > most_words:
        raise FetchError(
            f"{api}: the query has {len(text):,} characters and {len(words):,} words, "
            f"at most {most_characters:,} and {most_words:,} are taken; shorten it"
        )
    return text
