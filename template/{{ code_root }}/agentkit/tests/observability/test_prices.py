"""Prices: known models cost what the snapshot says, unknown ones nothing that we would make up."""

from __future__ import annotations

import io

import pytest

from ...messages import Usage
from ...observability.logger import Logger
from ...observability.prices import Prices

MILLION = 1_000_000


@pytest.mark.checklist("costs")
@pytest.mark.parametrize(
    ("usage", "usd"),
    [
        (Usage(MILLION, 0), 0.25),
        (Usage(0, MILLION), 2.0),
        (Usage(MILLION, MILLION), 2.25),
        (Usage(MILLION, 0, cache_read_tokens=MILLION), 0.025),
        (Usage(MILLION, 0, cache_read_tokens=MILLION // 2), 0.1375),
        (Usage(0, MILLION, reasoning_tokens=MILLION), 2.0),
    ],
)
def test_a_known_model_has_a_price(usage: Usage, usd: float, logger: Logger) -> None:
    """Input, output, and what came from the cache at its own rate; reasoning is output."""
    assert Prices(logger).estimate("openai", "gpt-5-mini", usage) == pytest.approx(usd)


def test_a_cache_without_a_price_of_its_own_costs_what_input_costs(logger: Logger) -> None:
    """Writing to OpenAI's cache is not charged extra, and not free."""
    usage = Usage(MILLION, 0, cache_write_tokens=MILLION)
    assert Prices(logger).estimate("openai", "gpt-5-mini", usage) == pytest.approx(0.25)


@pytest.mark.checklist("costs")
def test_an_unknown_model_has_no_price_and_one_warning(log: io.StringIO, logger: Logger) -> None:
    """One warning per model, not per call; another model gets its own."""
    prices = Prices(logger)
    for model in ("corp-llm-7", "corp-llm-7", "corp-llm-8"):
        assert prices.estimate("openai", model, Usage(10, 10)) is None
    lines = log.getvalue().splitlines()
    assert len(lines) == 2
    assert "no price known for openai/corp-llm-7" in lines[0]


def test_an_unknown_provider_has_no_price(logger: Logger) -> None:
    """A gateway of the user's own may charge anything."""
    assert Prices(logger).estimate("corp", "gpt-5-mini", Usage(10, 10)) is None


@pytest.mark.parametrize("usage", [Usage(), Usage(10, 10)])
@pytest.mark.parametrize("provider", ["ollama", "vllm", "lmstudio", "offline"])
def test_the_users_own_machine_is_free(provider: str, usage: Usage, logger: Logger) -> None:
    """Local models cost nothing, which is known."""
    assert Prices(logger).estimate(provider, "any", usage) == 0.0


def test_without_token_counts_the_cost_is_unknown(log: io.StringIO, logger: Logger) -> None:
    """A server that does not say what it took is not a free one; that is no warning."""
    assert Prices(logger).estimate("openai", "gpt-5-mini", Usage()) is None
    assert log.getvalue() == ""


@pytest.mark.parametrize(
    ("provider", "model"),
    [
        ("groq", "gemma-7b-it"),
        ("deepseek", "deepseek-chat"),
        ("mistral", "mistral-large-latest"),
        ("cerebras", "llama3.1-8b"),
        ("openrouter", "ai21/jamba-1-5-large"),
        ("workersai", "@cf/baai/bge-base-en-v1.5"),
        ("xai", "grok-3"),
        ("together", "Gryphe/MythoMax-L2-13b"),
        ("fireworks", "accounts/fireworks/models/deepseek-v3p2"),
    ],
)
def test_presets_are_found_under_the_names_of_the_snapshot(
    provider: str, model: str, logger: Logger
) -> None:
    """Whatever our name of a provider is, its models have a price."""
    cost = Prices(logger).estimate(provider, model, Usage(MILLION, MILLION))
    assert cost is not None
    assert cost > 0


def test_a_price_in_tiers_is_worked_out_by_its_rules(logger: Logger) -> None:
    """Long prompts cost more per token where the provider says so."""
    prices = Prices(logger)
    short = prices.estimate("google", "gemini-2.5-pro", Usage(100_000, 0))
    long = prices.estimate("google", "gemini-2.5-pro", Usage(400_000, 0))
    assert short is not None
    assert long is not None
    assert long > 4 * short
