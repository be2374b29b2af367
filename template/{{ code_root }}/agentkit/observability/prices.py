"""What tokens cost, by the offline snapshot of `genai-prices`; looked up once per model."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from ..messages import Usage
from .logger import Logger

if TYPE_CHECKING:
    from genai_prices.types import ModelPrice

Rate = Callable[[Usage], float]
_FREE = ("offline", "ollama", "vllm", "lmstudio")  # the user's own machine
_ALIASES = {"workersai": "cloudflare"}
_NUMBERS = ("input_mtok", "cache_read_mtok", "cache_write_mtok", "output_mtok")


class Prices:
    """Estimates costs in USD. A model without a price gives None and one warning."""

    def __init__(self, logger: Logger) -> None:
        self._logger = logger
        self._rates: dict[tuple[str, str], Rate | None] = {}

    def estimate(self, provider: str, model: str, usage: Usage) -> float | None:
        """Return the cost of a call in USD, cheaper where a cache was read.

        None if the price is unknown, or the provider did not say how many tokens it took.
        """
        key = (provider, model)
        if key not in self._rates:
            self._rates[key] = _find_rate(provider, model)
            if self._rates[key] is None:
                self._logger.warn(f"no price known for {provider}/{model}: costs are not counted")
        rate = self._rates[key]
        if rate is None or (usage.total_tokens == 0 and provider not in _FREE):
            return None
        return rate(usage)


def _find_rate(provider: str, model: str) -> Rate | None:
    if provider in _FREE:
        return lambda usage: 0.0
    from genai_prices.data_snapshot import get_snapshot

    name = _ALIASES.get(provider, provider)
    try:
        _, info = get_snapshot().find_provider_model(model, None, name, None)
    except LookupError:
        return None
    return _rate(info.get_prices(datetime.now(UTC)))


def _rate(price: ModelPrice) -> Rate:
    """Return a quick rate for flat prices, the library's own calculation for tiered ones."""
    from decimal import Decimal  # not needed before the first reply

    rates = [getattr(price, name, None) for name in _NUMBERS]
    if any(isinstance(rate, Decimal | None) is False for rate in rates):
        return lambda usage: float(price.calc_price(_library_usage(usage))["total_price"])
    plain, read, write, written = (None if rate is None else float(rate) / 1e6 for rate in rates)
    plain = plain or 0.0
    read, write = (plain if rate is None else rate for rate in (read, write))

    def cost(usage: Usage) -> float:
        fresh = usage.input_tokens - usage.cache_read_tokens - usage.cache_write_tokens
        return (
            max(fresh, 0) * plain
            + usage.cache_read_tokens * read
            + usage.cache_write_tokens * write
            + usage.output_tokens * (written or 0.0)
        )

    return cost


def _library_usage(usage: Usage) -> object:
    from genai_prices import Usage as LibraryUsage

    return LibraryUsage(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cache_read_tokens=usage.cache_read_tokens,
        cache_write_tokens=usage.cache_write_tokens,
    )
