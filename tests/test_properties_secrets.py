"""Whatever carries a known secret, none of it gets out: no log, no artifact, no error, no repr."""

from __future__ import annotations

import asyncio
import base64
import io
import json
import tempfile
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx2
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from agentkit.errors import AgentkitError, ConfigError, ToolError
from agentkit.llm.events import Retrying
from agentkit.llm.model_uri import ModelURI
from agentkit.llm.requester import LlmRequester, create_llm_requester
from agentkit.messages import Message, ToolCall
from agentkit.observability import redact
from agentkit.observability.logger import Logger
from agentkit.observability.redact import safe_sanitize
from agentkit.observability.run_context import create_run_context
from agentkit.retry import Backoff
from agentkit.tools.registry import ToolRegistry
from agentkit.tools.tool import Tool, ToolContext

# The beginning makes sure that a secret is not found where nobody put it.
keys = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=6, max_size=30).map(
    lambda text: f"Zq7-{text}"
)
secrets = st.text(st.characters(exclude_categories=["Cs", "Cc", "Z"]), min_size=6, max_size=30).map(
    lambda text: f"Zq7-{text}"
)
around = st.one_of(
    st.just(""),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
    st.integers(100, 420).map(lambda length: "x" * length),  # error texts are cut about there
)


@dataclass(frozen=True)
class Carrier:
    """A text with a secret in it."""

    secret: str
    text: str


carriers = st.builds(
    lambda secret, before, after: Carrier(secret, f"{before}{secret}{after}"),
    secrets,
    around,
    around,
)


@pytest.fixture(autouse=True)
def no_other_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test begins with no known secret."""
    monkeypatch.setattr(redact, "_forms", {})


def spellings(secret: str) -> set[str]:
    """Return what a secret, or its beginning, looks like in URLs, JSON, a repr and base64."""
    encoded = base64.b64encode(secret.encode()).decode().rstrip("=")[:-1]
    escaped = {json.dumps(secret)[1:-1], repr(secret)[1:-1]}
    return {secret, secret[:8], quote(secret, safe=""), encoded, *escaped}


def shown_by(error: BaseException | None) -> Iterator[str]:
    """Yield every text that an error and the errors behind it can be made to show."""
    while error is not None:
        yield from (str(error), repr(error), *map(repr, error.args), repr(vars(error)))
        yield "".join(traceback.format_exception_only(error))
        error = error.__cause__ or error.__context__


def written_to(folder: Path) -> Iterator[str]:
    """Yield the names of all files, their bytes as text, and the values that YAML reads."""
    for path in folder.rglob("*"):
        yield str(path.relative_to(folder))
        if path.is_file():
            text = path.read_text(encoding="utf-8")
            yield text
            yield from _values(yaml.safe_load(text))


def _values(data: Any) -> Iterator[str]:
    if isinstance(data, dict):
        for key, value in data.items():
            yield str(key)
            yield from _values(value)
    elif isinstance(data, list):
        for item in data:
            yield from _values(item)
    else:
        yield str(data)


def assert_hidden(secret: str, texts: Iterator[str]) -> None:
    """Fail if a spelling of the secret is in one of the texts."""
    forms = spellings(secret)
    for text in texts:
        for form in forms:
            assert form not in text, f"{form!r} in {text[:2000]!r}"


def completion(message: dict[str, Any]) -> httpx2.Response:
    """Return a reply of the API."""
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": "stop"}
    return httpx2.Response(200, json={"model": "m", "choices": [choice], "usage": {}})


class Talk:
    """A run over a scripted server, and everything that it leaves behind."""

    def __init__(self, folder: Path, replies: list[httpx2.Response | Exception]) -> None:
        self.folder = folder
        self.log = io.StringIO()
        self.errors: list[BaseException] = []
        self.retries: list[str] = []
        self.llm: LlmRequester | None = None
        self._replies = replies

    def respond(self, request: httpx2.Request) -> httpx2.Response:
        """Give the next reply."""
        reply = self._replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return reply

    async def run(self, uri: str, messages: list[Message], tools: list[Tool], name: str) -> None:
        """Run, and keep the error instead of raising it."""
        logger = Logger("test", "debug", self.log)
        ctx = create_run_context(logger, self.folder)
        transport = httpx2.MockTransport(self.respond)
        backoff = Backoff(base=0.0)
        try:
            self.llm = create_llm_requester(
                uri, logger, ctx=ctx, transport=transport, backoff=backoff
            )
            events = self.llm.stream(
                messages, tools=tools, identifier=name, stage_name=name, deltas=False
            )
            async for event in events:
                if isinstance(event, Retrying):
                    self.retries.append(event.reason)
        except AgentkitError as error:
            self.errors.append(error)
            logger.error("the run failed", error)

    def texts(self) -> Iterator[str]:
        """Yield everything that others could get to see."""
        yield self.log.getvalue()
        yield from self.retries
        yield from written_to(self.folder)
        for error in self.errors:
            yield from shown_by(error)
        if self.llm is not None:
            yield from (repr(self.llm), repr(self.llm.models), repr(vars(self.llm)))
            yield json.dumps(safe_sanitize(vars(self.llm)))


def failures(text: str) -> list[httpx2.Response | Exception]:
    """Return what can go wrong at a server, with a text in every place."""
    body = {"error": {"message": text, "type": text, "param": text, "code": text}}
    return [
        httpx2.Response(429, json=body, headers={"retry-after": "0"}),
        httpx2.ConnectError(text),
        httpx2.Response(200, text=f"<html>{text}</html>"),
        httpx2.Response(200, json=body),
        httpx2.Response(503, text=text, headers={"x-echo": quote(text)}),
        httpx2.Response(200, json={"choices": [{"message": {"content": {"text": text}}}]}),
        OSError(text),
        httpx2.Response(400, json=body),
    ]


@settings(max_examples=40, deadline=None)
@given(keys, around)
def test_a_key_is_hidden_whatever_fails(key: str, text: str) -> None:
    """A server that echoes the key in its errors, and a network that does."""
    with tempfile.TemporaryDirectory() as folder:
        talk = Talk(Path(folder), failures(f"{text} {key} {text}"))
        uri = f"openai/m?maxRetries=9&apiKey={quote(key, safe='')}"
        asyncio.run(talk.run(uri, [Message.user("hi")], [], "call"))
        assert len(talk.retries) == 7
        assert talk.errors
        assert_hidden(key, talk.texts())


@settings(max_examples=40, deadline=None)
@given(carriers, st.booleans())
def test_a_known_secret_is_hidden_wherever_it_is_said(carried: Carrier, failing: bool) -> None:
    """In prompts, replies, reasoning, arguments, results, errors and names."""

    async def give(arguments: dict[str, Any], ctx: ToolContext) -> Any:
        if failing:
            raise RuntimeError(carried.text)
        return {"result": carried.text, "parts": [carried.text]}

    redact.add_secret(carried.secret)
    arguments = json.dumps({"q": carried.text, carried.text: 1})
    function = {"name": "give", "arguments": arguments}
    broken = {"name": carried.text, "arguments": carried.text}
    replies: list[httpx2.Response | Exception] = [
        completion(
            {
                "content": carried.text,
                "reasoning_content": carried.text,
                "tool_calls": [{"id": "c1", "function": function}, {"function": broken}],
            }
        ),
        completion({"content": None, "refusal": carried.text}),
    ]
    with tempfile.TemporaryDirectory() as folder:
        talk = Talk(Path(folder), replies)
        messages = [Message.system(carried.text), Message.user(carried.text)]
        tools = [Tool("give", carried.text, {}, give)]
        uri = f"corp/m?baseURL=http://h/v1&stop={quote('s' + carried.secret, safe='')}"
        asyncio.run(talk.run(uri, messages, tools, carried.text))
        assert not talk.errors
        assert_hidden(carried.secret, talk.texts())


@settings(max_examples=100, deadline=None)
@given(secrets, around, st.sampled_from([RuntimeError, ToolError, ValueError, OSError]))
def test_an_exception_is_logged_without_the_secret(
    secret: str, text: str, kind: type[Exception]
) -> None:
    """Nor is it in the errors behind it, their attributes, or the traceback."""
    redact.add_secret(secret)
    log = io.StringIO()
    try:
        try:
            raise KeyError(text + secret)
        except KeyError as cause:
            raise kind(secret + text) from cause
    except kind as error:
        Logger("test", "debug", log).error(f"failed: {secret}", error)
        sanitized = json.dumps(safe_sanitize({"error": error, secret: [secret]}))
    assert_hidden(secret, iter([log.getvalue(), sanitized]))


@settings(max_examples=200, deadline=None)
@given(
    keys,
    st.sampled_from(
        [
            "openai/m?apiKey={}",
            "openai/m?apiKey={}&timeout=soon",
            "openai/m?baseURL=http://user:{}@h/v1",
            "openai/m?baseURL=http://{}@h/v1",
            "openai/m?baseURL=http://h/v1?api_key={}",
            "openai/m?baseURL={}",
            "openai/m?seed={}",
            "openai/m?{}=1",
            "nobody/m?apiKey={}",
        ]
    ),
)
def test_a_model_uri_never_shows_a_secret(key: str, form: str) -> None:
    """Accepted or refused, in any parameter."""
    quoted = quote(key, safe="")
    text = form.format(quote(quoted, safe="") if "http" in form else quoted)
    try:
        uri = ModelURI.parse(text)
    except ConfigError as error:
        assert_hidden(key, shown_by(error))
        return
    assert_hidden(key, iter([str(uri), repr(uri), json.dumps(safe_sanitize(uri))]))


@settings(max_examples=100, deadline=None)
@given(carriers)
def test_an_error_result_does_not_hand_a_secret_to_the_model(carried: Carrier) -> None:
    """What a tool's libraries say when they fail goes to another company's server."""

    async def fail(arguments: dict[str, Any], ctx: ToolContext) -> None:
        raise RuntimeError(carried.text)

    redact.add_secret(carried.secret)
    registry = ToolRegistry([Tool("fail", "", {}, fail)])
    result = asyncio.run(registry.execute(ToolCall("c1", "fail")))
    assert_hidden(carried.secret, iter([result.text]))
