"""Which adapter a URI gets, where its key comes from, and how a model's arguments are read."""

from __future__ import annotations

import json
import sys
from types import ModuleType
from typing import Any

import pytest

from ...errors import ConfigError
from ...llm.model_uri import ModelURI
from ...llm.provider import create_provider, parse_tool_call, resolve_key
from ...llm.providers.openai_compatible import OpenAiCompatible
from ...messages import Message
from ...observability.redact import mask_known
from ...transport import HttpClients

PROVIDERS = f"{create_provider.__module__.rpartition('.')[0]}.providers"


def key(uri: str, variable: str | None) -> str | None:
    return resolve_key(ModelURI.parse(uri), variable)


def test_the_key_in_the_uri_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment is asked only when the URI has none."""
    monkeypatch.setenv("OPENAI_API_KEY", "from-environment")
    assert key("openai/m?apiKey=from-uri", "OPENAI_API_KEY") == "from-uri"
    assert key("openai/m", "OPENAI_API_KEY") == "from-environment"


def test_the_presets_variable_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A preset may name another variable than the provider's own name gives."""
    monkeypatch.setenv("WORKERSAI_API_KEY", "wrong-one")
    monkeypatch.setenv("CLOUDFLARE_API_TOKEN", "right-one")
    assert key("workersai/m", "CLOUDFLARE_API_TOKEN") == "right-one"


@pytest.mark.parametrize(
    ("provider", "variable"),
    [("corp", "CORP_API_KEY"), ("my-corp", "MY_CORP_API_KEY"), ("my.corp", "MY_CORP_API_KEY")],
)
def test_a_provider_of_the_users_own_has_a_variable_too(
    provider: str, variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its name in capitals, with _API_KEY; without it there is no key, which is fine."""
    assert key(f"{provider}/m?baseURL=http://h", None) is None
    monkeypatch.setenv(variable, "key-of-corp")
    assert key(f"{provider}/m?baseURL=http://h", None) == "key-of-corp"


@pytest.mark.parametrize("value", ["", " ", "\t\n"])
def test_a_blank_key_is_a_missing_one(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error says which variable to set, and how to try without."""
    monkeypatch.setenv("OPENAI_API_KEY", value)
    with pytest.raises(ConfigError, match="OPENAI_API_KEY is not set") as caught:
        key("openai/m", "OPENAI_API_KEY")
    assert "chat://offline/echo" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_address_of_the_users_own_may_need_no_key() -> None:
    """A local server behind a known provider's name is not asked for a key."""
    assert key("openai/m?baseURL=http://localhost:1", "OPENAI_API_KEY") is None


@pytest.mark.checklist("secrets")
def test_a_resolved_key_is_known_as_a_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    """From then on no log shows it."""
    monkeypatch.setenv("OPENAI_API_KEY", " canary-0123456789 ")
    assert key("openai/m", "OPENAI_API_KEY") == "canary-0123456789"
    assert mask_known("it is canary-0123456789!") == "it is ***!"


def test_any_provider_with_an_address_speaks_chat_completions() -> None:
    """A base URL is enough, no preset is needed."""
    uri = ModelURI.parse("corp/m?baseURL=http://localhost:1/v1")
    assert isinstance(create_provider(uri, HttpClients()), OpenAiCompatible)


@pytest.mark.parametrize("uri", ["nobody/m", "responses://openai/m", "responses://groq/m"])
def test_a_provider_without_an_adapter_is_refused_with_what_to_add(
    uri: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One line: the SDK to add, the address to give, or a provider that is known."""
    for optional in ("openai", "litellm"):  # as in a project without SDKs
        monkeypatch.setitem(sys.modules, f"{PROVIDERS}.{optional}", None)
    with pytest.raises(ConfigError, match="no adapter for") as caught:
        create_provider(ModelURI.parse(uri + "?apiKey=canary-0123456789"), HttpClients())
    message = str(caught.value)
    assert "copier update" in message
    assert "baseURL" in message
    assert "groq" in message
    assert "canary" not in message
    assert "\n" not in message


def test_an_adapter_is_found_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is there is used: nothing has to be registered."""
    module: Any = ModuleType("acme")
    module.create = lambda uri, clients: (uri.model, clients)
    monkeypatch.setitem(sys.modules, f"{PROVIDERS}.acme", module)
    clients = HttpClients()
    made: Any = create_provider(ModelURI.parse("acme/m"), clients)
    assert made == ("m", clients)


def test_litellm_takes_what_nobody_else_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it is included, a provider without an adapter and a preset goes there."""
    module: Any = ModuleType("litellm")
    module.create = lambda uri, clients: f"litellm for {uri.provider}"
    monkeypatch.setitem(sys.modules, f"{PROVIDERS}.litellm", module)
    made: Any = create_provider(ModelURI.parse("bedrock/m"), HttpClients())
    assert made == "litellm for bedrock"


@pytest.mark.parametrize(
    ("raw", "arguments"),
    [
        ("{}", {}),
        ("", {}),
        ("  \n", {}),
        ("null", {}),
        ('{"q": "nghĩa 🌍"}', {"q": "nghĩa 🌍"}),
        ('{"q": "\\ud83d\\ude00"}', {"q": "😀"}),
        ('{"q": "\\ud83d"}', {"q": "\ufffd"}),
        (' {"a": [1, {"b": null}]} ', {"a": [1, {"b": None}]}),
    ],
)
def test_arguments_are_read(raw: str, arguments: dict[str, Any]) -> None:
    """Nothing at all and null mean no arguments; half characters are mended."""
    call = parse_tool_call("c1", "t", raw)
    assert (call.arguments, call.malformed) == (arguments, None)
    assert call.arguments_text.encode()


@pytest.mark.parametrize(
    "raw",
    [
        "[1]",
        '"text"',
        "7",
        "true",
        '{"q": "a',
        "{'q': 1}",
        "{q: 1}",
        '{"q": NaN}',
        '{"q": -Infinity}',
        "[" * 100_000,
        '{"q": ' * 100_000,
        "1" * 5_000,
        "half \ud83d",
    ],
)
def test_broken_arguments_are_kept_apart(raw: str) -> None:
    """What is no JSON object is kept for the error, and sent back as an empty one."""
    call = parse_tool_call("c1", "t", raw)
    assert call.malformed is not None
    assert call.malformed.encode()
    assert (call.arguments, json.loads(call.arguments_text)) == ({}, {})


@pytest.mark.parametrize("raw", ['{"a":' * 300 + "1" + "}" * 300, '{"a":1e400}'])
def test_arguments_that_could_not_be_stored_or_sent_back_are_malformed(raw: str) -> None:
    """Readers have limits: JSON has no infinity, and stores refuse deep nesting."""
    call = parse_tool_call("c1", "f", raw)
    assert (call.malformed, call.arguments_text) == (raw, "{}")
    assert Message("assistant", (call,)).to_json()
