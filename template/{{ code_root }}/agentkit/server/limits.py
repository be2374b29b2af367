"""How many turns run: per minute for a user, at once for a session and for the process."""

from __future__ import annotations

import time
from collections import Counter, OrderedDict
from collections.abc import Callable

from .problems import busy
from .settings import ServerSettings

USERS_KEPT = 10_000


class Admission:
    """Counts turns, and refuses those that are too many. `clock` returns seconds."""

    def __init__(
        self, settings: ServerSettings, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._settings = settings
        self._clock = clock
        self._running = 0
        self._by_session: Counter[str] = Counter()
        self._allowances: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def enter(self, user: str, session: str) -> None:
        """Take a place; raises `Problem` when there is none."""
        settings = self._settings
        if self._running >= settings.turns_at_once:
            raise busy("overloaded", "too many turns are running; try again")
        if self._by_session[session] >= settings.turns_per_session:
            raise busy("session_busy", "too many turns wait for this session", status=409)
        self._spend(user)
        self._running += 1
        self._by_session[session] += 1

    def leave(self, session: str) -> None:
        """Give the place back."""
        self._running -= 1
        self._by_session[session] -= 1
        if not self._by_session[session]:
            del self._by_session[session]

    def _spend(self, user: str) -> None:
        """Take one turn off a user's allowance, which grows back evenly over a minute."""
        most, now = self._settings.turns_per_minute, self._clock()
        left, then = self._allowances.get(user, (float(most), now))
        left = min(float(most), left + (now - then) * most / 60)
        if left < 1:
            after = (1 - left) * 60 / most
            raise busy("rate_limited", f"{most} turns a minute are allowed", after, 429)
        self._allowances[user] = left - 1, now
        self._allowances.move_to_end(user)
        if len(self._allowances) > USERS_KEPT:
            self._allowances.popitem(last=False)
