"""`chat`: a conversation at the prompt."""

from __future__ import annotations

import asyncio
import importlib
import re
import sys
from contextlib import suppress

from ..llm.result import GenerateResult
from ..observability.run_context import create_run_context
from .approval import ask_on_terminal
from .conversation import (
    Conversation,
    Setup,
    close_agent,
    new_session_id,
    open_conversation,
    take_turn,
)
from .failures import answer_problem, error_line
from .live_view import LiveView
from .terminal import OutputLost, amounts, complain, note, say_aside

HELP = """\
/new    begin a new session
/cost   show what this chat has cost so far
/help   show this list
/exit   end, like Ctrl-D
Ctrl-C  cancel the answer; at the prompt: end
Anything else goes to the agent, /tool too where it has a tool of that name."""


def chat(setup: Setup, session: str | None) -> None:
    """Talk until the person ends it; a turn that fails or is cancelled costs only itself."""
    with suppress(ImportError):
        importlib.import_module("readline")  # gives `input` editing and a history
    view = LiveView()
    conversation = open_conversation(setup, session, view)
    if conversation.agent.approve is None:
        conversation.agent.approve = ask_on_terminal(view)
    with asyncio.Runner() as runner:
        try:
            runner.run(_greet(conversation, resumed=session is not None))
            _talk(runner, conversation, view)
        finally:
            runner.run(close_agent(conversation.agent))
    note(f"go on with: {setup.prog} chat --session {conversation.session}")


async def _greet(conversation: Conversation, resumed: bool) -> None:
    await conversation.agent.init()
    about = "new"
    if resumed:
        known = await conversation.agent.store.list()
        length = next((info.length for info in known if info.id == conversation.session), 0)
        about = f"{length} messages so far" if length else "new"
    note(f"session {conversation.session} ({about}); /help lists the commands")


def _talk(runner: asyncio.Runner, conversation: Conversation, view: LiveView) -> None:
    unpriced = False
    while (line := _prompt(view)) is not None:
        match line.strip():
            case "":
                continue
            case "/exit" | "/quit":
                return
            case "/help":
                note(HELP)
            case "/cost":
                _show_costs(conversation, unpriced)
            case "/new":
                _begin_anew(conversation)
            case text if _is_unknown_command(conversation, text):
                note("unknown command; /help lists them")
            case text:
                result = _turn(runner, conversation, view, text)
                unpriced = unpriced or (result is not None and result.estimated_cost is None)


def _is_unknown_command(conversation: Conversation, text: str) -> bool:
    """Tell whether a line is a command of nobody: not of the chat, and no tool of the agent."""
    word = re.match(r"/([A-Za-z0-9_-]+)(?!\S)", text)
    agent = conversation.agent
    return word is not None and (agent._all_tools or agent.tools).get(word[1]) is None


def _prompt(view: LiveView) -> str | None:
    """Return the next line, None at the end."""
    try:
        if sys.stdin.isatty() and sys.stdout.isatty():
            return input("> ")
        if sys.stdin.isatty():
            say_aside("> ", nl=False)  # `input` would write it into the answers
        return sys.stdin.readline() or None
    except (EOFError, KeyboardInterrupt):
        view.leave_echo()
        return None


def _turn(
    runner: asyncio.Runner, conversation: Conversation, view: LiveView, text: str
) -> GenerateResult | None:
    try:
        result = runner.run(take_turn(conversation, text, view))
    except KeyboardInterrupt:
        view.leave_echo()
        view.note("cancelled; the session goes on")
    except (BrokenPipeError, OutputLost):
        raise
    except Exception as error:
        view.end_line()
        complain(error_line(error))
    else:
        if problem := answer_problem(result):
            complain(problem)
        note(amounts(result.usage, result.estimated_cost))
        return result
    return None


def _show_costs(conversation: Conversation, unpriced: bool) -> None:
    note(conversation.agent.llm.costs.get_formatted_report())
    if unpriced:
        note("Calls whose price is unknown count as $0.")


def _begin_anew(conversation: Conversation) -> None:
    """Begin a session, and a run of its own: a run is one conversation."""
    ctx = conversation.ctx
    conversation.ctx = create_run_context(ctx.logger, ctx.debug_dir)
    conversation.session = new_session_id()
    note(f"session {conversation.session} (new)")
