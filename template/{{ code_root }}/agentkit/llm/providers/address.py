"""Addresses that carry a user name and a password: `https://user:password@host/v1`."""

from __future__ import annotations

import re
from base64 import b64encode
from urllib.parse import unquote

from ...observability.redact import add_secret

_USERINFO = re.compile(r"(https?://)([^/?#]*)@", re.IGNORECASE)


def split_userinfo(url: str) -> tuple[str, str | None]:
    """Return an address without them, and the value of an Authorization header that they make.

    A request that has a key sends the key: one header cannot hold both.
    """
    match = _USERINFO.match(url)
    if match is None:
        return url, None
    user, _, password = match[2].partition(":")
    token = b64encode(f"{unquote(user)}:{unquote(password)}".encode("utf-8", "replace")).decode()
    add_secret(token)
    return match[1] + url[match.end() :], f"Basic {token}"
