"""What the server allows, and who may use it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf

from ..errors import ConfigError
from ..observability.redact import add_secret

TOKEN = "AGENT_TOKEN"  # one token for a backend that speaks for any user
USER_TOKENS = "AGENT_TOKENS"  # alice=token,bob=token: each speaks for its user only


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """Tokens and limits; times are seconds, limits are those of one process.

    `tokens` maps each token to its user, None for one that may speak for any user. Without tokens
    only this machine is served. `turns_per_minute` is for one user, `turns_at_once` for all.
    `upload` is how long a body may take to arrive, `wait` how long a turn waits for its session,
    `grace` how long running turns may go on at shutdown, `send_timeout` how long a client may
    leave a piece of a stream unread.
    """

    tokens: Mapping[str, str | None] = field(default_factory=dict, repr=False)
    name: str = "agent"
    max_body: int = 1_000_000  # bytes
    max_input: int = 100_000  # characters
    turns_per_minute: int = 120
    turns_at_once: int = 256
    turns_per_session: int = 4  # that run or wait
    upload: float = 60.0
    wait: float = 30.0
    approval_timeout: float = 300.0
    send_timeout: float = 30.0
    ping: float = 15.0
    grace: float = 20.0

    def __post_init__(self) -> None:
        """Raises `ConfigError` for a limit that cannot be one."""
        for name in self.__slots__:
            value = getattr(self, name)
            least = 0 if isinstance(value, float) else 1
            if isinstance(value, (int, float)) and not least <= value < inf:
                raise ConfigError(f"{name} is {value}: use a number of at least {least}")
        for token in self.tokens:
            add_secret(token)


def tokens_from_environment(environment: Mapping[str, str] = os.environ) -> dict[str, str | None]:
    """Return the tokens of AGENT_TOKEN and AGENT_TOKENS; raises `ConfigError` for a bad pair."""
    tokens: dict[str, str | None] = {}
    if trusted := environment.get(TOKEN, "").strip():
        tokens[trusted] = None
    for number, pair in enumerate(filter(None, environment.get(USER_TOKENS, "").split(",")), 1):
        user, _, token = (part.strip() for part in pair.partition("="))
        if not user or not token or token in tokens:
            raise ConfigError(
                f"{USER_TOKENS}, entry {number}: write user=token, each token once, as in "
                "alice=token1,bob=token2"
            )
        tokens[token] = user
    return tokens
