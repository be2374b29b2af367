"""The fake refuses what the Responses API refuses, with 400 and a reason."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest

from agentkit.tests.fake_responses import FakeResponses
from agentkit.tests.message_rules import Refused
from agentkit.tests.responses_rules import check_parameters

URL = "https://api.openai.com/v1/responses"
USER = {"role": "user", "content": "hi"}
INCLUDE = ["reasoning.encrypted_content"]
EMPTY: dict[str, Any] = {"type": "object", "properties": {}}


def refusal(**more: Any) -> str:
    """Return why the parameters of a request are refused, "" if they are not."""
    try:
        check_parameters({"model": "gpt-5", "input": [USER], "store": False, **more})
    except Refused as refused:
        return str(refused)
    return ""


def tool(parameters: Any, **more: Any) -> dict[str, Any]:
    """Return a function tool that is not strict."""
    return {"type": "function", "name": "f", "parameters": parameters, "strict": False, **more}


def implicitly_strict(parameters: Any) -> dict[str, Any]:
    """Return a function tool that does not say whether it is strict."""
    return {"type": "function", "name": "f", "parameters": parameters}


def format_of(schema: Any, **more: Any) -> dict[str, Any]:
    """Return the `text` parameter for a strict answer."""
    wanted = {"type": "json_schema", "name": "a", "schema": schema, "strict": True, **more}
    return {"format": wanted}


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"include": INCLUDE, "reasoning": {"effort": "low"}, "max_output_tokens": 16},
        {"model": "gpt-4.1", "temperature": 0, "top_p": 1},
        {"tools": [tool(EMPTY, description="d")]},
        {
            "text": format_of(
                {"type": "object", "properties": {}, "required": [], "additionalProperties": False}
            )
        },
    ],
)
def test_good_parameters_are_accepted(more: dict[str, Any]) -> None:
    """Nothing is refused that the API takes."""
    assert refusal(**more) == ""


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"messages": []}, "Unknown parameter: 'messages'"),
        ({"seed": 1}, "Unknown parameter: 'seed'"),
        ({"max_tokens": 50}, "Unknown parameter: 'max_tokens'"),
        ({"max_output_tokens": 15}, "Invalid value for 'max_output_tokens'"),
        ({"input": []}, "Invalid value for 'input'"),
        ({"store": True}, "Invalid value for 'store'"),
        ({"temperature": 1}, "'temperature' is not supported with this model"),
        ({"model": "gpt-4.1", "reasoning": {"effort": "low"}}, "'reasoning' is not supported"),
        ({"model": "gpt-4o", "include": INCLUDE}, "Encrypted content is not supported"),
        ({"reasoning": {"effort": 500}}, "Invalid value for 'reasoning.effort'"),
        (
            {"tools": [{"type": "function", "function": {}}]},
            "Unknown parameter: 'tools[0].function'",
        ),
        ({"tools": [tool({"type": "array"})]}, "schema must be of 'type: \"object\"'"),
        ({"tools": [tool({"type": "object"})]}, "object schema missing properties"),
        (
            {"tools": [tool(EMPTY | {"anyOf": []})]},
            "not have 'anyOf' at the top level",
        ),
        (
            {"tools": [tool({"type": "object", "properties": {"a": {"type": "array"}}})]},
            "array schema missing items",
        ),
        (
            {
                "tools": [
                    {
                        "type": "function",
                        "name": "f",
                        "parameters": EMPTY,
                    }
                ]
            },
            "'additionalProperties' is required",
        ),
        ({"text": format_of({"type": "array"})}, "schema must be of 'type: \"object\"'"),
        ({"text": format_of({}, name="a b")}, "Invalid 'text.format.name'"),
        ({"text": {"format": {"type": "json"}}}, "Invalid value: 'text.format.type'"),
    ],
)
def test_bad_parameters_are_refused(more: dict[str, Any], reason: str) -> None:
    """With the name of the parameter."""
    assert reason in refusal(**more)


@pytest.mark.parametrize(
    ("url", "headers", "status"),
    [
        ("https://api.openai.com/v1/chat/completions", {"authorization": "Bearer k"}, 404),
        (URL, {}, 401),
        (URL, {"authorization": "Bearer k", "content-type": "text/plain"}, 400),
    ],
)
async def test_a_request_to_the_wrong_place_or_without_a_key_is_refused(
    url: str, headers: dict[str, str], status: int
) -> None:
    """Before its body is looked at."""
    with FakeResponses([], refusals=1) as fake:
        async with httpx2.AsyncClient(transport=fake.transport) as client:
            response = await client.post(url, json={}, headers=headers)
    assert response.status_code == status
