"""What a run has spent so far, its sub-agents included."""

from __future__ import annotations

from contextvars import ContextVar

from ..messages import Usage
from .result import Limits


class Spend:
    """Tokens and USD of one run; what a run inside one of its tools spends is added here too."""

    def __init__(self, run: int, parent: Spend | None) -> None:
        self.run = run
        self.usage = Usage()
        self._parent = parent
        self._usd = 0.0
        self._known = True

    @property
    def cost(self) -> float | None:
        """The cost in USD, None as soon as one call had no known price."""
        return self._usd if self._known else None

    def add(self, usage: Usage, cost: float | None) -> None:
        """Add one call, here and in the runs above."""
        spend: Spend | None = self
        while spend is not None:
            spend.usage += usage
            spend._usd += cost or 0.0
            spend._known = spend._known and cost is not None
            spend = spend._parent

    def reaches(self, limits: Limits | None) -> bool:
        """Tell whether a limit is reached; calls without a known price count as free."""
        if limits is None:
            return False
        money, tokens = limits.cost_usd, limits.tokens
        return (money is not None and self._usd >= money) or (
            tokens is not None and self.usage.total_tokens >= tokens
        )


current_spend: ContextVar[Spend | None] = ContextVar("agentkit_spend", default=None)
