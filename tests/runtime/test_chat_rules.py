"""The fake refuses what the Chat Completions API refuses, with 400 and a reason."""

from __future__ import annotations

import json
from typing import Any

import httpx2
import pytest

from agentkit.tests.chat_rules import OPENAI, check_body, read_body
from agentkit.tests.message_rules import Refused, Rules

URL = "https://api.openai.com/v1/chat/completions"
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5E"
SYSTEM = {"role": "system", "content": "Be brief."}
USER = {"role": "user", "content": "hi"}
ASSISTANT = {"role": "assistant", "content": "hello"}


def call(identifier: str = "c1", name: str = "f", arguments: Any = "{}") -> dict[str, Any]:
    function = {"name": name, "arguments": arguments}
    return {"id": identifier, "type": "function", "function": function}


def asks(*calls: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "tool_calls": list(calls), **more}


def result(identifier: str = "c1", content: Any = "done") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": identifier, "content": content}


def image(url: str) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "image_url", "image_url": {"url": url}}]}


def tool(name: str = "f", parameters: Any = None, **more: Any) -> dict[str, Any]:
    parameters = parameters or {"type": "object", "properties": {}}
    return {"type": "function", "function": {"name": name, "parameters": parameters, **more}}


def refusal(body: dict[str, Any], rules: Rules = OPENAI) -> str:
    """Return why a body is refused, "" if it is not."""
    try:
        check_body(body, rules)
    except Refused as refused:
        return str(refused.body["error"]["message"])
    return ""


def messages_refusal(*messages: Any, rules: Rules = OPENAI) -> str:
    return refusal({"model": "m", "messages": list(messages)}, rules)


@pytest.mark.parametrize(
    "messages",
    [
        [SYSTEM, USER],
        [USER, ASSISTANT, USER],
        [USER, asks(call("c1"), call("c2")), result("c2"), result("c1")],
        [USER, asks(call(), content=None), result(), ASSISTANT],
        [USER, asks(call("c1")), result("c1"), asks(call("c1")), result("c1")],
        [image(f"data:image/png;base64,{PIXEL}"), ASSISTANT, image("https://example.com/a.png")],
        [USER, asks(call()), result(content=[{"type": "text", "text": ""}])],
    ],
)
def test_good_messages_are_accepted(messages: list[Any]) -> None:
    """Pairs in any order within their turn, repeated ids in later turns, images, parts."""
    assert messages_refusal(*messages) == ""


@pytest.mark.parametrize(
    ("messages", "reason"),
    [
        ([], "empty 'messages'"),
        ([USER, asks(call())], "Calls without a tool message"),
        ([USER, asks(call()), USER], "Calls without a tool message"),
        ([USER, asks(call("c1"), call("c2")), result("c1"), USER], "['c2']"),
        ([USER, asks(call()), USER, result()], "Calls without a tool message"),
        ([USER, result()], "must answer a call"),
        ([USER, asks(call()), result(), result()], "must answer a call"),
        ([USER, asks(call()), result("c9")], "must answer a call"),
        ([USER, asks(call(), call()), result()], "Duplicate ids"),
        ([USER, asks()], "empty array"),
        ([USER, asks(call(arguments={}))], "no JSON object"),
        ([USER, asks(call(arguments=""))], "no JSON object"),
        ([USER, asks(call(arguments="[1]"))], "no JSON object"),
        ([USER, asks(call(name="a.b"))], "function.name"),
        ([USER, asks(call("c" * 41))], "1 to 40 characters"),
        ([USER, asks({**call(), "index": 0})], "tool_calls[0].index"),
        ([USER, {"role": "assistant", "content": ""}], "must not be empty"),
        ([USER, {"role": "assistant", "content": None}], "must not be empty"),
        ([USER, {"role": "assistant", "content": []}], "must not be empty"),
        ([USER, {"role": "assistant", "content": [{"type": "text", "text": ""}]}], "expected text"),
        ([{"role": "user", "content": None}], "expected a string or parts"),
        ([{"role": "user", "content": []}], "expected a string or parts"),
        ([{"role": "user", "content": [{"type": "txt", "text": "a"}]}], "no 'txt' in role 'user'"),
        ([{**image("https://x.io/a.png"), "role": "system"}], "no 'image_url' in role 'system'"),
        ([image("data:image/png;base64,???")], "Invalid base64 image"),
        ([image("data:image/bmp;base64,AAAA")], "Invalid base64 image"),
        ([image("/home/me/a.png")], "Invalid base64 image"),
        ([{"role": "model", "content": "x"}], "'model'"),
        ([{**USER, "id": "m1"}], "messages[0].id"),
        (["hi"], "Invalid value"),
    ],
)
def test_bad_messages_are_refused(messages: list[Any], reason: str) -> None:
    """Each is a request that real servers answer with status 400."""
    assert reason in messages_refusal(*messages)


@pytest.mark.parametrize(
    ("messages", "reason"),
    [
        ([USER, USER], "Unexpected role 'user' after role 'user'"),
        ([USER, ASSISTANT, ASSISTANT, USER], "Unexpected role 'assistant'"),
        ([USER, SYSTEM], "system messages first"),
        ([SYSTEM, ASSISTANT, USER], "then a user message"),
        ([USER, ASSISTANT], "Expected last role"),
    ],
)
def test_strict_servers_want_alternating_roles(messages: list[Any], reason: str) -> None:
    """`alternation` refuses what OpenAI lets pass."""
    assert messages_refusal(*messages) == ""
    assert reason in messages_refusal(*messages, rules=Rules(alternation=True))


def test_a_user_turn_after_results_is_refused_by_the_strictest() -> None:
    """`user_after_tool=False` refuses it, `alternation` alone does not."""
    messages = [USER, asks(call()), result(), USER]
    strictest = Rules(alternation=True, user_after_tool=False)
    assert messages_refusal(*messages, rules=Rules(alternation=True)) == ""
    assert "'user' after role 'tool'" in messages_refusal(*messages, rules=strictest)


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"top_k": 3}, "Unknown parameter: 'top_k'"),
        ({"max_tokens": 5}, "Use 'max_completion_tokens' instead"),
        ({"max_completion_tokens": 0}, "'max_completion_tokens'"),
        ({"temperature": None}, "'temperature'"),
        ({"temperature": True}, "'temperature'"),
        ({"stop": []}, "'stop'"),
        ({"model": ""}, "'model'"),
        ({"tools": []}, "empty array"),
        ({"tools": [tool(), tool()]}, "unique"),
        ({"tools": [tool("a b")]}, "function.name"),
        ({"tools": [tool("f" * 65)]}, "function.name"),
        ({"tools": [tool(parameters={"type": "object"})]}, "missing properties"),
        ({"tools": [tool(parameters={"properties": {}})]}, "must be of 'type"),
        ({"tools": [tool(strict=True)]}, "additionalProperties"),
        ({"tool_choice": "auto"}, "only allowed when 'tools'"),
        ({"tools": [tool()], "tool_choice": {"function": {"name": "g"}}}, "'g' not found"),
        ({"stream_options": {"include_usage": True}}, "only allowed when 'stream'"),
        ({"response_format": {"type": "json_object"}}, "the word 'json'"),
        ({"response_format": {"type": "xml"}}, "'xml'"),
        ({"response_format": {"type": "json_schema", "json_schema": {"name": "a"}}}, "'type"),
    ],
)
def test_bad_parameters_are_refused(more: dict[str, Any], reason: str) -> None:
    """Unknown, misnamed, null and out-of-range parameters, and those that need another."""
    assert reason in refusal({"model": "m", "messages": [USER], **more})


def test_servers_may_differ() -> None:
    """`Rules` renames the output limit, fixes the temperature, and knows further parameters."""
    body = {"model": "m", "messages": [{**USER, "prefix": True}], "max_tokens": 5, "top_k": 3}
    rules = Rules(
        output_limit="max_tokens",
        temperature=False,
        parameters=frozenset({"top_k"}),
        message_fields=frozenset({"prefix"}),
    )
    assert refusal(body, rules) == ""
    assert "'temperature' is fixed" in refusal({**body, "temperature": 0.2}, rules)
    assert "Use 'max_tokens' instead" in refusal({**body, "max_completion_tokens": 5}, rules)


def post(content: bytes, **headers: str) -> httpx2.Request:
    """Return a good request with this body; headers replace the good ones."""
    good = {"authorization": "Bearer sk-test", "content-type": "application/json"}
    return httpx2.Request("POST", URL, content=content, headers={**good, **headers})


def test_a_good_request_is_read() -> None:
    """The parsed body is returned; a key is only wanted where one is needed."""
    body = {"text": "Xin chào 🌍"}
    content = json.dumps(body, ensure_ascii=False).encode()
    assert read_body(post(content), OPENAI) == body
    assert read_body(post(content, authorization=""), Rules(needs_key=False)) == body


@pytest.mark.parametrize(
    ("request_", "reason"),
    [
        (httpx2.Request("GET", URL), "Not allowed"),
        (httpx2.Request("POST", "https://api.openai.com/v1/responses"), "Invalid URL"),
        (post(b"{}", authorization="Bearer "), "API key"),
        (post(b"{}", authorization="sk-test"), "API key"),
        (post(b"{}", **{"content-type": "text/plain"}), "content type"),
        (post(b"{}", **{"content-length": "3"}), "content-length"),
        (post(b"{"), "could not parse"),
        (post('{"a": "é"}'.encode("latin-1")), "could not parse"),
        (post(b'{"a": NaN}'), "could not parse"),
        (post(b'{"a": "\\ud83d"}'), "lone surrogate"),
        (post(b"[]"), "no object"),
    ],
)
def test_bad_requests_are_refused(request_: httpx2.Request, reason: str) -> None:
    """Wrong method, path, key, type, length, encoding or JSON."""
    with pytest.raises(Refused, match=reason):
        read_body(request_, OPENAI)
