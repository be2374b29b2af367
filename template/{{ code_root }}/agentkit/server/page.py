"""The page at `/`: chat and runs in a browser. Plain files, no build step, nothing from elsewhere.

It is served to everybody, since it is where a user enters the token; what it shows comes through
the API.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from fastapi import APIRouter, HTTPException, Request, Response

from ..errors import ConfigError

STATIC = Path(__file__).parent / "static"
TYPES = {
    ".css": "text/css",
    ".html": "text/html",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
}
POLICY = {  # what a text of the model could do if it ever became markup: nothing
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    "connect-src": "'self'",
    "img-src": "'self'",
    "base-uri": "'none'",
    "form-action": "'none'",
    "frame-ancestors": "'none'",
}
HEADERS = {
    "Content-Security-Policy": "; ".join(f"{name} {value}" for name, value in POLICY.items()),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",  # asks each time: an update must not meet old scripts
}


def page_router() -> APIRouter:
    """Return the routes of the page. Raises `ConfigError` when its files were not installed."""
    files = _load()
    router = APIRouter(include_in_schema=False)

    @router.get("/")
    async def index(request: Request) -> Response:
        return _answer(request, files["index.html"], "text/html")

    @router.get("/static/{name}")
    async def static(request: Request, name: str) -> Response:
        if name not in files:
            raise HTTPException(404, "there is no such file")
        return _answer(request, files[name], TYPES[Path(name).suffix])

    return router


def _load() -> dict[str, bytes]:
    paths = [path for path in STATIC.glob("*.*") if path.suffix in TYPES]
    files = {path.name: path.read_bytes() for path in paths}
    if "index.html" not in files:
        raise ConfigError(
            f"the page's files are not in {STATIC}: let your build add them, with setuptools by "
            '[tool.setuptools.package-data] "*" = ["static/*"]'
        )
    return files


def _answer(request: Request, content: bytes, media_type: str) -> Response:
    tag = f'"{hashlib.sha256(content).hexdigest()[:16]}"'
    headers = {**HEADERS, "ETag": tag}
    if request.headers.get("If-None-Match") == tag:
        return Response(status_code=304, headers=headers)
    return Response(content, media_type=media_type, headers=headers)
