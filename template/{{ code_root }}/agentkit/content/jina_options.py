"""Options of Jina's reader and search: what they may be, and how they travel."""

from __future__ import annotations

from typing import Any, Literal, TypedDict

from ..errors import ConfigError
from .api_settings import FLAG, Rule, check_options, choice, pattern, whole

NAME = "Jina"

_HEADER = pattern(r"[ -~]*[!-~]", "a text of plain ASCII on one line")
_LOCALE = pattern(r"[a-z]{2}(-[A-Za-z]{2})?", "a language such as 'en' or 'pt-BR'")


class ReadOptions(TypedDict, total=False):
    """Options of the reader; what is left out is Jina's own default.

    Selectors are CSS; `page_timeout` is how many seconds Jina waits for the page to come to rest;
    a page of more tokens than `token_budget` is refused. `do_not_track` keeps it out of Jina's
    cache, `no_cache` does not take it from there.
    """

    engine: Literal["browser", "direct", "cf-browser-rendering"]
    return_format: Literal["markdown", "text"]
    page_timeout: int
    target_selector: str
    wait_for_selector: str
    remove_selector: str
    retain_images: Literal["none", "alt", "all"]
    with_links: bool
    with_generated_alt: bool
    with_iframe: bool
    with_shadow_dom: bool
    token_budget: int
    locale: str
    proxy: str
    no_cache: bool
    do_not_track: bool


class SearchOptions(TypedDict, total=False):
    """Options of a search; what is left out is Jina's own default.

    With `with_content` Jina also reads each page that it found, which is slow and costs thousands
    of tokens; without it a result has a description only.
    """

    count: int
    page: int
    country: str
    language: str
    location: str
    site: str
    with_content: bool
    no_cache: bool


_READ: dict[str, tuple[str, Rule]] = {
    "engine": ("x-engine", choice("browser", "direct", "cf-browser-rendering")),
    "return_format": ("x-return-format", choice("markdown", "text")),
    "page_timeout": ("x-timeout", whole(1, 180)),
    "target_selector": ("x-target-selector", _HEADER),
    "wait_for_selector": ("x-wait-for-selector", _HEADER),
    "remove_selector": ("x-remove-selector", _HEADER),
    "retain_images": ("x-retain-images", choice("none", "alt", "all")),
    "with_links": ("x-with-links-summary", FLAG),
    "with_generated_alt": ("x-with-generated-alt", FLAG),
    "with_iframe": ("x-with-iframe", FLAG),
    "with_shadow_dom": ("x-with-shadow-dom", FLAG),
    "token_budget": ("x-token-budget", whole(1, 10_000_000)),
    "locale": ("x-locale", _LOCALE),
    "proxy": ("x-proxy", pattern(r"auto|none|[a-z]{2}", "'auto', 'none' or a country like 'de'")),
    "no_cache": ("x-no-cache", FLAG),
    "do_not_track": ("dnt", FLAG),
}
_READ_RULES = {name: rule for name, (_, rule) in _READ.items()}
_SEARCH_BODY = {
    "count": "num",
    "page": "page",
    "country": "gl",
    "language": "hl",
    "location": "location",
}
_SEARCH_RULES = {
    "count": whole(1, 20),
    "page": whole(1, 100),
    "country": pattern(r"[A-Za-z]{2}", "two letters such as 'DE'"),
    "language": _LOCALE,
    "location": pattern(r"\S.{0,199}", "a place such as 'Berlin, Germany'"),
    "site": pattern(r"([A-Za-z0-9-]+\.)+[A-Za-z]{2,}", "a domain such as 'example.com'"),
    "with_content": FLAG,
    "no_cache": FLAG,
}


def read_headers(options: ReadOptions, timeout: float) -> dict[str, str]:
    """Return the reader's options as headers; `timeout` is the client's own, in seconds.

    Raises `ConfigError` for what does not fit.
    """
    chosen = check_options(NAME, options, _READ_RULES)
    if chosen.get("page_timeout", 0) >= timeout:
        raise ConfigError(f"{NAME}: page_timeout must be less than the timeout, {timeout:g} s")
    sent = {_READ[name][0]: value for name, value in chosen.items() if value is not False}
    return {header: _header(header, value) for header, value in sent.items()}


def search_request(options: SearchOptions) -> tuple[dict[str, Any], dict[str, str]]:
    """Return a search's options as body and headers. Raises `ConfigError` for what does not fit."""
    chosen = check_options(NAME, options, _SEARCH_RULES)
    body = {field: chosen[name] for name, field in _SEARCH_BODY.items() if name in chosen}
    headers = {} if chosen.get("with_content") else {"x-respond-with": "no-content"}
    if chosen.get("no_cache"):
        headers["x-no-cache"] = "true"
    if "site" in chosen:
        headers["x-site"] = chosen["site"]
    return body, headers


def _header(header: str, value: object) -> str:
    if value is True:
        return "1" if header == "dnt" else "true"
    return str(value)
