"""LocalFetcher: a page, PDF, feed or text file as a Document, fetched by this process itself."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from http import HTTPStatus
from typing import Any, Self

import httpx2

from ..errors import FetchError, ToolError
from ..observability.redact import mask
from ..observability.run_context import RunContext
from ..texts import clean
from ..tools.tool import Tool, run_in_thread, tool
from .address_guard import AddressGuard, Resolve, resolve
from .charset import decode
from .document import Document, for_model, part
from .extract import extract_html
from .feed import feed_document
from .http import MAX_BYTES, TIMEOUT, Http, HttpReply
from .media_type import kind_of, refuse_unreadable
from .pdf import pdf_document

MAX_CHARS = 20_000  # of a document's text, about 5,000 tokens
PARSE_TIMEOUT = 10.0  # seconds
USER_AGENT = "Mozilla/5.0 (compatible; agentkit)"
ACCEPT = "text/html,application/xhtml+xml,application/pdf;q=0.9,text/*;q=0.9,*/*;q=0.5"


class LocalFetcher:
    """Fetches public pages: redirects are followed, private addresses refused.

    `timeout` bounds a whole download in seconds, `max_bytes` its decoded size, `max_chars` the
    text of a document. `allow_private=True` opens this machine and its local networks, a list such
    as `["192.168.7.0/24"]` just those networks. With `ctx`, each fetch leaves a debug file.
    `resolve` and `transport` are for tests.
    """

    def __init__(
        self,
        ctx: RunContext | None = None,
        *,
        timeout: float = TIMEOUT,
        max_bytes: int = MAX_BYTES,
        max_chars: int = MAX_CHARS,
        parse_timeout: float = PARSE_TIMEOUT,
        allow_private: bool | Sequence[str] = False,
        user_agent: str = USER_AGENT,
        resolve: Resolve = resolve,
        transport: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        self._ctx = ctx
        self._max_chars = max_chars
        self._parse_timeout = parse_timeout
        guard = AddressGuard(allow_private, resolve)
        always = {"user-agent": user_agent, "accept": ACCEPT}
        self._http = Http(timeout, max_bytes, guard, always, transport)

    async def fetch(
        self, url: str, *, start: int = 0, headers: Mapping[str, str] | None = None
    ) -> Document:
        """Return what is at a URL: at most `max_chars` of its text, from `start` on.

        `headers` are sent to the URL's own host, not to where it redirects. Raises `FetchError`,
        with the HTTP status if it is not 2xx.
        """
        try:
            reply = await self._http.get_public(url, headers, _check)
            document = part(await self._parsed(reply), self._max_chars, max(0, start))
        except FetchError as error:
            self._save({"url": mask(url), "error": str(error), "status": error.status})
            raise
        self._save({"url": mask(url), "headers": reply.headers, "document": document})
        return document

    def extract(self, html: str | bytes, url: str) -> Document:
        """Return the content of a page that was fetched elsewhere, from this address."""
        page = html if isinstance(html, str) else decode(html)
        return part(extract_html(page, url), self._max_chars)

    def as_tool(self) -> Tool:
        """Return the tool `fetch_page`: what it returns is marked as untrusted."""

        @tool(name="fetch_page", timeout=self._http.timeout + self._parse_timeout + 5)
        async def fetch_page(url: str, start: int = 0) -> str:
            """Fetch a public web page, PDF, feed or text file and return its readable text.

            Long texts come in parts: continue with `start` set to where the last part ended.
            """
            try:
                return for_model(await self.fetch(url, start=start), max(0, start))
            except FetchError as error:
                raise ToolError(str(error)) from None

        return fetch_page

    async def aclose(self) -> None:
        """Close this event loop's connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.aclose()

    async def _parsed(self, reply: HttpReply) -> Document:
        """Parse in a thread, so that a big page does not hold up everything else."""
        try:
            async with asyncio.timeout(self._parse_timeout):
                document: Document = await run_in_thread(partial(read_document, reply))
        except TimeoutError:
            late = f"reading {mask(reply.url)[:200]} took more than {self._parse_timeout:g} s"
            raise FetchError(late) from None
        return document

    def _save(self, content: dict[str, Any]) -> None:
        if self._ctx is not None:
            name = f"{self._ctx.next_id():04d}-fetch.json"
            self._ctx.save_debug_file(name, content, stage_dir="local-fetcher")


def read_document(reply: HttpReply) -> Document:
    """Return the document in a reply. Raises `FetchError` for what holds no text."""
    if not reply.body.strip():
        note = f"The server sent no content (HTTP {reply.status})."
        return Document(reply.url, reply.url, content_type=reply.content_type or None, note=note)
    shown = mask(reply.url)[:200]
    header = reply.headers.get("content-type", "")
    kind = kind_of(reply.content_type, header, reply.body, shown)
    if kind == "pdf":
        if reply.truncated:
            raise FetchError(f"the PDF is larger than {len(reply.body):,} bytes: {shown}")
        return pdf_document(reply.body, reply.url)
    text = clean(decode(reply.body, header, kind != "text"))
    if kind == "html":
        document = extract_html(text, reply.url)
    else:
        document = feed_document(text, reply.url) if kind == "feed" else _plain(text, reply.url)
    if reply.truncated:
        note = f"Only the first {len(reply.body):,} bytes were read."
        note = f"{document.note} {note}" if document.note else note
        document = replace(document, truncated=True, note=note)
    return replace(document, content_type=reply.content_type or document.content_type)


def _plain(text: str, url: str) -> Document:
    text = text.replace("\r\n", "\n").replace("\r", "\n").strip("\n")
    return Document(url, url, text=text, text_length=len(text), content_type="text/plain")


def _check(head: HttpReply) -> None:
    """Refuse a reply by its head: an error, or a type that holds no text."""
    shown = mask(head.url)[:200]
    if not 200 <= head.status < 300:
        raise FetchError(f"HTTP {head.status} {_phrase(head.status)}: {shown}", head.status)
    refuse_unreadable(head.content_type, shown)


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "(unknown status)"
