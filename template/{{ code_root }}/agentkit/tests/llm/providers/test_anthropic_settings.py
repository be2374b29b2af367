"""The Messages adapter: which settings it takes, and how it finds its key and its address."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import httpx2
import pytest

from ....errors import BadRequest, ConfigError
from ....llm.model_uri import ModelURI
from ....llm.provider import Provider, Request, create_provider
from ....messages import Message
from ....transport import HttpClients
from ...fake_messages import MESSAGES, FakeMessages

HELLO = [Message.user("hello")]


def provider(fake: FakeMessages, query: str = "") -> Provider:
    """Return the provider over a fake server, with more parameters in its URI."""
    return create_provider(ModelURI.parse(MESSAGES + query), HttpClients(fake.transport))


@pytest.mark.parametrize(
    ("query", "fields"),
    [
        ("&maxTokens=50", {"max_tokens": 50}),
        ("&stop=END&stop=FIN", {"stop_sequences": ["END", "FIN"]}),
        (
            "&reasoning=low",
            {"thinking": {"type": "adaptive"}, "output_config": {"effort": "low"}},
        ),
        ("&reasoning=none", {"thinking": {"type": "disabled"}}),
        (
            "&reasoning=2000",
            {"thinking": {"type": "enabled", "budget_tokens": 2000}, "max_tokens": 18_000},
        ),
        (
            "&reasoning=2000&maxTokens=3000",
            {"thinking": {"type": "enabled", "budget_tokens": 2000}, "max_tokens": 3000},
        ),
    ],
)
async def test_settings_go_out_under_the_apis_names(query: str, fields: dict[str, Any]) -> None:
    """An effort lets the model decide how long to think, a number is a budget of tokens."""
    with FakeMessages(["hi"]) as fake:
        settings = ModelURI.parse(MESSAGES + query).settings
        await provider(fake, query).complete(Request(HELLO, settings=settings))
    assert fake.requests[0].items() >= fields.items()


async def test_a_stop_of_one_text_becomes_a_list() -> None:
    """A setting of a single call may be a plain text."""
    with FakeMessages(["hi"]) as fake:
        await provider(fake).complete(Request(HELLO, settings={"stop": "END"}))
    assert fake.requests[0]["stop_sequences"] == ["END"]


@pytest.mark.parametrize(
    ("query", "problem"),
    [
        ("&temperature=0", "does not take temperature:"),
        ("&topP=0.5&topK=3", "does not take top_p, top_k:"),
        ("&seed=1", "does not take seed:.* It takes: max_tokens, stop, reasoning"),
        ("&reasoning=minimal", "does not take reasoning=minimal; it takes none, low, .*, max"),
        ("&reasoning=500", "a budget of at least 1024 tokens"),
        ("&reasoning=5000&maxTokens=4000", r"max_tokens \(4000\) must be more than the budget"),
    ],
)
async def test_a_setting_it_cannot_take_is_refused_at_once(query: str, problem: str) -> None:
    """By name, when the provider is made, and also when a single call brings it."""
    with pytest.raises(ConfigError, match=problem):
        create_provider(ModelURI.parse(MESSAGES + query), HttpClients())
    settings = ModelURI.parse(MESSAGES + query).settings
    with FakeMessages([]) as fake, pytest.raises(ConfigError, match=problem):
        await provider(fake).complete(Request(HELLO, settings=settings))


async def test_a_refused_parameter_is_named() -> None:
    """The API's own words say which one it does not like."""
    with (
        FakeMessages([], refusals=1) as fake,
        pytest.raises(BadRequest, match="anthropic answered 400: stop_sequences: Invalid"),
    ):
        await provider(fake).complete(Request(HELLO, settings={"stop": [" "]}))


@pytest.mark.parametrize("base", ["http://proxy:4000/claude", "http://proxy:4000/claude/v1/"])
async def test_an_address_of_ones_own_is_used(base: str) -> None:
    """With the version in it or without, with its query, and without a key if there is none."""
    seen: list[httpx2.Request] = []

    def respond(request: httpx2.Request) -> httpx2.Response:
        seen.append(request)
        return httpx2.Response(200, json={"content": [{"type": "text", "text": "hi"}]})

    uri = ModelURI.parse(f"anthropic/m?baseURL={base}?tenant=a")
    made = create_provider(uri, HttpClients(httpx2.MockTransport(respond)))
    assert (await made.complete(Request(HELLO))).message.text == "hi"
    assert str(seen[0].url) == "http://proxy:4000/claude/v1/messages?tenant=a"
    assert "authorization" not in seen[0].headers


async def test_keys_of_the_environment_are_the_sdks_only_through_us(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Our key goes out; other credentials that the SDK would find do not."""
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "sk-ant-other-credential")
    with FakeMessages(["hi"]) as fake:
        await provider(fake).complete(Request(HELLO))
    assert fake.headers[0]["authorization"] == "Bearer sk-ant-test-0123456789"


def test_a_missing_key_is_told_at_once() -> None:
    """Before anything is asked, with the name of the variable."""
    with pytest.raises(ConfigError, match="ANTHROPIC_API_KEY is not set"):
        create_provider(ModelURI.parse("anthropic/claude-sonnet-5-5"), HttpClients())


def test_another_protocol_is_refused() -> None:
    """There is one way to reach Claude."""
    uri = ModelURI.parse(f"responses://{MESSAGES}")
    with pytest.raises(ConfigError, match="use chat://anthropic/claude-sonnet-5-5"):
        create_provider(uri, HttpClients())


def test_a_missing_package_is_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The adapter may be there without its SDK."""
    monkeypatch.setitem(sys.modules, "anthropic", None)
    with pytest.raises(ConfigError, match="the package anthropic is missing"):
        create_provider(ModelURI.parse(MESSAGES), HttpClients())


def test_each_event_loop_gets_its_own_client() -> None:
    """A provider that is used in one loop after another keeps working."""

    async def ask_and_close() -> str:
        reply = await made.complete(Request(HELLO))
        await clients.aclose()
        return reply.message.text

    with FakeMessages(["one", "two"]) as fake:
        clients = HttpClients(fake.transport)
        made = create_provider(ModelURI.parse(MESSAGES), clients)
        assert [asyncio.run(ask_and_close()) for _ in range(2)] == ["one", "two"]
