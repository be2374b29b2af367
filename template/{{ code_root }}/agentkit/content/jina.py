"""Jina: web search, and a reader that renders a page elsewhere and returns it as text.

The API: https://jina.ai/reader. A page is fetched by Jina's servers, so its address is told to
them: only public ones are.
"""

from __future__ import annotations

from typing import Any, Unpack

import httpx2

from ..errors import AgentkitError, ConfigError, ToolError
from ..retry import Backoff
from ..texts import encode_json
from ..tools.tool import Tool, tool
from ..tools.untrusted import LONGEST
from .address_guard import AddressGuard, Resolve, resolve
from .api_settings import check_base_url, check_query, resolve_api_key
from .document import Document, for_model
from .http import parse_url
from .jina_options import NAME, ReadOptions, SearchOptions, read_headers, search_request
from .jina_replies import read_failure, read_page, read_results, results_for_model
from .json_api import JsonApi

READER_URL = "https://r.jina.ai"
SEARCH_URL = "https://s.jina.ai"
TIMEOUT = 45.0  # seconds for one search or page, its retries and waits included


class JinaScraper:
    """Searches the web and reads pages. The key is `api_key` or JINA_API_KEY.

    `timeout` bounds one call in seconds, with its retries; of a page's text the first
    `max_characters` are kept. Close it with `aclose()` or use it as a context manager. Raises
    `ConfigError` without a key; `resolve` and `transport` are for tests.
    """

    def __init__(
        self,
        api_key: str | None = None,
        *,
        timeout: float = TIMEOUT,
        max_characters: int = LONGEST,
        reader_url: str = READER_URL,
        search_url: str = SEARCH_URL,
        backoff: Backoff | None = None,
        resolve: Resolve = resolve,
        transport: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        key = resolve_api_key(NAME, api_key, "JINA_API_KEY", "https://jina.ai/?sui=apikey")
        self._reader_url = check_base_url(NAME, reader_url) + "/"
        self._search_url = check_base_url(NAME, search_url) + "/"
        if max_characters < 1:
            raise ConfigError(f"{NAME}: max_characters is {max_characters}, but must be above 0")
        self._max_characters = max_characters
        self._guard = AddressGuard(resolve=resolve)
        self._api = JsonApi(
            NAME,
            "JINA_API_KEY",
            {"authorization": f"Bearer {key}", "content-type": "application/json"},
            read_failure,
            timeout=timeout,
            backoff=backoff,
            transport=transport,
        )

    async def search(self, query: str, **options: Unpack[SearchOptions]) -> list[Document]:
        """Return what a query finds, best first; nothing is an empty list.

        Raises `ConfigError` for options that do not fit, `FetchError` for all else.
        """
        body, headers = search_request(options)
        body["q"] = check_query(NAME, query, most_characters=2_000, most_words=400)
        async with self._api.deadline() as limit:
            reply = await self._api.ask(limit, "POST", self._search_url, headers, _encode(body))
        return read_results(reply, self._max_characters)

    async def fetch(self, url: str, **options: Unpack[ReadOptions]) -> Document:
        """Return a page, or a PDF, as text with what is known about it.

        Raises `FetchError` when it cannot be had, when the page itself answers with an error, and
        for an address that is not on the public internet; `ConfigError` for options that do not
        fit.
        """
        headers = read_headers(options, self._api.timeout)
        target = parse_url(url)
        async with self._api.deadline() as limit:
            host = target.raw_host.decode("ascii")
            await self._guard.addresses(host, target.port or 443)
            body = _encode({"url": _with_route(target, url)})
            reply = await self._api.ask(limit, "POST", self._reader_url, headers, body)
        return read_page(reply, str(target), self._max_characters)

    def as_tool(self, name: str = "jina_read", **options: Unpack[ReadOptions]) -> Tool:
        """Return a tool that reads a page with these options, marked as untrusted."""
        read_headers(options, self._api.timeout)

        @tool(name=name, timeout=self._api.timeout + 1)  # it ends by itself before that
        async def read_page(url: str) -> str:
            """Read a web page or PDF as text; also pages that need JavaScript.

            url: the whole address, with https://
            """
            try:
                return for_model(await self.fetch(url, **options))
            except AgentkitError as error:
                raise ToolError(str(error)) from None

        return read_page

    def as_search_tool(self, name: str = "jina_search", **options: Unpack[SearchOptions]) -> Tool:
        """Return a tool that searches with these options; results are marked as untrusted."""
        search_request(options)

        @tool(name=name, timeout=self._api.timeout + 1)
        async def search_web(query: str) -> str:
            """Search the web and get titles, addresses and short descriptions.

            query: what to search for, in a few words.
            """
            try:
                return results_for_model(query, await self.search(query, **options))
            except AgentkitError as error:
                raise ToolError(str(error)) from None

        return search_web

    async def aclose(self) -> None:
        """Close this event loop's connections."""
        await self._api.aclose()

    async def __aenter__(self) -> JinaScraper:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


def _with_route(target: httpx2.URL, url: str) -> str:
    """Return the address with its fragment where that names a page: `#/users/7`."""
    fragment = httpx2.URL(url.strip()).fragment
    return str(target.copy_with(fragment=fragment) if fragment[:1] in ("/", "!") else target)


def _encode(body: dict[str, Any]) -> bytes:
    return encode_json(body).encode()
