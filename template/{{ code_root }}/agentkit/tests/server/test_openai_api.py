"""Tests of the agent behind OpenAI's protocol."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from typing import Any, Literal

import pytest

from ...errors import ConnectionFailed, RateLimited
from ...llm.events import TextDelta
from ...llm.provider import Delta, Request
from ...messages import Image, Message, Reply, Text
from ...observability.run_context import RunContext
from ...server import ServerSettings, openai_messages
from .serving import call, lines, provided, scripted, serving

PATH = "/v1/chat/completions"
PIXEL = "data:image/png;base64,AAAA"


def asking(*messages: tuple[str, Any], **more: Any) -> dict[str, Any]:
    """Return a request's body."""
    return {"messages": [{"role": role, "content": text} for role, text in messages], **more}


def requests(agent: Any) -> list[Request]:
    """Return what the model was asked."""
    found: list[Request] = agent.llm.models[0].provider.requests
    return found


async def test_a_completion_has_openais_shape(ctx: RunContext) -> None:
    """One choice with the answer after all tools, and the tokens of all calls."""
    agent = scripted(ctx, call("shout", text="hi"), "It is HI.")
    async with serving(agent, ServerSettings(name="tutor")) as http:
        data = (await http.post(PATH, json=asking(("user", "Shout"), model="any"))).json()
        models = (await http.get("/v1/models")).json()
    assert data["object"] == "chat.completion"
    assert data["model"] == models["data"][0]["id"] == "tutor"
    (choice,) = data["choices"]
    assert choice["message"] == {"role": "assistant", "content": "It is HI.", "refusal": None}
    assert choice["finish_reason"] == "stop"
    assert data["usage"]["total_tokens"] == sum(
        data["usage"][name] for name in ("prompt_tokens", "completion_tokens")
    )


async def test_a_stream_of_chunks_ends_with_the_usage_if_asked(ctx: RunContext) -> None:
    """Role first, text in pieces (a new call's text set apart), the reason, tokens, `[DONE]`."""
    first = Message("assistant", (*Message.assistant("Let me see.").parts, *call("who").parts))
    body = asking(("user", "Who?"), stream=True, stream_options={"include_usage": True})
    async with serving(scripted(ctx, first, "You.")) as http:
        *texts, done = lines(await http.post(PATH, json=body))
    chunks = [json.loads(text) for text in texts]
    assert done == "[DONE]"
    assert len({chunk["id"] for chunk in chunks}) == 1
    deltas = [chunk["choices"][0]["delta"] for chunk in chunks[:-1]]
    assert deltas[0] == {"role": "assistant", "content": ""}
    assert "".join(delta.get("content", "") for delta in deltas) == "Let me see.\n\nYou."
    assert chunks[-2]["choices"][0]["finish_reason"] == "stop"
    assert chunks[-1]["choices"] == []
    assert chunks[-1]["usage"]["total_tokens"] > 0


async def test_the_messages_are_the_history(ctx: RunContext) -> None:
    """System messages count as the user's, neighbours are joined, images are taken as data."""
    question = [{"type": "text", "text": "c"}, {"type": "image_url", "image_url": {"url": PIXEL}}]
    agent = scripted(ctx, "fine")
    body = asking(("system", "Be kind"), ("user", "a"), ("assistant", "b"), ("user", question))
    async with serving(agent) as http:
        assert (await http.post(PATH, json=body)).status_code == 200
    (request,) = requests(agent)
    assert [(m.role, m.text) for m in request.messages] == [
        ("user", "Be kind\n\na"),
        ("assistant", "b"),
        ("user", "c"),
    ]
    assert request.messages[2].parts[1] == Image("image/png", "AAAA")


def test_a_conversation_is_read_in_one_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many neighbours there are to join, each message is made once."""
    made: list[Message] = []

    def make(role: Literal["user", "assistant"], parts: tuple[Text, ...]) -> Message:
        made.append(Message(role, parts))
        return made[-1]

    monkeypatch.setattr(openai_messages, "Message", make)
    body = asking(*[("user", "a")] * 50)
    _, question = openai_messages.read_conversation(openai_messages.CompletionRequest(**body))
    assert made == [question]
    assert len(question.parts) == 50


async def test_nothing_is_kept_of_a_conversation(ctx: RunContext) -> None:
    """There is no session, and the next request knows nothing; the run is in the log."""
    agent = scripted(ctx, "one", "two")
    async with serving(agent) as http:
        for _ in range(2):
            await http.post(PATH, json=asking(("user", "Hi")))
        assert (await http.get("/sessions")).json() == {"sessions": []}
        assert len((await http.get("/runs")).json()["runs"]) == 2
    assert [len(request.messages) for request in requests(agent)] == [1, 1]
    assert agent.get_history() == []


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (asking(), "body.messages"),
        (asking(("user", "Hi"), n=2), "body.n"),
        (asking(("tool", "x")), "body.messages.0.role"),
        (asking(("user", "")), "messages: the last message must be the user's"),
        (
            asking(("user", [{"type": "text", "text": " "}])),
            "messages: the last message must be the user's",
        ),
        (asking(("assistant", "x")), "messages: the last message must be the user's"),
        (asking(("user", "Hi"), tools=[{"type": "function"}]), "tools: not supported"),
        (asking(("user", "Hi"), response_format={"type": "json_object"}), "response_format: not"),
        (asking(("user", [{"type": "audio"}])), "messages[0].content[0]: only text"),
        (
            asking(("user", [{"type": "image_url", "image_url": {"url": "http://x/y.png"}}])),
            "messages[0].content[0]: an image must be a data: URL",
        ),
        (
            asking(("user", [{"type": "image_url", "image_url": {"url": PIXEL + "A"}}])),
            "messages[0].content[0]: the image is not base64",
        ),
    ],
)
async def test_what_is_not_supported_is_an_error_in_openais_shape(
    body: dict[str, Any], problem: str, ctx: RunContext
) -> None:
    """Status 400, and what is wrong where: nothing is left out in silence."""
    async with serving(scripted(ctx)) as http:
        response = await http.post(PATH, json=body)
    error = response.json()["error"]
    assert response.status_code == 400
    assert error["message"].startswith(problem)
    assert (error["type"], error["code"], error["param"]) == (
        "invalid_request",
        "invalid_request",
        None,
    )


class BreaksOff:
    """A provider that fails in mid-answer, each time."""

    async def complete(self, request: Request) -> Reply:
        raise ConnectionFailed("lost")

    async def stream(self, request: Request) -> AsyncGenerator[Delta | Reply, None]:
        yield TextDelta("The answer is ")
        raise ConnectionFailed("lost")


async def test_a_retry_before_any_text_is_not_seen(ctx: RunContext) -> None:
    """The client gets the answer as if nothing had been."""
    async with serving(scripted(ctx, RateLimited("wait"), "Now.")) as http:
        found = lines(await http.post(PATH, json=asking(("user", "Hi"), stream=True)))
    assert "Now." in "".join(found)
    assert "error" not in "".join(found)


async def test_what_was_said_is_not_taken_back(ctx: RunContext) -> None:
    """A model that starts over in mid-answer ends the stream with an error."""
    async with serving(provided(ctx, BreaksOff())) as http:
        found = lines(await http.post(PATH, json=asking(("user", "Hi"), stream=True)))
    assert json.loads(found[-2])["error"]["type"] == "model_failed"
    assert "".join(found).count("The answer is ") == 1
    assert found[-1] == "[DONE]"
