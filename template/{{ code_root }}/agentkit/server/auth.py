"""Who asks: bearer tokens, and without any, this machine only."""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Mapping
from ipaddress import ip_address
from typing import Annotated, NamedTuple

from fastapi import Depends, Header, Request
from starlette.datastructures import Headers
from starlette.types import Scope

from .problems import Problem

DEFAULT_USER = "local"  # of who may speak for anybody and does not say for whom
LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1")
_HOST = re.compile(r"([a-z0-9.-]+|\[[0-9a-f:.]+\])(?::[0-9]*)?")  # a name and a port, nothing else
USER = r"^[^\x00-\x1f\x7f]+$"
LONGEST_USER = 128


class Caller(NamedTuple):
    """Who sent a request: a user, or (None) somebody who may speak for any user."""

    user: str | None

    def user_for(self, asked: str | None) -> str:
        """Return the user that a request is about; raises `Problem` if it is another's."""
        if self.user is not None and asked not in (None, self.user):
            raise Problem(403, "forbidden", "this token speaks for another user")
        return self.user or asked or DEFAULT_USER


def identify(scope: Scope, tokens: Mapping[str, str | None]) -> Caller:
    """Return who sent a request; raises `Problem` for nobody we know."""
    headers = Headers(scope=scope)
    if not tokens:
        _check_local(scope, headers)
        return Caller(None)
    kind, _, given = headers.get("authorization", "").partition(" ")
    digest = _digest(given.strip().encode("latin-1").decode("utf-8", "surrogateescape"))
    # All are compared, so that the time taken says nothing about any of them.
    known = [user for token, user in tokens.items() if hmac.compare_digest(_digest(token), digest)]
    if kind.lower() != "bearer" or not known:
        message = "send a valid token, as in: Authorization: Bearer <token>"
        raise Problem(401, "unauthorized", message, {"WWW-Authenticate": "Bearer"})
    return Caller(known[0])


def is_local(host: str) -> bool:
    """Tell whether a host name or address can only mean this machine."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def _check_local(scope: Scope, headers: Headers) -> None:
    """Refuse others: another machine, a name that a web page made up, a page of another site."""
    client = scope.get("client")
    if client and not is_local(client[0]):
        raise Problem(403, "forbidden", "without a token only this machine is served")
    host = headers.get("host", "").lower()
    name = _HOST.fullmatch(host)
    if not name or not is_local(name[1].strip("[]")):
        raise Problem(403, "forbidden", "without a token the Host must be localhost")
    origin = headers.get("origin")
    if origin is not None and origin.lower().partition("://")[2] != host:
        raise Problem(403, "forbidden", "a page of another site may not use this server")


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()


async def caller(request: Request) -> Caller:
    """Return who sent the request, as the gate found out."""
    found: Caller = request.scope["caller"]
    return found


async def asked_user(
    x_user_id: Annotated[
        str | None,
        Header(pattern=USER, max_length=LONGEST_USER, description="Whom a trusted token is for."),
    ] = None,
) -> str | None:
    """Return the user of the header; names are UTF-8, which headers carry as Latin-1."""
    try:
        return x_user_id and x_user_id.encode("latin-1").decode()
    except UnicodeError:
        raise Problem(422, "invalid_request", "X-User-Id is not UTF-8") from None


# Dependencies are async although they do not wait: plain functions would take a thread each.
async def user(
    caller: Annotated[Caller, Depends(caller)], asked: Annotated[str | None, Depends(asked_user)]
) -> str:
    """Return the user that a request without a body is about."""
    return caller.user_for(asked)


CallerOf = Annotated[Caller, Depends(caller)]
AskedUser = Annotated[str | None, Depends(asked_user)]
User = Annotated[str, Depends(user)]
