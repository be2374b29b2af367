"""What a Gemini adapter is made with: settings, addresses and keys, sent or refused."""

from __future__ import annotations

from typing import Any

import pytest

from ....errors import ConfigError
from ....llm.model_uri import ModelURI
from ....llm.provider import Provider, Request, create_provider
from ....messages import Message
from ....transport import HttpClients
from ...fake_gemini import GEMINI, OLD_GEMINI, FakeGemini

HELLO = [Message.user("hello")]


def provider(fake: FakeGemini, uri: str = GEMINI) -> Provider:
    """Return the provider of a URI over a fake server."""
    return create_provider(ModelURI.parse(uri), HttpClients(fake.transport))


async def test_settings_go_out_under_their_names() -> None:
    """The URI's and the request's, a zero as well."""
    settings = {
        **{"max_tokens": 50, "temperature": 0, "top_p": 0.9, "top_k": 40},
        **{"stop": "END", "seed": 7, "reasoning": "low"},
    }
    with FakeGemini(["hi"]) as fake:
        await provider(fake).complete(Request(HELLO, settings=settings))
    assert fake.requests[0]["generationConfig"] == {
        **{"maxOutputTokens": 50, "temperature": 0, "topP": 0.9, "topK": 40},
        **{"stopSequences": ["END"], "seed": 7},
        "thinkingConfig": {"thinkingLevel": "LOW", "includeThoughts": True},
    }


@pytest.mark.parametrize(
    ("value", "sent"),
    [
        ("none", {"thinkingBudget": 0}),
        (2048, {"thinkingBudget": 2048, "includeThoughts": True}),
    ],
)
async def test_a_budget_of_reasoning_works_with_all_models(value: Any, sent: Any) -> None:
    """In tokens; none is a budget of zero, which leaves no thoughts to be shown."""
    with FakeGemini(["hi"]) as fake:
        await provider(fake, OLD_GEMINI).complete(Request(HELLO, settings={"reasoning": value}))
    assert fake.requests[0]["generationConfig"]["thinkingConfig"] == sent


@pytest.mark.parametrize(
    ("uri", "named"),
    [
        (f"{OLD_GEMINI}&reasoning=low", "reasoning=low"),
        (f"{GEMINI}&seed=9999999999", "9999999999"),
        (f"responses://{GEMINI}", "use chat://google/"),
        (f"{GEMINI}&baseURL=http://h/v1?a=b", "can have no query"),
        ("google/../secrets?apiKey=AIza-test-0123456789", "has such a name"),
        ("google/gemini%2523?apiKey=AIza-test-0123456789", "has such a name"),
    ],
)
def test_what_gemini_cannot_take_is_refused_at_once(uri: str, named: str) -> None:
    """The error names it."""
    with pytest.raises(ConfigError, match=named):
        create_provider(ModelURI.parse(uri), HttpClients())


async def test_a_setting_of_one_request_is_refused_at_the_call() -> None:
    """Nothing is sent."""
    with FakeGemini([]) as fake, pytest.raises(ConfigError, match="reasoning=high"):
        await provider(fake, OLD_GEMINI).complete(Request(HELLO, settings={"reasoning": "high"}))


@pytest.mark.parametrize(
    ("base_url", "address"),
    [
        ("http://h:1", "http://h:1/v1/models/"),
        ("http://h/gemini/", "http://h/gemini/v1/models/"),
        ("http://h/v1beta", "http://h/v1beta/models/"),
    ],
)
async def test_a_base_url_of_the_users_own(base_url: str, address: str) -> None:
    """With or without a version; such an address may need no key."""
    with FakeGemini(["hi"], needs_key=False) as fake:
        uri = f"google/gemini-3.8-flash?baseURL={base_url}"
        await provider(fake, uri).complete(Request(HELLO))
    assert fake.urls == [f"{address}gemini-3.8-flash:generateContent"]


@pytest.mark.parametrize(
    ("environment", "used"),
    [
        ({"GEMINI_API_KEY": "AIza-gemini"}, "AIza-gemini"),
        ({"GOOGLE_API_KEY": "AIza-google"}, "AIza-google"),
        ({"GEMINI_API_KEY": "AIza-gemini", "GOOGLE_API_KEY": "AIza-google"}, "AIza-gemini"),
        ({"GEMINI_API_KEY": " ", "GOOGLE_API_KEY": "AIza-google"}, "AIza-google"),
    ],
)
@pytest.mark.parametrize("name", ["google", "gemini"])
async def test_the_key_comes_from_either_variable(
    name: str,
    environment: dict[str, str],
    used: str,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """GEMINI_API_KEY first; nothing is printed, not even by the SDK when both are set."""
    for variable, value in environment.items():
        monkeypatch.setenv(variable, value)
    with FakeGemini(["hi"]) as fake:
        await provider(fake, f"{name}/gemini-3.8-flash").complete(Request(HELLO))
    assert fake.headers[0]["x-goog-api-key"] == used
    assert capfd.readouterr() == ("", "")


def test_a_missing_key_is_told_at_once() -> None:
    """With the name of the variable to set."""
    with pytest.raises(ConfigError, match="GEMINI_API_KEY is not set"):
        create_provider(ModelURI.parse("google/gemini-3.8-flash"), HttpClients())


def test_a_missing_sdk_is_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the command that installs it."""
    monkeypatch.setattr(f"{__package__.partition('.tests')[0]}.llm.providers.google.find_spec", _no)
    with pytest.raises(ConfigError, match="pip install google-genai"):
        create_provider(ModelURI.parse(GEMINI), HttpClients())


def _no(name: str) -> None:
    return None
