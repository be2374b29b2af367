"""What litellm's adapter needs when it is made, and that litellm waits for the first call."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ....errors import ConfigError
from ....llm.model_uri import ModelURI
from ....llm.provider import Request, create_provider
from ....llm.providers import litellm as adapter
from ....llm.providers.litellm import LiteLlm, create
from ....messages import Message
from ....transport import HttpClients
from ...fake_chat import FakeChat, Rules
from ...litellm_routes import quiet
from ...test_structure import ROOT

pytestmark = quiet
HELLO = [Message.user("hello")]
# Makes a provider, calls it over a fake server, and prints what it saw of litellm and of the loop.
PROBE = """
import asyncio, json, logging, socket, sys
sys.path.append(sys.argv[1])  # last: the folder may hold a typing.py of the user's
import httpx2
from agentkit.errors import LlmError
from agentkit.llm.model_uri import ModelURI
from agentkit.llm.provider import Request
from agentkit.llm.providers.litellm import create
from agentkit.messages import Message
from agentkit.transport import HttpClients

reached = []
socket.getaddrinfo = lambda *given, **more: reached.append(given) or 1 / 0
logging.basicConfig(stream=sys.stdout, level=logging.WARNING)

async def main():
    refuse = httpx2.MockTransport(lambda request: httpx2.Response(400, text="no"))
    made = create(ModelURI.parse("litellm/anthropic/claude-sonnet-4-5"), HttpClients(refuse))
    early = "litellm" in sys.modules
    call = asyncio.create_task(made.complete(Request([Message.user("hello")])))
    turns = 0
    while "litellm" not in sys.modules or not hasattr(sys.modules["litellm"], "acompletion"):
        turns += 1
        await asyncio.sleep(0.01)
    try:
        await call
    except LlmError as error:
        text = str(error)
    print(json.dumps({"early": early, "turns": turns, "reached": reached, "error": text}))

asyncio.run(main())
"""


def test_litellm_is_imported_by_the_first_call_in_a_thread_and_in_silence(tmp_path: Path) -> None:
    """Nothing is printed or looked up on the network, and the loop goes on meanwhile."""
    result = subprocess.run(
        [sys.executable, "-c", PROBE, str(ROOT.parent)],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        env={**os.environ, "ANTHROPIC_API_KEY": "sk-ant-test-0123456789"},
    )
    assert (len(result.stdout.splitlines()), result.stderr) == (1, "")
    seen = json.loads(result.stdout)
    assert seen["error"] == "litellm/anthropic answered 400: no"
    assert (seen["early"], seen["reached"]) == (False, [])
    assert seen["turns"] > 3


def test_a_project_without_the_package_is_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """In one line that says what to install."""
    monkeypatch.setattr(adapter, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match="pip install litellm"):
        create(ModelURI.parse("litellm/openai/m"), HttpClients())


async def test_a_broken_installation_is_told_by_the_first_call(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A package that litellm needs may be missing, or of another version."""

    def fail() -> None:
        raise ImportError("cannot import name 'x' from 'openai'")

    monkeypatch.setattr(adapter, "_import", fail)
    made = create(ModelURI.parse("litellm/openai/m?apiKey=sk-test-0123456789"), HttpClients())
    with pytest.raises(ConfigError, match="litellm cannot be imported: cannot import name 'x'"):
        await made.complete(Request(HELLO))


@pytest.mark.parametrize(
    ("uri", "problem"),
    [
        ("litellm/gpt-5", "expected litellm/<provider>/<model>"),
        ("responses://litellm/openai/gpt-5", "chat://litellm"),
        ("litellm/openai/gpt-5", "OPENAI_API_KEY is not set"),
    ],
)
def test_a_uri_that_cannot_work_is_refused_at_once(uri: str, problem: str) -> None:
    """Before litellm is imported."""
    with pytest.raises(ConfigError, match=problem):
        create(ModelURI.parse(uri), HttpClients())


def test_a_provider_that_nobody_else_takes_comes_here() -> None:
    """Without a key: litellm knows where each of its providers keeps its own."""
    assert isinstance(create_provider(ModelURI.parse("bedrock/m"), HttpClients()), LiteLlm)


async def test_the_key_of_the_environment_is_the_inner_providers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Under the same name as for all other adapters."""
    monkeypatch.setenv("DEEPINFRA_API_KEY", "key-of-deepinfra")
    with FakeChat(["hi"], rules=Rules(output_limit="max_tokens")) as fake:
        made = create(ModelURI.parse("deepinfra/m?maxTokens=5"), HttpClients(fake.transport))
        await made.complete(Request(HELLO, settings={"max_tokens": 5}))
    assert fake.headers[0]["authorization"] == "Bearer key-of-deepinfra"
    assert fake.urls == ["https://api.deepinfra.com/v1/openai/chat/completions"]


async def test_a_base_url_of_the_users_own() -> None:
    """It replaces the provider's address."""
    with FakeChat(["hi"]) as fake:
        uri = "litellm/openai/gpt-5-mini?apiKey=sk-test-0123456789&baseURL=http://h:1/v1"
        await create(ModelURI.parse(uri), HttpClients(fake.transport)).complete(Request(HELLO))
    assert fake.urls == ["http://h:1/v1/chat/completions"]


def test_google_is_gemini_to_litellm() -> None:
    """Where its own adapter was not chosen."""
    made: Any = create(ModelURI.parse("google/gemini-3-pro-preview"), HttpClients())
    assert made._model == "gemini/gemini-3-pro-preview"
