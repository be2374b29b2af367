"""Jina's reader and search as their documentation describes them: headers, bodies, envelopes."""

from __future__ import annotations

import json
import re
from typing import Any

import httpx2

KEY = "jina_test-key-0123456789abcdef"

_HEADERS = {
    "x-engine": r"browser|direct|cf-browser-rendering",
    "x-timeout": r"\d{1,3}",
    "x-target-selector": r".+",
    "x-wait-for-selector": r".+",
    "x-remove-selector": r".+",
    "x-with-links-summary": r"true|all",
    "x-with-generated-alt": r"true",
    "x-with-iframe": r"true",
    "x-with-shadow-dom": r"true",
    "x-no-cache": r"true",
    "x-return-format": r"markdown|html|text|screenshot|pageshot",
    "x-retain-images": r"none|alt|all",
    "x-respond-with": r"no-content|readerlm-v2",
    "x-token-budget": r"\d+",
    "x-locale": r"[a-zA-Z-]+",
    "x-proxy": r"auto|none|[a-z]{2}",
    "x-site": r"\S+",
    "dnt": r"1",
}
_SEARCH_FIELDS = {"q": str, "gl": str, "hl": str, "location": str, "num": int, "page": int}


def envelope(data: Any) -> httpx2.Response:
    """Return data as Jina wraps it."""
    text = json.dumps({"code": 200, "status": 20000, "data": data})  # ASCII, as half a pair needs
    return httpx2.Response(200, text=text, headers={"content-type": "application/json"})


def failure(
    status: int, name: str, message: str, code: int | None = None, http: int | None = None
) -> httpx2.Response:
    """Return an error as Jina sends it; `http` is the HTTP status where it is another."""
    body = {
        "data": None,
        "code": status,
        "name": name,
        "status": code or status * 100 + 1,
        "message": message,
        "readableMessage": f"{name}: {message}",
    }
    return httpx2.Response(http or status, json=body)


class FakeJina:
    """Reads the pages it knows (`pages`, by address) and finds `found` for every query.

    `scripted` replies (or exceptions) go out first. What arrived is kept in `requests`.
    """

    def __init__(self) -> None:
        self.pages: dict[str, dict[str, Any]] = {}
        self.found: list[dict[str, Any]] = []
        self.scripted: list[httpx2.Response | Exception] = []
        self.requests: list[httpx2.Request] = []
        self.transport = httpx2.MockTransport(self._handle)

    @property
    def bodies(self) -> list[dict[str, Any]]:
        """The JSON bodies that arrived, in order."""
        return [json.loads(request.content) for request in self.requests]

    def _handle(self, request: httpx2.Request) -> httpx2.Response:
        self.requests.append(request)
        if self.scripted:
            reply = self.scripted.pop(0)
            if isinstance(reply, Exception):
                raise reply
            return reply
        return self._refusal(request) or self._answer(request)

    def _refusal(self, request: httpx2.Request) -> httpx2.Response | None:
        if request.headers.get("authorization") != f"Bearer {KEY}" or KEY in str(request.url):
            return failure(401, "AuthenticationFailedError", "Invalid API key", 40103)
        expected = {"accept": "application/json", "content-type": "application/json"}
        if request.method != "POST" or any(
            request.headers.get(name) != value for name, value in expected.items()
        ):
            return failure(400, "ParamValidationError", "POST JSON, accept JSON", 40001)
        wrong = [
            name
            for name, value in request.headers.items()
            if (name.startswith("x-") or name == "dnt")
            and not re.fullmatch(_HEADERS.get(name, "(?!)"), value)
        ]
        return failure(400, "ParamValidationError", str(wrong), 40001) if wrong else None

    def _answer(self, request: httpx2.Request) -> httpx2.Response:
        body = json.loads(request.content)
        if str(request.url) == "https://s.jina.ai/":
            return self._search(body)
        if str(request.url) != "https://r.jina.ai/" or set(body) != {"url"}:
            return failure(404, "ResourceNotFoundError", "no such method", 40401)
        page = self.pages.get(body["url"])
        if page is None:
            what = f"No content available for URL {body['url']}"
            return failure(422, "AssertionFailureError", what, 42206)
        return envelope({"url": body["url"], **page})

    def _search(self, body: dict[str, Any]) -> httpx2.Response:
        if any(type(value) is not _SEARCH_FIELDS.get(name) for name, value in body.items()):
            return failure(400, "ParamValidationError", f"fields: {sorted(body)}", 40001)
        if not self.found:
            what = f"No search results available for query {body['q']}"
            return failure(422, "AssertionFailureError", what, 42206)
        return envelope(self.found[: body.get("num", 10)])
