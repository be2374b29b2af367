"""The fake server: it answers as scripted, breaks as scripted, and fails tests that misuse it."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx2
import pytest

from agentkit.tests.fake_chat import (
    FakeChat,
    answer,
    calls,
    drip,
    empty_body,
    error_in_stream,
    hang,
    html_error,
    malformed_json,
    reset_after_headers,
    reset_before_headers,
    sse,
    status,
    truncated,
    truncated_sse,
    usage,
)

URL = "https://api.openai.com/v1/chat/completions"
QUESTION = [{"role": "user", "content": "What does ubiquitous mean?"}]


async def ask(fake: FakeChat, **more: Any) -> httpx2.Response:
    """Post a small valid request, with more parameters."""
    body = {"model": "gpt-5-mini", "messages": QUESTION, **more}
    async with httpx2.AsyncClient(transport=fake.transport) as client:
        return await client.post(URL, json=body, headers={"authorization": "Bearer sk-test"})


async def stream(fake: FakeChat, **more: Any) -> list[dict[str, Any]]:
    """Return the events of a streamed reply, which must end with [DONE]."""
    response = await ask(fake, stream=True, **more)
    events = response.text.removesuffix("\n\n").split("\n\n")
    assert events.pop() == "data: [DONE]"
    return [json.loads(event.removeprefix("data: ")) for event in events]


def deltas(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [event["choices"][0]["delta"] for event in events if event["choices"]]


async def test_text_is_answered_as_a_completion() -> None:
    """A str is the text of a completion that stopped."""
    with FakeChat(["It means everywhere."]) as fake:
        choice = (await ask(fake)).json()["choices"][0]
    assert choice["message"]["content"] == "It means everywhere."
    assert choice["finish_reason"] == "stop"


async def test_text_is_streamed_in_several_deltas() -> None:
    """The same str, asked for as a stream, comes in pieces that make up the text."""
    with FakeChat(["Nghĩa là ở khắp nơi 🌍"]) as fake:
        events = await stream(fake)
    texts = [delta["content"] for delta in deltas(events) if delta.get("content")]
    assert len(texts) > 1
    assert "".join(texts) == "Nghĩa là ở khắp nơi 🌍"
    assert events[-1]["choices"][0]["finish_reason"] == "stop"


async def test_calls_are_answered_with_their_arguments_as_text() -> None:
    """Tool calls carry an id, a name and JSON text; text given as arguments is sent as it is."""
    with FakeChat([calls(("a", {"x": 1}), ("b", '{"broken'))]) as fake:
        choice = (await ask(fake)).json()["choices"][0]
    first, second = choice["message"]["tool_calls"]
    assert choice["finish_reason"] == "tool_calls"
    assert first["function"] == {"name": "a", "arguments": '{"x": 1}'}
    assert second["function"]["arguments"] == '{"broken'
    assert first["id"] != second["id"]


async def test_calls_are_streamed_by_index() -> None:
    """A streamed call begins with id and name; its arguments follow in several deltas."""
    with FakeChat([calls(("get_word", {"word": "ubiquitous"}), ids=["c1"])]) as fake:
        parts = [d["tool_calls"][0] for d in deltas(await stream(fake)) if "tool_calls" in d]
    assert (parts[0]["id"], parts[0]["function"]["name"]) == ("c1", "get_word")
    assert len(parts) > 2
    arguments = "".join(part["function"]["arguments"] for part in parts)
    assert json.loads(arguments) == {"word": "ubiquitous"}


async def test_usage_is_streamed_only_when_asked_for() -> None:
    """The usage chunk, which has no choices, depends on stream_options.include_usage."""
    with FakeChat([answer("hi", usage=usage(7, 3)), "hi"]) as fake:
        with_usage = await stream(fake, stream_options={"include_usage": True})
        without = await stream(fake)
    assert with_usage[-1]["choices"] == []
    assert with_usage[-1]["usage"]["total_tokens"] == 10
    assert not any("usage" in event for event in without)


async def test_further_fields_of_a_message_are_sent_in_both_forms() -> None:
    """`extra` adds fields such as a refusal or reasoning to the message and to the deltas."""
    reply = answer("hi", extra={"reasoning_content": "let me think"})
    with FakeChat([reply, reply]) as fake:
        message = (await ask(fake)).json()["choices"][0]["message"]
        parts = [d.get("reasoning_content", "") for d in deltas(await stream(fake))]
    assert message["reasoning_content"] == "".join(parts) == "let me think"


async def test_raw_bodies_are_sent_as_they_are() -> None:
    """A dict is sent as JSON, bytes and events are sent untouched."""
    events = sse([{"choices": []}, "[DONE]", b": comment\r\n\r\n"])
    with FakeChat([{"choices": []}, b"\xff", events]) as fake:
        assert (await ask(fake)).json() == {"choices": []}
        assert (await ask(fake)).content == b"\xff"
        raw = (await ask(fake, stream=True)).text
    assert raw == 'data: {"choices": []}\n\ndata: [DONE]\n\n: comment\r\n\r\n'


async def test_a_status_has_headers_and_the_shape_of_an_error() -> None:
    """`status` sends the API's error shape, or the body it is given."""
    with FakeChat([status(429, {"retry-after": "7"}), html_error, empty_body]) as fake:
        limited, broken, empty = await ask(fake), await ask(fake), await ask(fake)
    assert (limited.status_code, limited.headers["retry-after"]) == (429, "7")
    assert set(limited.json()["error"]) == {"message", "type", "param", "code"}
    assert (broken.status_code, broken.headers["content-type"]) == (502, "text/html")
    assert (empty.status_code, empty.content) == (200, b"")


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (reset_before_headers, httpx2.ReadError),
        (reset_after_headers, httpx2.ReadError),
        (truncated, httpx2.RemoteProtocolError),
        (httpx2.ConnectError, httpx2.ConnectError),
        (OSError("no route"), OSError),
    ],
)
@pytest.mark.parametrize("streaming", [False, True])
async def test_a_broken_connection_raises(
    fault: Any, error: type[Exception], streaming: bool
) -> None:
    """Connection faults raise what httpx2 raises, before or after the headers."""
    with FakeChat([fault]) as fake, pytest.raises(error):
        await ask(fake, stream=streaming)


async def read_stream(fake: FakeChat, received: bytearray) -> None:
    """Post a request for a stream and collect its bytes as they come."""
    body = {"model": "gpt-5-mini", "messages": QUESTION, "stream": True}
    headers = {"authorization": "Bearer sk-test"}
    async with (
        httpx2.AsyncClient(transport=fake.transport) as client,
        client.stream("POST", URL, json=body, headers=headers) as response,
    ):
        async for part in response.aiter_raw():
            received += part


async def test_a_truncated_stream_breaks_after_the_text_began() -> None:
    """A truncated reply delivers its text, and breaks before it says that it is complete."""
    received = bytearray()
    with FakeChat([truncated]) as fake, pytest.raises(httpx2.RemoteProtocolError):
        await read_stream(fake, received)
    assert b'"content": "It ' in received
    assert b'"finish_reason": "stop"' not in received


async def test_a_stream_may_end_early_or_hold_broken_json() -> None:
    """Such streams end cleanly, without finish reason and [DONE]."""
    with FakeChat([truncated_sse, malformed_json]) as fake:
        early = (await ask(fake, stream=True)).text
        broken = (await ask(fake, stream=True)).text
    assert "content" in early
    assert '"stop"' not in early + broken
    assert "[DONE]" not in early + broken
    with pytest.raises(ValueError, match="Unterminated"):
        json.loads(broken.removesuffix("\n\n").rpartition("data: ")[2])


async def test_a_body_may_hold_broken_json() -> None:
    """Without a stream, the JSON breaks off in the middle under status 200."""
    with FakeChat([malformed_json]) as fake:
        response = await ask(fake)
    assert response.status_code == 200
    with pytest.raises(ValueError, match="Expecting value"):
        response.json()


async def test_an_error_may_come_inside_a_stream() -> None:
    """The error follows the text, under status 200; without a stream it is the body."""
    fault = error_in_stream("overloaded, sorry", code="overloaded_error", text="Hel")
    with FakeChat([fault, fault]) as fake:
        streamed = await ask(fake, stream=True)
        plain = await ask(fake)
    last = json.loads(streamed.text.removesuffix("\n\n").rpartition("data: ")[2])
    assert streamed.status_code == plain.status_code == 200
    assert last["error"]["code"] == plain.json()["error"]["code"] == "overloaded_error"
    assert '"content": "H"' in streamed.text


@pytest.mark.virtual_time
async def test_a_dripping_reply_takes_its_time() -> None:
    """Each byte of a dripping reply comes after so many seconds; the whole of it is right."""
    with FakeChat([drip(0.5, "slow")]) as fake:
        began = asyncio.get_running_loop().time()
        response = await ask(fake)
        seconds = asyncio.get_running_loop().time() - began
    assert response.json()["choices"][0]["message"]["content"] == "slow"
    assert seconds == pytest.approx(0.5 * len(response.content))


@pytest.mark.virtual_time
async def test_a_hanging_server_never_answers() -> None:
    """It is up to the caller to give up, even after hours."""
    with FakeChat([hang]) as fake, pytest.raises(TimeoutError):
        async with asyncio.timeout(36_000):
            await ask(fake)


async def test_requests_are_recorded() -> None:
    """Bodies, headers and addresses are there to be looked at, in order."""
    with FakeChat(["one", "two"]) as fake:
        await ask(fake, seed=1)
        await ask(fake, seed=2)
    assert [request["seed"] for request in fake.requests] == [1, 2]
    assert fake.headers[0]["authorization"] == "Bearer sk-test"
    assert fake.urls == [URL, URL]
    assert json.loads(fake.bodies[1]) == fake.requests[1]
