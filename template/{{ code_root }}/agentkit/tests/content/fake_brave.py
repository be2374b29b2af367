"""Brave Search as its API reference describes it: parameters, plan limits, errors, headers."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Mapping
from typing import Any

import httpx2

KEY = "BSA-brave-key-0123456789"
URL = "https://api.search.brave.com/res/v1/web/search"
MONTH_LEFT = 1_419_704  # seconds until the monthly quota is back

_VALUES: dict[str, Callable[[str], bool]] = {
    "q": lambda text: 0 < len(text) <= 400 and 0 < len(text.split()) <= 50,
    "count": lambda text: text.isdigit() and 1 <= int(text) <= 20,
    "offset": lambda text: text.isdigit() and 0 <= int(text) <= 9,
    "safesearch": lambda text: text in ("off", "moderate", "strict"),
    "country": lambda text: text in ("ALL", "AT", "DE", "FR", "GB", "JP", "US"),
    "search_lang": lambda text: text in ("en", "de", "fr", "jp", "pt-br", "zh-hans"),
    "ui_lang": lambda text: text in ("en-US", "de-AT", "fr-FR", "pt-BR"),
    "freshness": lambda text: (
        re.fullmatch(r"p[dwmy]|\d{4}-\d\d-\d\dto\d{4}-\d\d-\d\d", text) is not None
    ),
    "text_decorations": lambda text: text in ("true", "false"),
    "spellcheck": lambda text: text in ("true", "false"),
    "extra_snippets": lambda text: text in ("true", "false"),
    "result_filter": lambda text: set(text.split(",")) <= {"web", "news", "videos", "faq"},
    "goggles": lambda text: text.startswith("https://"),
}


def failure(status: int, code: str, detail: str, meta: Mapping[str, Any]) -> httpx2.Response:
    """Return an error as Brave sends it."""
    error = {"id": "0", "status": status, "code": code, "detail": detail, "meta": dict(meta)}
    body = {"type": "ErrorResponse", "error": error, "time": 1773685964}
    return httpx2.Response(status, json=body)


class FakeBrave:
    """Answers searches within a plan of `per_second` and `per_month` requests.

    `scripted` replies (or exceptions) go out first, whatever is asked. `results` are the web
    results of every search; None leaves `web` out. What arrived is kept in `requests`, with its
    time on the event loop's clock in `times`.
    """

    def __init__(self, per_second: int = 1000, per_month: int = 2000) -> None:
        self.per_second = per_second
        self.per_month = per_month
        self.scripted: list[httpx2.Response | Exception] = []
        self.results: list[Any] | None = [{"title": "A page", "url": "https://example.com/"}]
        self.requests: list[httpx2.Request] = []
        self.times: list[float] = []
        self._served: list[float] = []
        self.transport = httpx2.MockTransport(self._handle)

    @property
    def queries(self) -> list[str]:
        """The queries that arrived, in order."""
        return [request.url.params["q"] for request in self.requests]

    async def _handle(self, request: httpx2.Request) -> httpx2.Response:
        self.requests.append(request)
        self.times.append(asyncio.get_running_loop().time())
        if self.scripted:
            reply = self.scripted.pop(0)
            if isinstance(reply, Exception):
                raise reply
            return reply
        reply = self._refusal(request) or self._found(request)
        reply.headers.update(self._limits())
        return reply

    def _refusal(self, request: httpx2.Request) -> httpx2.Response | None:
        if request.method != "GET" or str(request.url.copy_with(query=None)) != URL:
            return httpx2.Response(404, text="<html>Not Found</html>")
        if request.headers.get("x-subscription-token") != KEY or KEY in str(request.url):
            what = "The provided subscription token is invalid."
            return failure(422, "SUBSCRIPTION_TOKEN_INVALID", what, {"component": "authentication"})
        wrong = [
            name
            for name, value in request.url.params.multi_items()
            if name not in _VALUES or not _VALUES[name](value)
        ]
        if wrong or "q" not in request.url.params:
            what = "Unable to validate request parameter(s)"
            return failure(422, "VALIDATION", what, {"errors": wrong or ["q"]})
        if self._recent() >= self.per_second or len(self._served) >= self.per_month:
            meta = {"plan": "Free", "rate_limit": self.per_second, "rate_current": self._recent()}
            quota = {"quota_limit": self.per_month, "quota_current": len(self._served)}
            what = "Request rate limit exceeded for plan"
            return failure(429, "RATE_LIMITED", what, {**meta, **quota})
        return None

    def _found(self, request: httpx2.Request) -> httpx2.Response:
        self._served.append(asyncio.get_running_loop().time())
        query = {"original": request.url.params["q"], "more_results_available": False}
        body: dict[str, Any] = {"type": "search", "query": query}
        if self.results is not None:
            body["web"] = {"type": "search", "results": self.results}
        return httpx2.Response(200, json=body)

    def _recent(self) -> int:
        now = asyncio.get_running_loop().time()
        return sum(now - at < 1 for at in self._served)

    def _limits(self) -> dict[str, str]:
        second, month = self.per_second, self.per_month
        left = max(0, second - self._recent()), max(0, month - len(self._served))
        return {
            "X-RateLimit-Limit": f"{second}, {month}",
            "X-RateLimit-Policy": f"{second};w=1, {month};w=2592000",
            "X-RateLimit-Remaining": f"{left[0]}, {left[1]}",
            "X-RateLimit-Reset": f"1, {MONTH_LEFT}",
        }


def http_date(seconds_from_now: float) -> str:
    """Return a date as HTTP headers write it."""
    from email.utils import formatdate

    return formatdate(time.time() + seconds_from_now, usegmt=True)
