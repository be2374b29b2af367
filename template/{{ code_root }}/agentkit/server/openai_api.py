"""The agent behind OpenAI's Chat Completions, for clients that speak it.

Stateless: the messages given are the history, nothing of them is kept but the log of the run.
The agent's own system prompt and settings stay; its tools run here, clients see their text only.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from ..llm.events import Finished, Retrying, TextDelta, ThinkingDelta, ToolStarted
from ..llm.result import GenerateResult
from ..messages import Usage
from ..session.store import Session
from .auth import AskedUser, CallerOf
from .openai_messages import CompletionRequest, read_conversation
from .problems import MaskedJson, Problem
from .service import ServiceOf
from .stream import EventStream
from .turns import Turn

router = APIRouter(prefix="/v1", tags=["openai"])
_CUT_OFF = ("length", "max_steps", "limit")
_FILTERED = ("refused", "blocked")
_RESPONSES: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "A chat.completion; with `stream`, chat.completion.chunk events.",
        "content": {"application/json": {"schema": {"type": "object"}}, "text/event-stream": {}},
    }
}


@router.get("/models")
async def models(service: ServiceOf) -> dict[str, Any]:
    """List the one model there is: the agent."""
    model = {"id": service.settings.name, "object": "model", "created": 0, "owned_by": "agentkit"}
    return {"object": "list", "data": [model]}


@router.post("/chat/completions", response_model=None, responses=_RESPONSES)
async def completions(
    body: CompletionRequest,
    request: Request,
    service: ServiceOf,
    caller: CallerOf,
    asked: AskedUser,
) -> Response:
    """Answer the last message of a conversation that the client keeps."""
    history, question = read_conversation(body)
    user = caller.user_for(asked)
    streamed = bool(body.stream)
    ctx = service.new_context(user)
    turn = service.answer(question, Session.of(history, user), ctx, streamed)
    if not streamed:
        result = await turn.result(request)
        return MaskedJson(_head("chat.completion", service.settings.name) | _completion(result))
    usage = body.stream_options is not None and body.stream_options.include_usage
    return EventStream(turn, _chunks(turn, service.settings.name, usage), service)


def _completion(result: GenerateResult) -> dict[str, Any]:
    message = {"role": "assistant", "content": result.text, "refusal": None}
    choice = {"index": 0, "message": message, "logprobs": None}
    choice["finish_reason"] = _finish_reason(result)
    return {"choices": [choice], "usage": _usage(result.usage)}


async def _chunks(turn: Turn, model: str, with_usage: bool) -> AsyncGenerator[dict[str, Any], None]:
    """Yield the answer piece by piece.

    This protocol cannot take back what was said: where the model has to start over after it has
    begun, the stream ends with an error.
    """
    head = _head("chat.completion.chunk", model)
    yield head | _delta({"role": "assistant", "content": ""})
    said = begun = False  # whether there is any text, and text of the present model call
    async with aclosing(turn.events()) as events:
        async for event in events:
            match event:
                case TextDelta():
                    gap = "\n\n" if said and not begun else ""
                    said = begun = True
                    yield head | _delta({"content": gap + event.text})
                case ThinkingDelta():
                    yield head | _delta({"reasoning_content": event.text})
                case ToolStarted():
                    begun = False
                case Retrying() if begun:
                    raise Problem(502, "model_failed", "the model broke off in mid-answer")
                case Finished():
                    yield head | _delta({}, _finish_reason(event.result))
                    if with_usage:
                        yield head | {"choices": [], "usage": _usage(event.result.usage)}


def _head(kind: str, model: str) -> dict[str, Any]:
    id = f"chatcmpl-{secrets.token_hex(12)}"
    return {"id": id, "object": kind, "created": int(time.time()), "model": model}


def _delta(delta: dict[str, Any], finish_reason: str | None = None) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason}]}


def _finish_reason(result: GenerateResult) -> str:
    if result.finish_reason in _CUT_OFF:
        return "length"
    return "content_filter" if result.finish_reason in _FILTERED else "stop"


def _usage(usage: Usage) -> dict[str, Any]:
    return {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.total_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cache_read_tokens},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
    }
