"""The fake refuses the input that the Responses API refuses, and reasoning that is not its own."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest

from agentkit.tests.chat_replies import Answer, calls
from agentkit.tests.fake_responses import FakeResponses, reasoned
from agentkit.tests.message_rules import Refused
from agentkit.tests.responses_input import check_input

URL = "https://api.openai.com/v1/responses"
PIXEL = (
    "data:image/png;base64,"
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5E"
)
USER = {"role": "user", "content": "hi"}
CALL = {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"}
OUTPUT = {"type": "function_call_output", "call_id": "c1", "output": "done"}
INCLUDE = ["reasoning.encrypted_content"]


def input_refusal(*items: Any) -> str:
    """Return why input items are refused, "" if they are not."""
    try:
        check_input(items, "gpt-5", ())
    except Refused as refused:
        return str(refused)
    return ""


@pytest.mark.parametrize(
    "items",
    [
        [{"role": "system", "content": "Be brief."}, USER],
        [USER, CALL, OUTPUT],
        [USER, CALL, {**CALL, "call_id": "c2"}, {**OUTPUT, "call_id": "c2"}, OUTPUT, USER],
        [
            {
                "role": "user",
                "content": [{"type": "input_image", "image_url": PIXEL}],
            }
        ],
        [USER, {"role": "assistant", "content": [{"type": "output_text", "text": "hi"}]}, USER],
    ],
)
def test_good_input_is_accepted(items: list[Any]) -> None:
    """Nothing is refused that the API takes."""
    assert input_refusal(*items) == ""


@pytest.mark.parametrize(
    ("items", "reason"),
    [
        (["hi"], "Invalid value: None"),
        ([{"role": "tool", "content": "x"}], "Invalid value: 'tool'"),
        ([{**USER, "name": "x"}], "Unknown parameter: 'input[0].name'"),
        ([{"role": "user", "content": []}], "expected a string or parts"),
        ([{"role": "assistant", "content": ""}], "must not be empty"),
        ([{"role": "user", "content": [{"type": "text", "text": "x"}]}], "Invalid value: 'text'"),
        ([{"role": "assistant", "content": [{"type": "input_text", "text": "x"}]}], "'input_text'"),
        ([{"role": "user", "content": [{"type": "input_text"}]}], "expected text"),
        (
            [{"role": "user", "content": [{"type": "input_image", "image_url": "x"}]}],
            "base64 image",
        ),
        ([CALL], "No tool output found for function call c1"),
        ([CALL, USER, OUTPUT], "No tool output found for function call c1"),
        ([OUTPUT], "No tool call found for function call output with call_id c1"),
        ([CALL, OUTPUT, OUTPUT], "No tool call found"),
        ([{**CALL, "call_id": "x" * 65}, OUTPUT], "expected 1 to 64 characters"),
        ([{**CALL, "name": "a b"}, OUTPUT], "Invalid 'input[0].name'"),
        ([{**CALL, "arguments": "[1]"}, OUTPUT], "no JSON object"),
        ([{**CALL, "id": "c1"}, OUTPUT], "begins with 'fc'"),
        ([{"type": "reasoning", "id": "rs_1"}], "Missing 'id' or 'summary'"),
        ([{"type": "reasoning", "id": "rs_1", "summary": [], "status": "completed"}], "Unknown"),
        ([{"type": "reasoning", "id": "rs_1", "summary": []}, USER], "could not be verified"),
    ],
)
def test_bad_input_is_refused(items: list[Any], reason: str) -> None:
    """With the item it is about."""
    assert reason in input_refusal(*items)


async def answers(fake: FakeResponses, items: list[Any], model: str = "gpt-5") -> Any:
    """Post items as input and return the body of the response."""
    body: dict[str, Any] = {"model": model, "input": items, "store": False}
    if model.startswith("gpt-5"):
        body["include"] = INCLUDE
    async with httpx2.AsyncClient(transport=fake.transport) as client:
        response = await client.post(URL, json=body, headers={"authorization": "Bearer sk-test"})
    return response.json()


async def thought(fake: FakeResponses) -> list[Any]:
    """Return a history that ends with a result for a call that was thought over."""
    reasoning, call = (await answers(fake, [USER]))["output"]
    known = {name: call[name] for name in CALL}
    return [USER, reasoning, known, {**OUTPUT, "call_id": call["call_id"]}]


THOUGHT = reasoned(calls(("f", {})), "hm")


async def test_reasoning_in_its_place_is_accepted() -> None:
    """Unchanged, before its call."""
    with FakeResponses([THOUGHT, "done"]) as fake:
        await answers(fake, await thought(fake))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda u, r, c, o: [u, c, o], "without its required 'reasoning' item: 'rs_1'"),
        (lambda u, r, c, o: [u, c, o, r], "without its required following item"),
        (lambda u, r, c, o: [u, r, u, c, o], "without its required following item"),
        (lambda u, r, c, o: [u, {**r, "summary": []}, c, o], "could not be verified"),
        (lambda u, r, c, o: [u, {**r, "encrypted_content": "x"}, c, o], "could not be verified"),
    ],
    ids=["missing", "last", "moved", "changed", "reencrypted"],
)
async def test_reasoning_that_is_missing_changed_or_moved_is_refused(
    change: Any, reason: str
) -> None:
    """It belongs right before what it led to."""
    with FakeResponses([THOUGHT], refusals=1) as fake:
        await answers(fake, change(*await thought(fake)))
    assert reason in fake.refused[0]


@pytest.mark.parametrize(
    ("model", "reason"),
    [("gpt-5-mini", "could not be verified"), ("gpt-4.1", "only be provided to a reasoning model")],
)
async def test_reasoning_of_another_model_is_refused(model: str, reason: str) -> None:
    """Nobody else can read it."""
    with FakeResponses([THOUGHT], refusals=1) as fake:
        await answers(fake, await thought(fake), model)
    assert reason in fake.refused[0]


async def test_reasoning_is_encrypted_only_if_asked_for() -> None:
    """Without it there is nothing that could be sent back."""
    with FakeResponses([reasoned(Answer("hi"))]) as fake:
        response = await answers(fake, [USER], "o3")
    assert "encrypted_content" not in response["output"][0]
