"""The fake refuses what the Messages API refuses, with 400 and a reason."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest

from agentkit.tests.chat_replies import Reply, calls
from agentkit.tests.fake_messages import FakeMessages, content_of, thought

URL = "https://api.anthropic.com/v1/messages"
HEADERS = {"authorization": "Bearer sk-ant-test", "anthropic-version": "2026-10-21"}
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5E"


def text(words: str = "hi") -> dict[str, Any]:
    return {"type": "text", "text": words}


def use(call_id: str = "c1", **changes: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": "f", "input": {}, **changes}


def result(call_id: str = "c1", **changes: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call_id, "content": [text()], **changes}


def image(**changes: Any) -> dict[str, Any]:
    source = {"type": "base64", "media_type": "image/png", "data": PIXEL, **changes}
    return {"type": "image", "source": source}


def user(*blocks: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks or [text()])}


def model(*blocks: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks or [text()])}


def tool(**changes: Any) -> dict[str, Any]:
    return {"name": "f", "input_schema": {"type": "object", "properties": {}}, **changes}


async def post(fake: FakeMessages, *messages: Any, **fields: Any) -> dict[str, Any]:
    """Send a request and return the response's JSON."""
    body = {"model": "m", "max_tokens": 9, "messages": list(messages), **fields}
    async with httpx2.AsyncClient(transport=fake.transport, headers=HEADERS) as client:
        response = await client.post(URL, json={k: v for k, v in body.items() if v is not None})
    reply: dict[str, Any] = response.json()
    return reply


async def refused(*messages: Any, **fields: Any) -> str:
    """Return why a request is refused; fails if it is not."""
    with FakeMessages([], refusals=1) as fake:
        reply = await post(fake, *messages, **fields)
    assert reply["type"] == "error"
    assert reply["error"]["type"] == "invalid_request_error"
    return str(reply["error"]["message"])


@pytest.mark.parametrize(
    "messages",
    [
        [user()],
        [user(text(), image())],
        [user(), model(), user()],
        [user(), model(text(), use(), use("c2")), user(result("c2"), result("c1"), text())],
        [user(), model(use()), user(result(is_error=True, content=[text(), image()]))],
    ],
)
async def test_what_the_api_takes_is_answered(messages: list[Any]) -> None:
    """Turns alternate, and results answer the calls before them."""
    with FakeMessages(["hello"]) as fake:
        reply = await post(fake, *messages, tools=[tool()], system=[text()], stop_sequences=["x"])
    assert reply["content"][0]["text"] == "hello"


@pytest.mark.parametrize(
    ("messages", "reason"),
    [
        ([], "messages: Invalid"),
        ([model()], "first message must use the user role"),
        ([user(), user()], "roles must alternate"),
        ([user(), model()], "does not support assistant message prefill"),
        ([{"role": "system", "content": [text()]}], "Invalid message"),
        ([{"role": "user", "content": "hi"}], "non-empty content"),
        ([{"role": "user", "content": []}], "non-empty content"),
        ([user(text(" "))], "non-whitespace"),
        ([user({**text(), "citations": []})], "Extra inputs"),
        ([user(use())], "Extra inputs are not permitted"),
        ([user(), model(image()), user()], "Extra inputs are not permitted"),
        ([user({"type": "thinking", "thinking": "x"})], "not allowed in role 'user'"),
        ([user(image(media_type="image/bmp"))], "Invalid image"),
        ([user(image(data="not base64!"))], "Invalid image"),
        ([user(), model(use()), user()], "without `tool_result`"),
        ([user(), model(use()), user(result("c2"))], "without `tool_result`"),
        ([user(), model(), user(result())], "without `tool_result`"),
        ([user(), model(use()), user(text(), result())], "must come first"),
        ([user(), model(use(), use()), user(result(), result())], "must be unique"),
        (
            [user(), model(use()), user(result()), model(use()), user(result())],
            "must be unique",
        ),
        ([user(), model(use("a b")), user(result("a b"))], "tool_use.id: String should match"),
        ([user(), model(use(name="a b")), user(result())], "tool_use.name: String should"),
        ([user(), model(use(input="{}")), user(result())], "valid dictionary"),
        ([user(), model(use()), user(result(content=[]))], "content cannot be empty"),
        ([user(), model(use()), user(result(is_error="yes"))], "valid boolean"),
        (
            [
                user(),
                model({"type": "thinking", "thinking": "x", "signature": "s"}, text()),
                user(),
            ],
            "Invalid `signature`",
        ),
    ],
)
async def test_messages_that_are_out_of_order_are_refused(messages: list[Any], reason: str) -> None:
    """Each with the reason that the API gives."""
    assert reason in await refused(*messages)


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"temperature": 1}, "temperature: Extra inputs are not permitted"),
        ({"top_p": 0.5}, "top_p: Extra inputs"),
        ({"seed": 1}, "seed: Extra inputs"),
        ({"max_tokens": None}, "max_tokens: Field required"),
        ({"max_tokens": "9"}, "max_tokens: Invalid"),
        ({"model": ""}, "model: Invalid"),
        ({"system": [text(" ")]}, "system: Invalid"),
        ({"stop_sequences": "x"}, "stop_sequences: Invalid"),
        ({"cache_control": {"type": "persistent"}}, "cache_control: Invalid"),
        ({"thinking": {"type": "auto"}}, "thinking: Invalid"),
        ({"thinking": {"type": "adaptive", "budget_tokens": 2000}}, "thinking: Invalid"),
        ({"thinking": {"type": "enabled", "budget_tokens": 100}}, "at least 1024"),
        ({"thinking": {"type": "enabled", "budget_tokens": 2000}}, "must be greater than"),
        ({"output_config": {"effort": "minimal"}}, "output_config.effort"),
        ({"output_config": {"schema": {}}}, "output_config: Extra inputs"),
        ({"output_config": {"format": {"type": "json"}}}, "output_config.format: Invalid"),
        ({"tools": [tool(name="a b")]}, "tools.0.custom.name"),
        ({"tools": [tool(strict=True)]}, "tools.0.custom: Extra inputs"),
        ({"tools": [tool(description="")]}, "description"),
        ({"tools": [tool(), tool()]}, "must be unique"),
        ({"tools": [tool(input_schema={})]}, "tools.0.custom.input_schema.type: Input should be"),
        (
            {"output_config": {"format": {"type": "json_schema", "schema": {"type": "object"}}}},
            "output_config.format.schema: root: 'additionalProperties'",
        ),
    ],
)
async def test_parameters_are_checked(fields: dict[str, Any], reason: str) -> None:
    """What is unknown or out of range is named."""
    assert reason in await refused(user(), **fields)


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"method": "GET"}, 404),
        ({"url": f"{URL}/count"}, 404),
        ({"headers": {**HEADERS, "authorization": "sk-ant-test"}}, 401),
        ({"headers": {**HEADERS, "anthropic-version": "2023-06-01"}}, 400),
        ({"content": b"{"}, 400),
        ({"content": b"[]"}, 400),
    ],
)
async def test_a_request_of_another_kind_is_refused(change: dict[str, Any], status: int) -> None:
    """Address, key, version and JSON are looked at first."""
    sent: dict[str, Any] = {"method": "POST", "url": URL, "headers": HEADERS, "content": b"{}"}
    sent |= change
    sent["headers"] = {"content-type": "application/json", **sent["headers"]}
    with FakeMessages([], refusals=1) as fake:
        async with httpx2.AsyncClient(transport=fake.transport) as client:
            assert (await client.request(**sent)).status_code == status


THINK = {"type": "thinking", "thinking": "hm"}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({}, ""),
        ({"thinking": "Hm"}, "Invalid `signature` in `thinking` block"),
        ({"signature": "mine"}, "Invalid `signature` in `thinking` block"),
        ({"words": "other"}, "bound to a different conversation"),
        ({"system": [text("new")]}, "bound to a different conversation"),
        ({"last": True}, "final block in an assistant message cannot be `thinking`"),
    ],
)
async def test_thinking_is_taken_back_only_as_it_was(change: dict[str, Any], reason: str) -> None:
    """Unchanged, in its place, behind the same conversation."""
    replies: list[Reply] = [content_of(THINK, text("one")), "two"]
    with FakeMessages(replies[: 1 if reason else 2], refusals=bool(reason)) as fake:
        block, words = (await post(fake, user()))["content"]
        block |= {name: change[name] for name in ("thinking", "signature") if name in change}
        turn = model(words, block) if change.get("last") else model(block, words)
        asked = user(text(change.get("words", "hi")))
        reply = await post(fake, asked, turn, user(), system=change.get("system"))
    assert reason in reply.get("error", {}).get("message", "")


@pytest.mark.parametrize("first", [thought(calls(("f", {}))), calls(("f", {}))])
async def test_a_budget_needs_a_turn_that_began_with_thinking(first: Any) -> None:
    """Calls and results are one turn, which begins with the first of them."""
    thinks = "reasoning" in first.extra
    fields = {"max_tokens": 9000, "tools": [tool()]}
    budget = {"type": "enabled", "budget_tokens": 2000}
    with FakeMessages([first, *["done"] * thinks], refusals=not thinks) as fake:
        content = (await post(fake, user(), **fields))["content"]
        for block in content:
            block.pop("caller", None)
        turn = [user(), model(*content), user(result(content[-1]["id"]))]
        reply = await post(fake, *turn, **fields, thinking=budget)
    assert ("Expected `thinking`" in str(reply)) is not thinks


async def test_after_a_pause_the_turn_goes_on() -> None:
    """Then, and only then, the assistant may have the last word."""
    opaque = {"type": "server_tool_use", "id": "s", "name": "search", "input": {}}
    with FakeMessages([content_of(opaque, stop="pause_turn"), "done"]) as fake:
        await post(fake, user())
        reply = await post(fake, user(), model(opaque))
    assert reply["content"][0]["text"] == "done"
