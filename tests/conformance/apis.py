"""The ways to a model, and how the API behind each spells what the scenarios say."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Literal, NamedTuple

from agentkit.tests.chat_replies import (
    ERROR_TYPES,
    Answer,
    Json,
    Reply,
    error_body,
    error_in_stream,
    status,
)
from agentkit.tests.fake_chat import FakeChat, Rules
from agentkit.tests.fake_gemini import GEMINI, FakeGemini, google_fault
from agentkit.tests.fake_messages import MESSAGES, FakeMessages, error_event, thought
from agentkit.tests.fake_responses import RESPONSES, FakeResponses, reasoned
from agentkit.tests.fake_server import FakeServer
from agentkit.tests.gemini_rules import google_error
from agentkit.tests.litellm_routes import CLAUDE, OPENAI, FakeOldMessages

KEY = "test-0123456789"  # in every key
CHAT = f"openrouter/openai/gpt-5-mini?apiKey=sk-or-{KEY}"  # gives out reasoning, and wants it back

ErrorName = Literal["quota", "unknown model", "too long", "overloaded in the reply"]


class Thought(NamedTuple):
    """An answer that was thought over first; `text` is what is shown of it."""

    answer: Answer
    text: str


class HttpError(NamedTuple):
    """A response that is an error, in the API's own shape."""

    status: int
    headers: Mapping[str, str] = {}


class ApiError(NamedTuple):
    """An error that each API says in its own words."""

    name: ErrorName


Said = Reply | Thought | HttpError | ApiError


class Api(NamedTuple):
    """One column of the table.

    `body` is an error's body, made of its status and a message; `opaque` is what a thought that was
    reply number `n` (from 1) has to bring back to the server; `failed` marks the result of a tool
    that failed, in JSON without spaces after its colons.
    """

    name: str
    uri: str
    fake: Callable[[Sequence[Reply]], FakeServer]
    body: Callable[[int, str], Json]
    errors: Mapping[ErrorName, Reply]
    thought: Callable[[Answer, str], Answer]
    opaque: Callable[[int, str], str]
    failed: str

    def spell(self, said: Said) -> Reply:
        """Return what a scenario's server says as this API says it."""
        match said:
            case Thought():
                return self.thought(said.answer, said.text)
            case HttpError():
                body = self.body(said.status, f"scripted status {said.status}")
                return status(said.status, said.headers, body)
            case ApiError():
                return self.errors[said.name]
        return said


def _openai_body(code: int, message: str) -> Json:
    return error_body(message, ERROR_TYPES.get(code, "server_error"))


def _anthropic_body(code: int, message: str, kind: str = "", **details: str) -> Json:
    kind = kind or {401: "authentication_error", 429: "rate_limit_error"}.get(code, "api_error")
    return {"type": "error", "error": {"type": kind, "message": message, "details": details}}


_OPENAI_ERRORS: dict[ErrorName, Reply] = {
    "quota": status(429, body=error_body("You exceeded your current quota", "insufficient_quota")),
    "unknown model": status(
        404, body=error_body("The model `x` does not exist", code="model_not_found")
    ),
    "too long": status(
        400, body=error_body("Your input is too long.", code="context_length_exceeded")
    ),
    "overloaded in the reply": error_in_stream("The server is overloaded", text="Hel"),
}
_NO_MODEL = error_body("The requested model 'x' does not exist.", code="model_not_found")
_RESPONSES_ERRORS = {**_OPENAI_ERRORS, "unknown model": status(400, body=_NO_MODEL)}
_OPENROUTER_ERRORS = {
    **_OPENAI_ERRORS,
    "unknown model": status(400, body=error_body("openai/x is not a valid model ID")),
}
_ANTHROPIC_ERRORS: dict[ErrorName, Reply] = {
    "quota": status(
        429,
        body=_anthropic_body(
            429, "You have reached your limit.", error_code="enforced_spend_limit_reached"
        ),
    ),
    "unknown model": status(404, body=_anthropic_body(404, "model: x", "not_found_error")),
    "too long": status(
        400,
        body=_anthropic_body(
            400, "prompt is too long: 210000 tokens > 200000 maximum", "invalid_request_error"
        ),
    ),
    "overloaded in the reply": error_event("Overloaded", text="Hel"),
}
_A_DAYS_REQUESTS = {
    "@type": "type.googleapis.com/google.rpc.QuotaFailure",
    "violations": [{"quotaId": "GenerateRequestsPerDayPerProject"}],
}
_GOOGLE_ERRORS: dict[ErrorName, Reply] = {
    "quota": status(
        429,
        body=google_error(
            429,
            "You exceeded your current quota, please check your plan and billing details.",
            _A_DAYS_REQUESTS,
            status="RESOURCE_EXHAUSTED",
        ),
    ),
    "unknown model": status(
        404, body=google_error(404, "models/x is not found for API version v1beta")
    ),
    "too long": status(
        400,
        body=google_error(
            400, "The input token count (1200000) exceeds the maximum number of tokens allowed"
        ),
    ),
    "overloaded in the reply": google_fault(
        503, "The model is overloaded.", "UNAVAILABLE", text="Hel"
    ),
}


def _with_details(answer: Answer, text: str) -> Answer:
    details = [{"type": "reasoning.encrypted", "data": f"encrypted {text}"}]
    return replace(answer, extra={"reasoning": text, "reasoning_details": details})


def _with_content(answer: Answer, text: str) -> Answer:
    return replace(answer, extra={"reasoning_content": text})


def _with_signature(answer: Answer, text: str) -> Answer:
    return replace(answer, extra={"thinking": text, "signed": True})


def _signature(number: int, text: str) -> str:
    return base64.b64encode(f"signature {number}".encode()).decode()


CHAT_API = Api(
    "Chat Completions",
    CHAT,
    partial(FakeChat, rules=Rules(message_fields=frozenset({"reasoning_details"}))),
    _openai_body,
    _OPENROUTER_ERRORS,
    _with_details,
    lambda number, text: f'"encrypted {text}"',
    "Error:",
)
RESPONSES_API = Api(
    "Responses",
    RESPONSES,
    FakeResponses,
    _openai_body,
    _RESPONSES_ERRORS,
    reasoned,
    lambda number, text: f'"gAAAAA{number}=="',
    "Error:",
)
MESSAGES_API = Api(
    "Anthropic",
    MESSAGES,
    FakeMessages,
    _anthropic_body,
    _ANTHROPIC_ERRORS,
    thought,
    lambda number, text: f'"EqQBCkYI{number}/0+thought=="',
    '"is_error":true',
)
APIS = (
    CHAT_API,
    RESPONSES_API,
    MESSAGES_API,
    Api(
        "Google",
        GEMINI,
        FakeGemini,
        lambda code, message: google_error(code, message),
        _GOOGLE_ERRORS,
        _with_signature,
        _signature,
        '"error":',
    ),
    CHAT_API._replace(
        name="litellm: OpenAI",
        uri=OPENAI,
        fake=partial(FakeChat, rules=Rules(message_fields=frozenset({"reasoning_content"}))),
        errors=_OPENAI_ERRORS,
        thought=_with_content,
        opaque=lambda number, text: f'"{text}"',
    ),
    MESSAGES_API._replace(
        name="litellm: Anthropic", uri=CLAUDE, fake=FakeOldMessages, failed="Error:"
    ),
)
