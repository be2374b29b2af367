"""Brave Search: web results as values, single or in paced batches, from code or as a tool.

The API: https://api-dashboard.search.brave.com/api-reference/web/search/get
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from typing import Any, Literal, TypedDict, Unpack

import httpx2

from ..errors import AgentkitError, ConfigError, FetchError, ToolError
from ..retry import Backoff
from ..tools.tool import Tool, tool
from .api_settings import (
    FLAG,
    Rule,
    check_base_url,
    check_options,
    check_query,
    choice,
    pattern,
    resolve_api_key,
    whole,
)
from .brave_results import NAME, SearchResult, for_model, read_failure, read_results
from .json_api import JsonApi

BASE_URL = "https://api.search.brave.com/res/v1"
TIMEOUT = 15.0  # seconds for one search, its retries and waits included

Freshness = Literal["pd", "pw", "pm", "py"]


@dataclass(frozen=True, slots=True)
class SearchOutcome:
    """What one query of a batch came to: results, or the error it met."""

    query: str
    results: tuple[SearchResult, ...] = ()
    error: FetchError | None = None


class SearchOptions(TypedDict, total=False):
    """Options of a search; what is left out is Brave's own default.

    `offset` counts pages of `count` results. `freshness` is the last day, week, month or year
    (pd, pw, pm, py) or a range such as `2026-01-01to2026-03-31`. `goggles` is the address of a
    ranking. Some plans have no `extra_snippets`.
    """

    count: int
    offset: int
    freshness: str
    safesearch: Literal["off", "moderate", "strict"]
    country: str
    search_lang: str
    ui_lang: str
    spellcheck: bool
    extra_snippets: bool
    goggles: str


def _is_freshness(value: Any) -> bool:
    if value in ("pd", "pw", "pm", "py"):
        return True
    found = re.fullmatch(r"(\d{4}-\d\d-\d\d)to(\d{4}-\d\d-\d\d)", str(value))
    try:
        return found is not None and date.fromisoformat(found[1]) <= date.fromisoformat(found[2])
    except ValueError:
        return False


_RULES = {
    "count": whole(1, 20),
    "offset": whole(0, 9),
    "freshness": Rule(_is_freshness, "'pd', 'pw', 'pm', 'py' or YYYY-MM-DDtoYYYY-MM-DD"),
    "safesearch": choice("off", "moderate", "strict"),
    "country": pattern(r"[A-Z]{2}|ALL", "two capital letters such as 'DE', or 'ALL'"),
    "search_lang": pattern(r"[a-z]{2,3}(-[a-z]+)?", "a language such as 'en' or 'pt-br'"),
    "ui_lang": pattern(r"[a-z]{2}-[A-Z]{2}", "a language and country such as 'de-AT'"),
    "spellcheck": FLAG,
    "extra_snippets": FLAG,
    "goggles": pattern(r"https://\S+", "an address that begins with https://"),
}


class BraveSearch:
    """Searches the web. The key is `api_key` or BRAVE_API_KEY.

    `timeout` bounds one search in seconds, with its retries. Close it with `aclose()` or use it
    as a context manager. Raises `ConfigError` without a key; `transport` is for tests.
    """

    def __init__(
        self,
        api_key: str | None = None,
        *,
        timeout: float = TIMEOUT,
        base_url: str = BASE_URL,
        backoff: Backoff | None = None,
        transport: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        where = "https://api-dashboard.search.brave.com"
        key = resolve_api_key(NAME, api_key, "BRAVE_API_KEY", where)
        self._url = check_base_url(NAME, base_url) + "/web/search"
        self._api = JsonApi(
            NAME,
            "BRAVE_API_KEY",
            {"x-subscription-token": key},
            read_failure,
            timeout=timeout,
            backoff=backoff,
            transport=transport,
        )

    async def search(self, query: str, **options: Unpack[SearchOptions]) -> list[SearchResult]:
        """Return the web results of a query, best first; none is an empty list.

        Raises `ConfigError` for options that do not fit, `FetchError` for all else.
        """
        parameters = _parameters(options)
        text = check_query(NAME, query, most_characters=400, most_words=50)
        url = httpx2.URL(self._url, params={"q": text, **parameters})
        async with self._api.deadline() as limit:
            body = await self._api.ask(limit, "GET", str(url))
        return read_results(body)

    async def search_many(
        self, queries: Iterable[str], rps: float = 1.0, **options: Unpack[SearchOptions]
    ) -> list[SearchOutcome]:
        """Search one query after the other, at most `rps` in a second; outcomes keep the order.

        A query that fails has its error in its outcome and the rest goes on. Raises `ConfigError`
        for options that do not fit, before anything is sent.
        """
        if isinstance(queries, str):
            raise ConfigError(f"{NAME}: search_many takes a list of queries, not one text")
        if not rps > 0:
            raise ConfigError(f"{NAME}: rps is {rps!r}, but must be a number above 0")
        outcomes: list[SearchOutcome] = []
        for query in queries:
            if outcomes:  # counted from the end of the last one: what matters is when they arrive
                await self._api.backoff.sleep(1 / rps)
            try:
                results = await self.search(query, **options)
                outcomes.append(SearchOutcome(query, tuple(results)))
            except FetchError as error:
                outcomes.append(SearchOutcome(query, error=error))
        return outcomes

    def as_tool(self, name: str = "brave_search", **options: Unpack[SearchOptions]) -> Tool:
        """Return a tool that searches with these options; results are marked as untrusted."""
        _parameters(options)

        @tool(name=name, timeout=self._api.timeout + 1)  # the search ends by itself before that
        async def search_web(
            query: str, count: int | None = None, freshness: Freshness | None = None
        ) -> str:
            """Search the web and get titles, addresses and short descriptions.

            query: up to 50 words; operators such as site:example.com and "quoted words" work.
            count: how many results, 1 to 20.
            freshness: only pages of the last day (pd), week (pw), month (pm) or year (py).
            """
            chosen = options.copy()
            if count is not None:
                chosen["count"] = count
            if freshness is not None:
                chosen["freshness"] = freshness
            try:
                return for_model(query, await self.search(query, **chosen))
            except AgentkitError as error:
                raise ToolError(str(error)) from None

        return search_web

    async def aclose(self) -> None:
        """Close this event loop's connections."""
        await self._api.aclose()

    async def __aenter__(self) -> BraveSearch:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


def _parameters(options: SearchOptions) -> dict[str, Any]:
    # Only web results are read, and without marks round the words that matched.
    own = {"result_filter": "web", "text_decorations": False}
    return own | check_options(NAME, dict(options), _RULES)
