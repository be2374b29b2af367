"""A fake of the Gemini API at the wire, as strict as the real one.

    with FakeGemini([calls(("get_word", {"word": "x"})), "It means y."]) as fake:
        result = await requester(fake, GEMINI)([Message.user("What does x mean?")])
    assert "functionResponse" in fake.requests[1]["contents"][-1]["parts"][0]

It is scripted like `FakeChat`, with the same replies. An answer's `extra` may hold "thinking" (the
summary that is shown), "signed" (the text comes with a signature, as calls do), and "continuation"
(the token that the reply goes on with). Each of `requests` has `model` and `stream` as its address
says them. How it is used, and what makes a test fail: see `FakeServer`.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Sequence
from typing import Any

import httpx2

from .chat_replies import Answer, Fault, Json, Reply
from .fake_server import FakeServer
from .gemini_contents import check_contents
from .gemini_rules import OLD, check_parameters, google_error, read_body, refused

GEMINI = "google/gemini-3.8-flash?apiKey=AIza-test-0123456789"
OLD_GEMINI = "google/gemini-2.5-flash?apiKey=AIza-test-0123456789"
_FINISH = {
    "stop": "STOP",
    "tool_calls": "STOP",
    "length": "MAX_TOKENS",
    "content_filter": "SAFETY",
}


class FakeGemini(FakeServer):
    """A scripted server of the Gemini API; see `FakeServer`."""

    def __init__(
        self, replies: Sequence[Reply], *, needs_key: bool = True, refusals: int = 0
    ) -> None:
        super().__init__(replies, _GeminiApi(needs_key), refusals)


class _GeminiApi:
    """The Gemini API at the wire."""

    def __init__(self, needs_key: bool) -> None:
        self._needs_key = needs_key
        self._issued: dict[str, Json] = {}  # parts by their signature
        self._token: str | None = None

    def read(self, request: httpx2.Request) -> dict[str, Any]:
        return read_body(request, self._needs_key)

    def check(self, body: Json) -> None:
        check_parameters(body)
        check_contents(body, self._issued)
        if body.get("continuationToken") != self._token:
            raise refused("Invalid continuation token")

    def whole(self, answer: Answer, request: Json, number: int) -> bytes:
        self._issue(answer, request, number)
        parts = _parts(answer, request, number)
        return json.dumps(_response(answer, request, parts, last=True), ensure_ascii=False).encode()

    def beginning(self, answer: Answer, request: Json, number: int) -> bytes:
        parts = [piece for part in _parts(answer, request, number) for piece in _pieces(part)]
        return _sse(_response(answer, request, [part], last=False) for part in parts)

    def ending(self, answer: Answer, request: Json, number: int) -> bytes:
        self._issue(answer, request, number)
        signed = [
            {"text": "", "thoughtSignature": part["thoughtSignature"]}
            for part in _parts(answer, request, number)
            if "thoughtSignature" in part and "text" in part
        ]
        for part in signed:  # a stream gives it out after the text
            self._issued[part["thoughtSignature"]] = {"text": ""}
        return _sse([_response(answer, request, signed or [{"text": ""}], last=True)])

    def _issue(self, answer: Answer, request: Json, number: int) -> None:
        self._token = answer.extra.get("continuation")
        for part in _parts(answer, request, number):
            if "thoughtSignature" in part:
                bare = {key: part[key] for key in part if key != "thoughtSignature"}
                self._issued[part["thoughtSignature"]] = bare


def google_fault(code: int, message: str, status: str, text: str = "") -> Fault:
    """Return an error that comes under status 200, in a stream after `text`."""
    return Fault("error", Answer(text), error=google_error(code, message, status=status))


def _parts(answer: Answer, request: Json, number: int) -> list[Json]:
    parts: list[Json] = []
    signature = base64.b64encode(f"signature {number}".encode()).decode()
    if "thinking" in answer.extra:
        parts.append({"text": answer.extra["thinking"], "thought": True})
    if answer.text:
        signed = {"thoughtSignature": signature} if answer.extra.get("signed") else {}
        parts.append({"text": answer.text, **signed})
    for index, (given, name, arguments) in enumerate(answer.calls):
        call = {"name": name, "args": json.loads(arguments)}
        part: dict[str, Any] = {"functionCall": {"id": given, **call} if given else call}
        if index == 0 and not OLD.match(request["model"]):
            part["thoughtSignature"] = signature
        parts.append(part)
    return parts


def _pieces(part: Json) -> list[Json]:
    """Return a part as a stream sends it: text in pieces, a call in one, signatures last."""
    if "text" not in part:
        return [part]
    text = part["text"]
    size = -(-len(text) // 3) or 1
    bare = {key: part[key] for key in part if key != "thoughtSignature"}
    return [{**bare, "text": text[at : at + size]} for at in range(0, len(text), size)]


def _response(answer: Answer, request: Json, parts: Sequence[Json], *, last: bool) -> Json:
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": parts}, "index": 0}
    if last:
        candidate["finishReason"] = _FINISH.get(answer.finish_reason, answer.finish_reason)
    if last and "continuation" in answer.extra:
        candidate["finishReason"] = "CONTINUATION"
        candidate["continuationToken"] = answer.extra["continuation"]
    response = {"candidates": [candidate], "modelVersion": request["model"], "responseId": "r1"}
    return response if answer.usage is None else {**response, "usageMetadata": _usage(answer.usage)}


def _usage(usage: Json) -> Json:
    thoughts = usage["completion_tokens_details"]["reasoning_tokens"]
    return {
        "promptTokenCount": usage["prompt_tokens"],
        "candidatesTokenCount": usage["completion_tokens"] - thoughts,
        "cachedContentTokenCount": usage["prompt_tokens_details"]["cached_tokens"],
        "thoughtsTokenCount": thoughts,
        "totalTokenCount": usage["total_tokens"],
    }


def _sse(events: Iterable[Json]) -> bytes:
    return "".join(f"data: {json.dumps(e, ensure_ascii=False)}\r\n\r\n" for e in events).encode()
