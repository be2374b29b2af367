"""Tests of `chat` with its input from a pipe."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ...errors import AuthenticationFailed
from ...messages import Message, ToolCall
from ...observability.call_reader import read_runs
from .commands import echo_agent, invoke, scripted, stored

CALL = Message("assistant", (ToolCall("c1", "remove", {"path": "x"}),))


def test_every_line_is_a_turn() -> None:
    """Each line is answered, and the end of the input ends the chat with exit code 0."""
    result = invoke(echo_agent, "chat", typed="one\ntwo\n")
    assert (result.exit_code, result.stdout) == (0, "You said: one\nYou said: two\n")


def test_blank_lines_are_no_turns() -> None:
    """Enter alone asks nothing."""
    assert invoke(echo_agent, "chat", typed="\n  \none\n").stdout == "You said: one\n"


def test_the_session_id_is_shown_and_resumes_the_session() -> None:
    """The id that a chat prints goes on with it, in a later process too."""
    first = invoke(echo_agent, "chat", typed="one\n")
    found = re.search(r"go on with: my-agent chat --session (\w+)", first.stderr)
    assert found
    assert first.stderr.startswith(f"session {found[1]} (new)")
    second = invoke(echo_agent, "chat", "--session", found[1], typed="two\n")
    assert second.stderr.startswith(f"session {found[1]} (2 messages so far)")
    assert len(stored(found[1])) == 4


def test_tokens_and_cost_follow_each_turn() -> None:
    """After each answer stderr tells its tokens and what it cost."""
    result = invoke(echo_agent, "chat", typed="hello\n")
    assert "\n1 in + 3 out tokens, $0.0000\n" in result.stderr


def test_an_unknown_price_is_not_shown_as_zero() -> None:
    """Where the price is not known, the turn and /cost say so."""
    build = scripted("x", uri="chat://openai/no-such-model")
    result = invoke(build, "chat", "--log-level", "error", typed="hello\n/cost\n")
    assert "out tokens, price unknown\n" in result.stderr
    assert "Calls whose price is unknown count as $0." in result.stderr


def test_exit_ends_the_chat() -> None:
    """After /exit nothing is read any more."""
    assert invoke(echo_agent, "chat", typed="/exit\none\n").stdout == ""


def test_help_lists_the_commands() -> None:
    """/help names every command."""
    shown = invoke(echo_agent, "chat", typed="/help\n").stderr
    assert all(f"\n{name} " in shown for name in ("/new", "/cost", "/help", "/exit", "Ctrl-C"))


def test_cost_prints_the_sums() -> None:
    """/cost prints what the chat has cost so far."""
    shown = invoke(echo_agent, "chat", typed="one\ntwo\n/cost\n").stderr
    assert "Total requests: 2\n" in shown


def test_other_slashes_go_to_the_agent() -> None:
    """What cannot be a command, and the name of a tool, is for the model."""
    result = invoke(echo_agent, "chat", typed="/etc/passwd\n/shout\n")
    assert result.stdout.startswith("You said: /etc/passwd\nshout says: ")


@pytest.mark.parametrize("line", ["/hepl", "/cost now", "/Exit", "/nobody {}"])
def test_an_unknown_command_does_not_go_to_the_agent(line: str) -> None:
    """A slip of the keyboard costs nothing."""
    result = invoke(echo_agent, "chat", typed=f"{line}\n")
    assert (result.exit_code, result.stdout) == (0, "")
    assert "\nunknown command; /help lists them\n" in result.stderr


def test_new_begins_a_session() -> None:
    """After /new the agent remembers nothing, and the first session is as it was."""
    shown = invoke(echo_agent, "chat", typed="one\n/new\ntwo\n").stderr
    first, second = re.findall(r"session (\w+) \(new\)", shown)
    assert (len(stored(first)), len(stored(second))) == (2, 2)


def test_a_chat_is_one_run() -> None:
    """All turns of a conversation are logged as one run; /new begins another."""
    invoke(echo_agent, "chat", typed="one\ntwo\n/new\nthree\n")
    assert [run["turns"] for run in read_runs(Path("debug"))] == [1, 2]


def test_a_failed_turn_prints_one_line_and_the_chat_goes_on() -> None:
    """An error of the provider costs only its turn."""
    result = invoke(scripted(AuthenticationFailed("bad key"), "fine"), "chat", typed="a\nb\n")
    assert (result.exit_code, result.stdout) == (0, "fine\n")
    assert "\nerror: bad key; check the key, in .env or the environment\n" in result.stderr


def test_an_answer_that_is_none_says_why() -> None:
    """A turn without an answer is told in one line."""
    result = invoke(scripted("", "fine"), "chat", typed="a\nb\n")
    assert result.stdout == "fine\n"
    assert "\nerror: the model answered with nothing" in result.stderr


def test_tool_calls_are_shown() -> None:
    """Tools are told on stderr as they run."""
    result = invoke(echo_agent, "chat", typed='/shout {"text": "hi"}\n')
    assert '\ntool shout {"text":"hi"}\ntool shout done in ' in result.stderr


def test_a_tool_that_needs_approval_is_asked_about() -> None:
    """`y` runs the tool."""
    result = invoke(scripted(CALL, "ok"), "chat", typed="go\ny\n")
    assert '\nrun remove {"path":"x"}? [y/N] ' in result.stderr
    assert ": removed x\n" in result.stderr


def test_anything_but_yes_refuses() -> None:
    """Enter, the end of the input and any other word refuse the tool."""
    for answer in ("\n", "", "yep\n", "n\n"):
        result = invoke(scripted(CALL, "ok"), "chat", typed=f"go\n{answer}")
        assert "did not approve" in result.stderr
        assert "removed x" not in result.stderr


def test_the_whole_call_is_shown_before_it_is_approved() -> None:
    """The end of a long argument is not cut off, and controls in it are not obeyed."""
    call = Message("assistant", (ToolCall("c1", "remove", {"path": "a" * 5_000 + "\u202e/etc"}),))
    result = invoke(scripted(call, "ok"), "chat", typed="go\nn\n")
    assert f'run remove {{"path":"{"a" * 5_000}/etc"}}? [y/N] ' in result.stderr


def test_an_approver_of_the_agents_own_is_kept() -> None:
    """The command line asks only where the agent does not."""

    def build(model: str | None = None, ctx: object = None) -> object:
        agent = scripted(CALL, "ok")(model=model, ctx=ctx)  # type: ignore[arg-type]
        agent.approve = lambda call: True
        return agent

    result = invoke(build, "chat", typed="go\n")  # type: ignore[arg-type]
    assert "[y/N]" not in result.stderr
    assert ": removed x\n" in result.stderr
