"""A fake of OpenAI's Responses API at the wire, as strict as the real one.

    with FakeResponses([calls(("get_word", {"word": "x"})), "It means y."]) as fake:
        result = await requester(fake, RESPONSES)([Message.user("What does x mean?")])
    assert fake.requests[1]["input"][-1]["type"] == "function_call_output"

It is scripted like `FakeChat`, with the same replies; `reasoned(…)` is one with reasoning, and an
answer's `extra` may hold a "refusal" and the "phase" of its text. How it is used, and what makes a
test fail: see `FakeServer`. It wants the reasoning it gave out back, unchanged and in its place.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import httpx2

from .chat_replies import Answer, Json, Reply
from .fake_server import FakeServer
from .responses_input import Issued, check_input
from .responses_rules import INCLUDE, check_parameters, read_body

RESPONSES = "responses://openai/gpt-5-mini?apiKey=sk-test-0123456789"
_INCOMPLETE = {"length": "max_output_tokens", "content_filter": "content_filter"}


class FakeResponses(FakeServer):
    """A scripted server of the Responses API; see `FakeServer`."""

    def __init__(
        self, replies: Sequence[Reply], *, needs_key: bool = True, refusals: int = 0
    ) -> None:
        super().__init__(replies, _ResponsesApi(needs_key), refusals)


class _ResponsesApi:
    """The Responses API at the wire."""

    def __init__(self, needs_key: bool) -> None:
        self._needs_key = needs_key
        self._issued: list[Issued] = []

    def read(self, request: httpx2.Request) -> dict[str, Any]:
        return read_body(request, self._needs_key)

    def check(self, body: Json) -> None:
        check_parameters(body)
        check_input(body["input"], body["model"], self._issued)

    def whole(self, answer: Answer, request: Json, number: int) -> bytes:
        response = response_of(answer, request, number)
        self._issue(response)
        return json.dumps(response, ensure_ascii=False).encode()

    def beginning(self, answer: Answer, request: Json, number: int) -> bytes:
        response = response_of(answer, request, number)
        begun = {**response, "status": "in_progress", "output": [], "usage": None}
        events: list[Json] = [
            {"type": "response.created", "response": begun},
            {"type": "response.in_progress", "response": begun},
        ]
        for index, item in enumerate(response["output"]):
            events += _item_events(item, index)
        return _sse(events)

    def ending(self, answer: Answer, request: Json, number: int) -> bytes:
        response = response_of(answer, request, number)
        self._issue(response)
        return _sse([{"type": f"response.{response['status']}", "response": response}])

    def _issue(self, response: Json) -> None:
        items = response["output"]
        if len(items) < 2 or "encrypted_content" not in items[0]:
            return
        follower = {"type": "function_call", "call_id": items[1].get("call_id")}
        if items[1]["type"] == "message":
            follower = {"role": "assistant"}
        calls = tuple(item["call_id"] for item in items if item["type"] == "function_call")
        self._issued.append(Issued(items[0], response["model"], follower, calls))


def reasoned(answer: Answer, text: str = "") -> Answer:
    """Return an answer that was thought over first; `text` is the summary that is shown of it."""
    return replace(answer, extra={**answer.extra, "reasoning": text})


def response_of(answer: Answer, request: Json, number: int) -> dict[str, Any]:
    """Return the response object that an answer is."""
    reason = _INCOMPLETE.get(answer.finish_reason)
    response: dict[str, Any] = {
        "id": f"resp_{number}",
        "object": "response",
        "created_at": 1_700_000_000,
        "status": "incomplete" if reason else "completed",
        "error": None,
        "incomplete_details": {"reason": reason} if reason else None,
        "model": request["model"],
        "output": _output(answer, request, number),
        "store": False,
    }
    if answer.usage is not None:
        response["usage"] = _usage(answer.usage)
    return response


def _output(answer: Answer, request: Json, number: int) -> list[Json]:
    items: list[Json] = []
    if "reasoning" in answer.extra:
        items.append(_reasoning(answer.extra["reasoning"], request, number))
    if answer.text or "refusal" in answer.extra:
        items.append(_message(answer, number))
    for index, (given, name, arguments) in enumerate(answer.calls):
        call = {"id": f"fc_{number}_{index}", "type": "function_call", "status": "completed"}
        call_id = given or f"call_{number}_{index}"
        items.append({**call, "call_id": call_id, "name": name, "arguments": arguments})
    return items


def _reasoning(text: str, request: Json, number: int) -> Json:
    item: dict[str, Any] = {"id": f"rs_{number}", "type": "reasoning", "summary": []}
    if text:
        item["summary"] = [{"type": "summary_text", "text": text}]
    if INCLUDE in request.get("include", ()):
        item["encrypted_content"] = f"gAAAAA{number}=="
    return item


def _message(answer: Answer, number: int) -> Json:
    content: list[Json] = []
    if answer.text:
        content.append({"type": "output_text", "text": answer.text, "annotations": []})
    if "refusal" in answer.extra:
        content.append({"type": "refusal", "refusal": answer.extra["refusal"]})
    item = {"id": f"msg_{number}", "type": "message", "status": "completed", "role": "assistant"}
    phase = {"phase": answer.extra["phase"]} if "phase" in answer.extra else {}
    return {**item, "content": content, **phase}


def _usage(usage: Json) -> Json:
    return {
        "input_tokens": usage["prompt_tokens"],
        "input_tokens_details": {"cached_tokens": usage["prompt_tokens_details"]["cached_tokens"]},
        "output_tokens": usage["completion_tokens"],
        "output_tokens_details": {
            "reasoning_tokens": usage["completion_tokens_details"]["reasoning_tokens"]
        },
        "total_tokens": usage["total_tokens"],
    }


def _item_events(item: Json, index: int) -> list[Json]:
    """Return the events of one output item: begun, pieces, done."""
    where = {"output_index": index, "item_id": item["id"]}
    pieces: list[tuple[str, str]] = []
    match item["type"]:
        case "reasoning":
            pieces = [("reasoning_summary_text", part["text"]) for part in item["summary"]]
        case "message":
            pieces = [
                (part["type"], part.get("text") or part["refusal"]) for part in item["content"]
            ]
        case "function_call":
            pieces = [("function_call_arguments", item["arguments"])]
    events: list[Json] = [{"type": "response.output_item.added", **where, "item": _begun(item)}]
    for kind, text in pieces:
        size = -(-len(text) // 3) or 1
        for start in range(0, len(text), size):
            delta = text[start : start + size]
            events.append({"type": f"response.{kind}.delta", **where, "delta": delta})
        events.append({"type": f"response.{kind}.done", **where, "text": text})
    return [*events, {"type": "response.output_item.done", **where, "item": item}]


def _begun(item: Json) -> Json:
    empty = {"content": [], "summary": [], "arguments": "", "encrypted_content": "gAAAAA"}
    return {**item, **{name: value for name, value in empty.items() if name in item}}


def _sse(events: Sequence[Json]) -> bytes:
    lines = (f"event: {e['type']}\ndata: {json.dumps(e, ensure_ascii=False)}\n\n" for e in events)
    return "".join(lines).encode()
