"""`ask`: one question, one answer."""

from __future__ import annotations

import asyncio
import json
import sys

import typer

from ..llm.result import GenerateResult
from .approval import ask_on_terminal
from .conversation import Conversation, Setup, close_agent, open_conversation, take_turn
from .failures import answer_problem
from .live_view import LiveView
from .terminal import complain, note, say


def ask(setup: Setup, question: str, session: str | None, as_json: bool) -> int:
    """Ask, print the answer, and return the exit code: 1 when there is no answer."""
    text = _read(question)
    view = LiveView(answer=not as_json)
    conversation = open_conversation(setup, session, view)
    if sys.stdin.isatty() and conversation.agent.approve is None:
        conversation.agent.approve = ask_on_terminal(view)
    result = asyncio.run(_answer(conversation, text, view))
    if as_json:
        say(json.dumps(_summary(conversation, result)))
    problem = answer_problem(result)
    if problem is None:
        return 0
    if result.finish_reason == "length":
        note(problem)
        return 0
    complain(problem)
    return 1


async def _answer(conversation: Conversation, text: str, view: LiveView) -> GenerateResult:
    try:
        return await take_turn(conversation, text, view)
    except asyncio.CancelledError:
        view.leave_echo()
        raise
    finally:
        view.end_line()
        await close_agent(conversation.agent)


def _read(question: str) -> str:
    text = sys.stdin.read() if question == "-" else question
    if not text.strip():
        complain("the question is empty")
        raise typer.Exit(2)
    return text


def _summary(conversation: Conversation, result: GenerateResult) -> dict[str, object]:
    return {
        "text": result.text,
        "model": result.model,
        "finish_reason": result.finish_reason,
        "steps": len(result.steps),
        "usage": result.usage._asdict(),
        "cost": result.estimated_cost,
        "session": conversation.session,
        "run_id": conversation.ctx.run_id,
    }
