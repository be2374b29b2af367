"""Each preset posts to its own address, with its own key, in its own words."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from ....errors import ConfigError
from ....llm.model_uri import ModelURI
from ....llm.provider import Request, create_provider
from ....llm.providers.presets import PRESETS
from ....messages import Message
from ....transport import HttpClients
from ...fake_chat import FakeChat, Rules

REQUIRED = {
    *("openai", "groq", "ollama", "openrouter", "cerebras", "deepseek", "mistral", "workersai"),
    "vllm",
}
ADDRESSES = {
    "openai": ("https://api.openai.com/v1", "OPENAI_API_KEY"),
    "groq": ("https://api.groq.com/openai/v1", "GROQ_API_KEY"),
    "ollama": ("http://localhost:11434/v1", None),
    "openrouter": ("https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
    "workersai": (
        "https://api.cloudflare.com/client/v4/accounts/acc0/ai/v1",
        "CLOUDFLARE_API_TOKEN",
    ),
    "cerebras": ("https://api.cerebras.ai/v1", "CEREBRAS_API_KEY"),
    "deepseek": ("https://api.deepseek.com/v1", "DEEPSEEK_API_KEY"),
    "mistral": ("https://api.mistral.ai/v1", "MISTRAL_API_KEY"),
    "vllm": ("http://localhost:8000/v1", None),
}


@dataclass(frozen=True)
class Words:
    """How a provider calls what not all call the same."""

    limit: str = "max_tokens"
    more: dict[str, str] = field(default_factory=dict)


WORDS = {
    "openai": Words("max_completion_tokens", {"reasoning": "reasoning_effort"}),
    "groq": Words("max_completion_tokens", {"reasoning": "reasoning_effort"}),
    "cerebras": Words("max_completion_tokens", {"reasoning": "reasoning_effort"}),
    "openrouter": Words(more={"topK": "top_k", "reasoning": "reasoning_effort"}),
    "ollama": Words(more={"reasoning": "reasoning_effort"}),
    "vllm": Words(more={"topK": "top_k", "reasoning": "reasoning_effort"}),
    "workersai": Words(more={"topK": "top_k"}),
    "deepseek": Words(),
    "mistral": Words(),
}


async def post(uri: str, fake: FakeChat) -> None:
    """Send one small request."""
    provider = create_provider(parsed := ModelURI.parse(uri), HttpClients(fake.transport))
    await provider.complete(Request([Message.user("hi")], settings=parsed.settings))


@pytest.fixture(autouse=True)
def account(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cloudflare's address holds the account."""
    monkeypatch.setenv("CLOUDFLARE_ACCOUNT_ID", "acc0")


def test_the_promised_providers_have_a_preset() -> None:
    """The README and the questions name them."""
    assert PRESETS.keys() >= REQUIRED
    assert REQUIRED == ADDRESSES.keys() == WORDS.keys()


@pytest.mark.parametrize("name", sorted(ADDRESSES))
async def test_address_and_key(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Requests go to the preset's address with the key of the preset's variable."""
    address, variable = ADDRESSES[name]
    if variable:
        monkeypatch.setenv(variable, "key-of-preset")
    with FakeChat(["hi"], rules=Rules(needs_key=variable is not None)) as fake:
        await post(f"{name}/some-model", fake)
    assert fake.urls == [f"{address}/chat/completions"]
    sent = fake.headers[0].get("authorization")
    assert sent == ("Bearer key-of-preset" if variable else None)


@pytest.mark.parametrize("name", sorted(name for name, (_, key) in ADDRESSES.items() if key))
def test_a_missing_key_is_told_at_once(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names the variable to set; a blank variable is as good as none."""
    variable = str(ADDRESSES[name][1])
    monkeypatch.setenv(variable, "  ")
    with pytest.raises(ConfigError, match=f"{variable} is not set"):
        create_provider(ModelURI.parse(f"{name}/m"), HttpClients())


@pytest.mark.parametrize("name", sorted(WORDS))
async def test_settings_go_out_under_the_names_of_the_provider(name: str) -> None:
    """The output limit and the less common settings are called what each provider calls them."""
    words = WORDS[name]
    given = {"topK": "4", "reasoning": "low"}
    query = "&".join(f"{setting}={given[setting]}" for setting in words.more)
    rules = Rules(output_limit=words.limit, parameters=frozenset({"top_k"}))
    with FakeChat(["hi"], rules=rules) as fake:
        await post(f"{name}/m?apiKey=sk-test-key&maxTokens=50&temperature=0&{query}", fake)
    sent = fake.requests[0].keys() - {"model", "messages"}
    assert sent == {words.limit, "temperature", *words.more.values()}


@pytest.mark.parametrize("name", sorted(WORDS))
def test_a_setting_that_a_provider_does_not_take_is_refused_at_once(name: str) -> None:
    """Nothing is dropped in silence: the error lists what the provider takes."""
    for setting in {"topK", "reasoning"} - WORDS[name].more.keys():
        uri = ModelURI.parse(f"{name}/m?apiKey=sk-test-key&{setting}=low".replace("K=low", "K=4"))
        with pytest.raises(ConfigError, match="does not take") as caught:
            create_provider(uri, HttpClients())
        assert "max_tokens" in str(caught.value)


@pytest.mark.parametrize("name", sorted(WORDS.keys() - {"deepseek", "mistral", "workersai"}))
def test_a_reasoning_budget_in_tokens_is_refused(name: str) -> None:
    """Chat Completions knows efforts only."""
    with pytest.raises(ConfigError, match="reasoning budget in tokens"):
        create_provider(ModelURI.parse(f"{name}/m?apiKey=sk-test-key&reasoning=99"), HttpClients())


def test_a_missing_part_of_the_address_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cloudflare needs an account besides the token."""
    monkeypatch.delenv("CLOUDFLARE_ACCOUNT_ID")
    with pytest.raises(ConfigError, match="CLOUDFLARE_ACCOUNT_ID is not set"):
        create_provider(ModelURI.parse("workersai/m?apiKey=sk-test-key"), HttpClients())
