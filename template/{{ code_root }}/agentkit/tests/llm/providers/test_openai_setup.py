"""The Responses adapter's address and key, and the SDK that it keeps in check."""

from __future__ import annotations

import logging
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx2
import pytest

from ....errors import ConfigError
from ....llm.model_uri import ModelURI
from ....llm.provider import Provider, Request, create_provider
from ....messages import Message
from ....transport import HttpClients
from ...chat_replies import answer
from ...fake_responses import RESPONSES, FakeResponses, response_of

ROOT = Path(__file__).parents[3]
HELLO = [Message.user("hello")]
PROBE = """
import sys
sys.path.append(sys.argv[1])  # last: the folder may hold a typing.py of the user's
import agentkit
agentkit.create_llm_requester(sys.argv[2])
print("openai" in sys.modules)
"""


def provider(fake: FakeResponses, uri: str = RESPONSES) -> Provider:
    """Return the provider of a URI over a fake server."""
    return create_provider(ModelURI.parse(uri), HttpClients(fake.transport))


@pytest.mark.parametrize(
    ("base_url", "url"),
    [
        ("http://h:1/v1", "http://h:1/v1/responses"),
        ("http://h/v1/", "http://h/v1/responses"),
        ("https://h/v1?api-version=1", "https://h/v1/responses?api-version=1"),
    ],
)
async def test_a_base_url_of_the_users_own(base_url: str, url: str) -> None:
    """It needs no key, and its query stays."""
    with FakeResponses(["hi"]) as fake:
        await provider(fake, f"responses://openai/m?baseURL={base_url}").complete(Request(HELLO))
    assert fake.urls == [url]


def test_an_address_that_is_no_url_is_refused_at_once() -> None:
    """Some texts pass for a URL until a client takes them apart."""
    with pytest.raises(ConfigError, match="its address is no valid URL"):
        create_provider(ModelURI.parse(f"{RESPONSES}&baseURL=http://a\u200b/v1"), HttpClients())


def test_a_missing_key_is_told_at_once() -> None:
    """Before the first call, with the name of the variable."""
    with pytest.raises(ConfigError, match="OPENAI_API_KEY is not set"):
        create_provider(ModelURI.parse("responses://openai/gpt-5-mini"), HttpClients())


def test_a_missing_sdk_is_told_with_how_to_install_it(monkeypatch: Any) -> None:
    """The adapter was generated, but the project's environment lacks the package."""
    monkeypatch.setitem(sys.modules, "openai", None)
    with pytest.raises(ConfigError, match="pip install openai"):
        create_provider(ModelURI.parse(RESPONSES), HttpClients())


async def test_the_environment_of_the_sdk_does_not_redirect_requests(monkeypatch: Any) -> None:
    """The address is the URI's business alone."""
    monkeypatch.setenv("OPENAI_BASE_URL", "https://elsewhere.example/v1")
    with FakeResponses(["hi"]) as fake:
        await provider(fake).complete(Request(HELLO))
    assert fake.urls == ["https://api.openai.com/v1/responses"]


async def test_the_sdk_prints_nothing(capfd: Any, caplog: Any) -> None:
    """Neither to stdout nor to stderr, and no warning to a log."""
    with FakeResponses(["hi"]) as fake, caplog.at_level(logging.WARNING):
        await provider(fake).complete(Request(HELLO))
    assert tuple(capfd.readouterr()) == ("", "")
    assert caplog.records == []


async def test_the_sdk_has_no_timeout_of_its_own() -> None:
    """The deadline is the caller's; the SDK's would end a long thought after ten minutes."""
    seen: list[httpx2.Request] = []

    def respond(request: httpx2.Request) -> httpx2.Response:
        seen.append(request)
        return httpx2.Response(200, json=response_of(answer("hi"), {"model": "m"}, 1))

    made = create_provider(ModelURI.parse(RESPONSES), HttpClients(httpx2.MockTransport(respond)))
    await made.complete(Request(HELLO))
    assert set(seen[0].extensions["timeout"].values()) == {None}


def test_the_sdk_is_imported_at_the_first_call(tmp_path: Path) -> None:
    """Creating the provider loads nothing of it."""
    command = [sys.executable, "-c", PROBE, str(ROOT.parent), RESPONSES]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout == "False\n"
