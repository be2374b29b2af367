"""Fetchers that know no other network than a fake web."""

from __future__ import annotations

from ...content.document import Document
from ...content.local_fetcher import LocalFetcher
from .fake_web import FakeWeb


def fetcher(web: FakeWeb, **options: object) -> LocalFetcher:
    """Return a fetcher that knows no other network than this web."""
    return LocalFetcher(resolve=web.resolve, transport=web.transport, **options)  # type: ignore[arg-type]


async def fetched(web: FakeWeb, url: str, **options: object) -> Document:
    """Return what a fetcher makes of a page of this web."""
    async with fetcher(web, **options) as local:
        return await local.fetch(url)
