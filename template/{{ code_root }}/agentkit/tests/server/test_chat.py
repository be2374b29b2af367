"""Tests of chat: whole answers and streams."""

from __future__ import annotations

import asyncio
import dataclasses
import json

import pytest

from ...errors import AuthenticationFailed, ContextTooLong, RateLimited
from ...messages import Message, Text, ToolCall
from ...observability.redact import add_secret
from ...observability.run_context import RunContext
from ...server import ServerSettings
from ...server.problems import masked_json
from .serving import call, client, events, problem, remove, running, said, scripted, serving


async def test_an_answer_says_all_about_its_turn(ctx: RunContext) -> None:
    """Text, session, run, model, tokens, cost, and which tools were called."""
    async with serving(scripted(ctx, call("shout", text="hi"), "It is HI.")) as http:
        reply = await said(http, "Shout hi")
    assert (reply["text"], reply["finish_reason"]) == ("It is HI.", "stop")
    assert reply["tool_calls"] == [{"id": "c1", "name": "shout", "arguments": {"text": "hi"}}]
    assert reply["usage"]["input_tokens"] > 0
    assert reply["cost_usd"] == 0.0
    assert reply["model"] == "offline/echo"
    assert reply["session_id"]
    assert reply["run_id"]


async def test_a_session_goes_on(ctx: RunContext) -> None:
    """Its second turn knows the first and is the same run; a new session knows nothing."""
    agent = scripted(ctx, "one", "two", "three")
    async with serving(agent) as http:
        first = await said(http, "First")
        second = await said(http, "Second", session_id=first["session_id"])
        other = await said(http, "Third")
    assert second["run_id"] == first["run_id"] != other["run_id"]
    requests = agent.llm.models[0].provider.requests  # type: ignore[attr-defined]
    assert [len(request.messages) for request in requests] == [1, 3, 1]


async def test_a_stream_tells_what_happens_in_order(ctx: RunContext) -> None:
    """The session, the tool, the text, the same reply as of a whole answer, and its end."""
    async with serving(scripted(ctx, call("shout", text="hi"), "It is HI.")) as http:
        response = await http.post("/chat/stream", json={"input": "Shout", "session_id": "s1"})
    assert response.headers["content-type"].startswith("text/event-stream")
    session, started, finished, *texts, final = events(response)
    assert (session["type"], session["session_id"]) == ("session", "s1")
    assert started == {"type": "tool_started", "id": "c1", "name": "shout"} | {
        "arguments": {"text": "hi"}
    }
    assert (finished["type"], finished["text"], finished["is_error"]) == (
        "tool_finished",
        "HI",
        False,
    )
    assert "".join(event["text"] for event in texts) == "It is HI."
    assert (final["type"], final["text"]) == ("final", "It is HI.")
    assert final["run_id"] == session["run_id"]


async def test_a_retry_is_an_event(ctx: RunContext) -> None:
    """Clients learn that the text of the call so far is void, and why."""
    async with serving(scripted(ctx, RateLimited("slow down"), "Now.")) as http:
        response = await http.post("/chat/stream", json={"input": "Hi"})
    (retrying,) = [event for event in events(response) if event["type"] == "retrying"]
    assert (retrying["attempt"], retrying["delay"] >= 1.0) == (1, True)
    assert "slow down" in retrying["reason"]


@pytest.mark.parametrize(
    ("error", "status", "type"),
    [
        (AuthenticationFailed("bad key canary-123456"), 502, "model_failed"),
        (ContextTooLong("too long"), 400, "context_too_long"),
        (RateLimited("wait", retry_after=3600), 503, "model_busy"),
        (RuntimeError("canary-123456 in /home/secret"), 500, "internal_error"),
    ],
)
@pytest.mark.checklist("secrets")
async def test_a_failure_of_the_model_is_one_line_without_secrets(
    error: Exception, status: int, type: str, ctx: RunContext
) -> None:
    """A whole answer has a status for it, a stream an event."""
    add_secret("canary-123456")
    async with serving(scripted(ctx, error, error, error, error)) as http:
        whole = await http.post("/chat", json={"input": "Hi"})
        streamed = await http.post("/chat/stream", json={"input": "Hi"})
    assert problem(whole) == (status, type)
    assert events(streamed)[-1] == {"type": "error", "error": whole.json()["error"]}
    assert "canary" not in whole.text + streamed.text
    assert "Traceback" not in whole.text + streamed.text


async def test_a_model_that_is_busy_says_when_to_come_back(ctx: RunContext) -> None:
    """The provider's own hint is passed on."""
    async with serving(scripted(ctx, RateLimited("wait", retry_after=3600))) as http:
        response = await http.post("/chat", json={"input": "Hi"})
    assert response.headers["retry-after"] == "3600"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"input": ""}, "body.input"),
        ({"input": " \x1c\x85"}, "body.input"),
        ({"input": " "}, "body.input"),
        ({"input": 5}, "body.input"),
        ({"input": "\ud800"}, "body.input"),
        ({"text": "Hi"}, "body.input: Field required; body.text: Extra inputs"),
        ({"input": "Hi", "session_id": "../x"}, "body.session_id"),
        ({"input": "Hi", "user_id": "a\nb"}, "body.user_id"),
    ],
)
async def test_a_body_that_is_wrong_says_where(
    body: dict[str, object], message: str, ctx: RunContext
) -> None:
    """The field is named, in the shape of all errors, and the model is not asked."""
    async with serving(scripted(ctx)) as http:
        headers = {"Content-Type": "application/json"}
        response = await http.post("/chat", content=json.dumps(body), headers=headers)
    assert problem(response) == (422, "invalid_request")
    assert response.json()["error"]["message"].startswith(message)


async def test_an_input_can_be_too_long(ctx: RunContext) -> None:
    """What costs too much to read is refused."""
    async with serving(scripted(ctx), ServerSettings(max_input=10)) as http:
        response = await http.post("/chat", json={"input": "x" * 11})
    assert problem(response) == (413, "too_large")


async def test_approval_is_asked_of_who_watches(ctx: RunContext) -> None:
    """The event comes first; the answer goes to the tool; later nothing waits any more."""
    asked = asyncio.Event()

    def needs_approval(call: ToolCall) -> bool:
        asked.set()
        return True

    asking = dataclasses.replace(remove, needs_approval=needs_approval)
    agent = scripted(ctx, call("remove", path="a"), "Done.", tools=[asking])
    answer = {"session_id": "s1", "call_id": "c1", "approved": True}
    async with running(agent) as app, client(app) as http:
        streamed = asyncio.create_task(
            http.post("/chat/stream", json={"input": "Remove a", "session_id": "s1"})
        )
        await asked.wait()
        assert (await http.post("/approvals", json=answer)).status_code == 204
        found = {event["type"]: event for event in events(await streamed)}
        again = await http.post("/approvals", json=answer)
    assert found["approval_needed"]["arguments"] == {"path": "a"}
    assert found["tool_finished"]["text"] == "removed a"
    assert problem(again) == (404, "not_found")


@pytest.mark.virtual_time
async def test_no_answer_means_no(ctx: RunContext) -> None:
    """A tool does not wait for ever."""
    async with serving(scripted(ctx, call("remove", path="a"), "Not done.")) as http:
        response = await http.post("/chat/stream", json={"input": "Remove a"})
    (finished,) = [event for event in events(response) if event["type"] == "tool_finished"]
    assert finished["is_error"]


async def test_without_a_watcher_approval_is_refused(ctx: RunContext) -> None:
    """A whole answer has nobody to ask, so the tool does not run."""
    async with serving(scripted(ctx, call("remove", path="a"), "Not done.")) as http:
        reply = await said(http, "Remove a", session_id="s1")
        messages = (await http.get("/sessions/s1")).json()["messages"]
    assert reply["text"] == "Not done."
    assert messages[2]["parts"][0]["is_error"]


async def test_the_agents_own_approver_decides(ctx: RunContext) -> None:
    """Where the agent has one, no client is asked."""
    agent = scripted(ctx, call("remove", path="a"), "Done.")
    agent.approve = lambda asked: asked.arguments == {"path": "a"}
    async with serving(agent) as http:
        response = await http.post("/chat/stream", json={"input": "Remove a"})
    (finished,) = [event for event in events(response) if event["type"] == "tool_finished"]
    assert finished["text"] == "removed a"


async def test_secrets_in_an_answer_are_masked(ctx: RunContext) -> None:
    """What a model or a tool says passes the same gate as a log."""
    add_secret("canary-123456")
    script = [Message("assistant", (Text("It is canary-123456."),))]
    async with serving(scripted(ctx, *script)) as http:
        reply = await said(http, "What is the key?")
    assert reply["text"] == "It is ***."


def test_a_secret_of_digits_breaks_no_number() -> None:
    """The data stays JSON, and counts what it counted."""
    add_secret("123456")
    found = json.loads(masked_json({"tokens": 1234567, "text": "it is 123456", "a": [{"b": None}]}))
    assert found == {"tokens": 1234567, "text": "it is ***", "a": [{"b": None}]}


@pytest.mark.checklist("secrets")
async def test_a_secret_that_comes_in_pieces_is_masked(ctx: RunContext) -> None:
    """A stream cuts where it likes; what only begins like a secret comes through, if later."""
    add_secret("canary 123 456")
    async with serving(scripted(ctx, "The canary sings: canary 123 456, canary 1")) as http:
        streamed = events(await http.post("/chat/stream", json={"input": "What is the key?"}))
    texts = [event["text"] for event in streamed if event["type"] == "text"]
    assert len(texts) > 3
    assert "".join(texts) == "The canary sings: ***, canary 1"
