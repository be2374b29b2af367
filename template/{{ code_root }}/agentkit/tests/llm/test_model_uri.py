"""Model URIs: what they may hold, how values are typed, and that they never show a secret."""

from __future__ import annotations

import json
import traceback
from typing import Any

import pytest

from ...errors import ConfigError
from ...llm.model_uri import DEFAULT_RETRIES, DEFAULT_TIMEOUT, ModelURI
from ...observability.redact import safe_sanitize

SECRET = "canary-7f3a9c55"


def refused(text: str) -> str:
    """Return the message that a URI is refused with."""
    with pytest.raises(ConfigError) as caught:
        ModelURI.parse(text)
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "protocol", "provider", "model"),
    [
        ("chat://openai/gpt-5-mini", "chat", "openai", "gpt-5-mini"),
        ("openai/gpt-5-mini", "chat", "openai", "gpt-5-mini"),
        ("responses://openai/gpt-5", "responses", "openai", "gpt-5"),
        ("ollama/qwen3:8b", "chat", "ollama", "qwen3:8b"),
        ("vllm/meta-llama/Llama-3.1-8B", "chat", "vllm", "meta-llama/Llama-3.1-8B"),
        ("workersai/@cf/meta/llama-3", "chat", "workersai", "@cf/meta/llama-3"),
        ("openrouter/a/b:free", "chat", "openrouter", "a/b:free"),
        ("OpenAI/gpt-5", "chat", "openai", "gpt-5"),
        ("  openai/gpt-5\n", "chat", "openai", "gpt-5"),
        ("my-proxy_2.io/m", "chat", "my-proxy_2.io", "m"),
        ("vllm/a%3Fb", "chat", "vllm", "a?b"),
    ],
)
def test_protocol_provider_and_model(text: str, protocol: str, provider: str, model: str) -> None:
    """The protocol is `chat` if not given; a model may hold slashes and colons."""
    uri = ModelURI.parse(text)
    assert (uri.protocol, uri.provider, uri.model) == (protocol, provider, model)


@pytest.mark.parametrize(
    ("query", "setting", "value"),
    [
        ("maxTokens=50", "max_tokens", 50),
        ("temperature=0.3", "temperature", 0.3),
        ("temperature=0", "temperature", 0.0),
        ("topP=0.9", "top_p", 0.9),
        ("topK=40", "top_k", 40),
        ("stop=END", "stop", ["END"]),
        ("stop=a%26b&stop=c", "stop", ["a&b", "c"]),
        ("seed=-7", "seed", -7),
        ("reasoning=low", "reasoning", "low"),
        ("reasoning=2048", "reasoning", 2048),
    ],
)
def test_settings_are_typed(query: str, setting: str, value: Any) -> None:
    """Each setting becomes a value of its own type, and only what was given is there."""
    settings = ModelURI.parse(f"openai/m?{query}").settings
    assert settings == {setting: value}
    assert type(settings[setting]) is type(value)


def test_defaults() -> None:
    """Without parameters nothing is set: two retries, and a timeout that thinking models need."""
    uri = ModelURI.parse("openai/m")
    assert (uri.api_key, uri.base_url, uri.settings) == (None, None, {})
    assert (uri.timeout, uri.max_retries) == (DEFAULT_TIMEOUT, DEFAULT_RETRIES) == (120.0, 2)


def test_timeout_is_given_in_milliseconds() -> None:
    """The URI counts in milliseconds, Python in seconds."""
    assert ModelURI.parse("openai/m?timeout=1500").timeout == 1.5


@pytest.mark.parametrize(("given", "retries"), [("0", 0), ("5", 5), ("20", 20)])
def test_retries_are_counted_after_the_first_attempt(given: str, retries: int) -> None:
    """`maxRetries=0` means one attempt."""
    assert ModelURI.parse(f"openai/m?maxRetries={given}").max_retries == retries


@pytest.mark.parametrize(
    "url",
    [
        "http://localhost:8000/v1",
        "https://h/v1?api-version=2026-01-01",
        "http://user:password@h:1/v1",
        "http://[::1]:8000/v1",
    ],
)
def test_a_url_inside_a_parameter_is_fine(url: str) -> None:
    """A base URL needs no escaping as long as it holds no `&`, and others may follow it."""
    uri = ModelURI.parse(f"openai/m?baseURL={url}&seed=1")
    assert (uri.base_url, uri.settings) == (url, {"seed": 1})


def test_a_slash_at_the_end_of_a_base_url_is_dropped() -> None:
    """Paths are appended to it."""
    assert ModelURI.parse("openai/m?baseURL=http://h/v1/").base_url == "http://h/v1"


def test_escapes_are_resolved() -> None:
    """`%26`, `%23` and `%25` stand for what would break the URI; `+` stays as it is."""
    assert ModelURI.parse("openai/m?apiKey=a%26b%23c%25d+e").api_key == "a&b#c%d+e"


@pytest.mark.parametrize("key", ["", "%20", "%20%20"])
def test_a_blank_key_counts_as_missing(key: str) -> None:
    """An empty variable pasted into a URI is no key."""
    assert ModelURI.parse(f"openai/m?apiKey={key}").api_key is None


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "no provider"),
        ("openai", "no model after the provider"),
        ("openai/", "no model after the provider"),
        ("chat://", "no provider"),
        ("/gpt-5", "no provider"),
        ("openai:gpt-4", "no provider"),
        ("openai/gpt 5", "no model"),
        ("openai/gpt%0A5", "no model"),
        ("http://openai/gpt-5", "unknown protocol 'http'; known: chat:// and responses://"),
        ("open ai/gpt-5", "no provider"),
        ("openai/?seed=1", "no model"),
    ],
)
def test_what_is_no_uri_is_refused(text: str, problem: str) -> None:
    """The message says which part is missing, in one line."""
    message = refused(text)
    assert problem in message
    assert "\n" not in message


@pytest.mark.parametrize("name", ["api_key", "maxtokens", "model", "top_p", "Temperature", "n"])
def test_an_unknown_parameter_is_refused_with_the_known_ones(name: str) -> None:
    """A misspelt parameter is never ignored."""
    message = refused(f"openai/m?{name}=1")
    assert f"unknown parameter '{name}'" in message
    for known in (
        *("apiKey", "baseURL", "timeout", "maxTokens", "temperature", "topP", "topK"),
        *("stop", "seed", "maxRetries", "reasoning"),
    ):
        assert known in message


@pytest.mark.parametrize(
    ("pair", "problem"),
    [
        *((f"maxRetries={bad}", "whole number, 0 to 20") for bad in ("-1", "2.5", "inf", "21", "")),
        *((f"timeout={bad}", "must be a number, 1 or more") for bad in ("0", "-5", "nan", "soon")),
        *((f"maxTokens={bad}", "whole number, 1 or more") for bad in ("0", "-1", "1.5", "many")),
        *((f"temperature={bad}", "must be a number, 0 to 2") for bad in ("2.1", "-1", "hot", "")),
        ("topP=1.5", "must be a number, 0 to 1"),
        ("topK=0", "whole number, 1 or more"),
        ("seed=x", "whole number"),
        ("stop=", "must not be empty"),
        ("reasoning=much", "low, medium, high"),
        ("reasoning=0", "number of tokens"),
        ("baseURL=localhost:8000", "http:// or https:// URL"),
        ("baseURL=ftp://h/", "http:// or https:// URL"),
        ("baseURL=http://", "http:// or https:// URL"),
        ("baseURL=http://h:99999/", "http:// or https:// URL"),
        ("baseURL=http://h:port/", "http:// or https:// URL"),
        ("baseURL=http://a b/", "http:// or https:// URL"),
        ("baseURL=http://h/v1%23top", "http:// or https:// URL"),
        ("baseURL=http://[::1/", "http:// or https:// URL"),
        ("seed=1&seed=2", "seed is given twice"),
    ],
)
def test_a_bad_value_is_refused_with_what_is_right(pair: str, problem: str) -> None:
    """The message names the parameter and says what it takes."""
    message = refused(f"openai/m?{pair}")
    assert problem in message
    assert message.startswith(f"model URI: {pair.partition('=')[0]} ")


@pytest.mark.checklist("secrets")
@pytest.mark.parametrize(
    "query",
    [
        f"apiKey={SECRET}",
        f"baseURL=http://user:{SECRET}@h/v1",
        f"baseURL=http://{SECRET}@h/v1",
        f"baseURL=http://{SECRET}%257B@h/v1",
        f"baseURL=http://h/v1?key={SECRET}",
        f"baseURL=http://h/v1?tavilyApiKey={SECRET}",
        f"apiKey={SECRET}&stop={SECRET}",
    ],
)
def test_secrets_are_masked_in_every_text(query: str) -> None:
    """Neither `str()`, `repr()` nor a log shows a key or a password."""
    uri = ModelURI.parse(f"openai/m?{query}")
    for text in (str(uri), repr(uri), f"{uri}", json.dumps(safe_sanitize({"uri": uri}))):
        assert SECRET not in text
        assert "***" in text


def test_the_text_of_a_uri_can_be_read() -> None:
    """Everything but the secrets is shown as it was given."""
    uri = ModelURI.parse("vllm/a/b?baseURL=http://h:1/v1&temperature=0.2&apiKey=sk-12345678")
    assert str(uri) == "chat://vllm/a/b?baseURL=http://h:1/v1&temperature=0.2&apiKey=***"


@pytest.mark.checklist("secrets")
@pytest.mark.parametrize(
    "text",
    [
        f"openai/m?{SECRET}=1",
        f"openai/m?timeout={SECRET}",
        f"openai/m?seed={SECRET}",
        f"openai/m?reasoning={SECRET}",
        f"openai/m?apiKey=abcdef&apiKey={SECRET}",
        f"openai/m?baseURL={SECRET}",
        f"openai/m?baseURL=http://user:{SECRET}\u2100@h/",
        f"openai/m?baseURL=http://h:{SECRET}/",
        f"openai/m?apiKey={SECRET}&seed=x",
        f"openai/m?api_key={SECRET}",
    ],
)
def test_errors_never_echo_what_may_be_a_secret(text: str) -> None:
    """A key in the wrong place is not printed, not even with the traceback or a context."""
    with pytest.raises(ConfigError) as caught:
        ModelURI.parse(text)
    shown = "".join(traceback.format_exception_only(caught.value))
    for error in (caught.value, caught.value.__cause__, caught.value.__context__):
        shown += repr(error)
    assert SECRET not in shown


@pytest.mark.parametrize("key", ["gsk_abcdefghijklmnop1234567890ABCDEFG", "sk-SECRETxyz"])
def test_a_key_in_place_of_a_uri_is_not_repeated(key: str) -> None:
    """AGENT_MODEL set to the key is an easy mistake."""
    with pytest.raises(ConfigError) as caught:
        ModelURI.parse(key)
    assert key.lower() not in str(caught.value).lower()
