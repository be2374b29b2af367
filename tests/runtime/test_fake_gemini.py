"""The fake of the Gemini API refuses what the real one refuses."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest

from agentkit.tests.chat_replies import answer, calls
from agentkit.tests.fake_gemini import FakeGemini
from agentkit.tests.gemini_contents import SKIP
from agentkit.tests.gemini_rules import check_schema
from agentkit.tests.message_rules import Refused

ADDRESS = "https://g/v1/models/gemini-3.8-flash:generateContent"
USER = {"role": "user", "parts": [{"text": "hello"}]}
CALL = {"functionCall": {"name": "f", "args": {}}}
SIGNED = {"role": "model", "parts": [{**CALL, "thoughtSignature": SKIP}]}
RESULT = {"functionResponse": {"name": "f", "response": {"output": "r"}}}
RESULTS = {"role": "user", "parts": [RESULT]}


async def post(fake: FakeGemini, body: Any, url: str = ADDRESS) -> httpx2.Response:
    """Send a body as the SDK would."""
    async with httpx2.AsyncClient(transport=fake.transport) as client:
        return await client.post(url, json=body, headers={"x-goog-api-key": "k"})


def contents(*turns: Any, **more: Any) -> dict[str, Any]:
    """Return a body."""
    return {"contents": list(turns), **more}


def config(**fields: Any) -> dict[str, Any]:
    """Return a body with a generation config."""
    return contents(USER, generationConfig=fields)


def part(**fields: Any) -> dict[str, Any]:
    """Return a body with one part of the user's."""
    return contents({"role": "user", "parts": [fields]})


@pytest.mark.parametrize(
    "body",
    [
        contents(),
        contents(USER, SIGNED),
        contents({"role": "model", "parts": [{"text": "hi"}]}),
        contents(USER, USER),
        contents({"role": "system", "parts": [{"text": "hi"}]}),
        contents({"role": "user", "parts": []}),
        part(),
        part(text=""),
        part(text="a", inlineData={}),
        part(text="a", thought=True),
        part(unknown=1),
        part(functionCall={"name": "f"}),
        part(inlineData={"mimeType": "image/gif", "data": "aGk="}),
        part(inlineData={"mimeType": "image/png", "data": "?"}),
        contents(USER, unknown=1),
        config(max_tokens=5),
        config(maxOutputTokens=0),
        config(temperature=3),
        config(seed=2**31),
        config(stopSequences=["x"] * 6),
        config(responseJsonSchema={"type": "object", "properties": {"a": {}}}),
        config(thinkingConfig={"thinkingLevel": "low"}),
        config(thinkingConfig={"thinkingLevel": "LOW", "thinkingBudget": 1}),
        config(thinkingConfig={"thinkingBudget": 0, "includeThoughts": True}),
        contents(USER, tools=[]),
        contents(USER, tools=[{"functionDeclarations": []}]),
        contents(USER, tools=[{"functionDeclarations": [{"name": "7zip"}]}]),
        contents(USER, tools=[{"functionDeclarations": [{"name": "f"}, {"name": "f"}]}]),
        contents(USER, toolConfig={"functionCallingConfig": {"mode": "ANY"}}),
        contents(USER, continuationToken="dG9rZW4="),
        contents(USER, {"role": "model", "parts": [CALL]}, RESULTS),
        contents(USER, SIGNED, USER),
        contents(USER, SIGNED, {"role": "user", "parts": [RESULT, RESULT]}),
        contents(USER, {"role": "model", "parts": [{"text": "hi"}]}, RESULTS),
        contents(
            USER, {"role": "model", "parts": [{**CALL, "thoughtSignature": "bWFkZQ=="}]}, RESULTS
        ),
        contents(
            USER,
            SIGNED,
            {"role": "user", "parts": [{"functionResponse": {"name": "g", "response": {}}}]},
        ),
    ],
)
async def test_a_body_that_the_api_refuses(body: Any) -> None:
    """With a 400 in its own shape, and nothing of the script is used up."""
    with FakeGemini([], refusals=1) as fake:
        response = await post(fake, body)
    assert response.status_code == 400
    assert response.json()["error"]["status"] == "INVALID_ARGUMENT"


@pytest.mark.parametrize(
    "body",
    [
        contents(USER),
        contents(USER, SIGNED, RESULTS),
        contents(USER, {"role": "model", "parts": [{"text": "hi"}]}, USER),
        config(responseMimeType="application/json"),
        contents(USER, systemInstruction={"parts": [{"text": "Be kind."}]}),
    ],
)
async def test_a_body_that_the_api_takes(body: Any) -> None:
    """It is answered."""
    with FakeGemini(["hi"]) as fake:
        assert (await post(fake, body)).status_code == 200


@pytest.mark.parametrize(
    "model", [{"parts": [CALL]}, {"parts": [{**CALL, "thoughtSignature": "b3RoZXI="}]}]
)
async def test_a_signature_that_was_given_out_is_wanted_back(model: Any) -> None:
    """Unchanged, on the part that it came with."""
    with FakeGemini([calls(("f", {})), "hi"], refusals=1) as fake:
        given = (await post(fake, contents(USER))).json()["candidates"][0]["content"]
        refused = await post(fake, contents(USER, {"role": "model", **model}, RESULTS))
        taken = await post(fake, contents(USER, given, RESULTS))
    assert (refused.status_code, taken.status_code) == (400, 200)


async def test_a_signature_that_moved_is_refused() -> None:
    """It belongs to its text."""
    with FakeGemini([answer("hi", extra={"signed": True})], refusals=1) as fake:
        given = (await post(fake, contents(USER))).json()["candidates"][0]["content"]
        moved = {"role": "model", "parts": [{**given["parts"][0], "text": "ho"}]}
        assert (await post(fake, contents(USER, moved, USER))).status_code == 400


@pytest.mark.parametrize(
    ("url", "code"),
    [
        (ADDRESS.replace("/v1/", "/v9/"), 404),
        (ADDRESS.replace("generate", "streamGenerate"), 400),
        (ADDRESS.replace(":generateContent", ""), 404),
    ],
)
async def test_an_address_that_does_not_exist(url: str, code: int) -> None:
    """Version, method, and the form of a stream are part of it."""
    with FakeGemini([], refusals=1) as fake:
        assert (await post(fake, contents(USER), url)).status_code == code


@pytest.mark.parametrize(
    "node",
    [
        {"type": "string", "minLength": 1},
        {"type": "string", "default": "a"},
        {"const": "a"},
        {"enum": [True]},
        {"$ref": "#/$defs/Missing"},
        {"$ref": "#/$defs/Tree", "description": "a tree"},
    ],
)
def test_a_schema_in_other_words_is_refused(node: Any) -> None:
    """What the API's reference does not list."""
    tree = {"type": "object", "properties": {"up": {"$ref": "#/$defs/Tree"}}}
    schema = {"type": "object", "properties": {"x": node}, "$defs": {"Tree": tree}}
    with pytest.raises(Refused):
        check_schema(schema, "schema")


def test_recursion_through_a_required_property_is_refused() -> None:
    """Through a list as well."""
    up = {"type": "array", "items": {"$ref": "#/$defs/Tree"}}
    tree = {"type": "object", "properties": {"up": up}, "required": ["up"]}
    root = {"type": "object", "properties": {"x": {"$ref": "#/$defs/Tree"}}}
    with pytest.raises(Refused, match="recursion"):
        check_schema({**root, "$defs": {"Tree": tree}}, "schema")
