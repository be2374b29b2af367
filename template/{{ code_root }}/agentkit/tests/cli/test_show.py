"""Tests of `runs show`."""

from __future__ import annotations

import re
from pathlib import Path

from ...errors import Overloaded
from ...messages import Message, Text, Thinking, ToolCall
from ...observability.call_reader import read_calls, read_runs
from .commands import echo_agent, edit, invoke, only_line, scripted

CALL = Message(
    "assistant", (Thinking("hm"), Text("Let me see."), ToolCall("c1", "shout", {"text": "hi"}))
)


def show(*arguments: str) -> str:
    """Return what `runs show` prints, without what differs from run to run."""
    result = invoke(echo_agent, "runs", "show", *arguments)
    assert (result.exit_code, result.stderr) == (0, "")
    text = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "WHEN", result.stdout)
    return re.sub(r"[\d.]+ s\n", "0.0 s\n", text)


def newest() -> Path:
    """Return the folder of the newest run."""
    return Path("debug", read_runs(Path("debug"))[0]["run_id"])


def test_a_conversation_is_printed_in_order() -> None:
    """Questions, thoughts, calls, results and answers come back as they happened, once each."""
    invoke(scripted(CALL, "Done.\nReally."), "ask", "hello")
    assert show() == (
        f"run {newest().name}\n"
        "\n--- call 1 agent/chat, WHEN, chat://offline/echo, 1 attempt, "
        "1 in + 7 out tokens, $0.0000, 0.0 s\n"
        "user:\n  hello\n"
        "assistant:\n  (thinking) hm\n  Let me see.\n"
        '  -> shout {"text":"hi"}\n'
        "\n--- call 2 agent/chat, WHEN, chat://offline/echo, 1 attempt, "
        "9 in + 3 out tokens, $0.0000, 0.0 s\n"
        "tool:\n  <- shout: HI\n"
        "assistant:\n  Done.\n  Really.\n"
    )


def test_the_newest_run_is_the_default() -> None:
    """Without a name the last run is shown."""
    for text in ("first", "second"):
        invoke(echo_agent, "ask", text)
    assert "You said: second" in show()


def test_a_run_can_be_named_by_its_short_form() -> None:
    """What `runs` lists is what `show` takes."""
    invoke(echo_agent, "ask", "first")
    name = newest().name[-4:]
    invoke(echo_agent, "ask", "second")
    assert "You said: first" in show(name)


def test_debug_dir_is_taken_before_and_behind_show() -> None:
    """`--debug-dir` may stand at either command."""
    invoke(echo_agent, "ask", "x", "--debug-dir", "logs")
    assert "You said: x" in show("--debug-dir", "logs")
    assert "You said: x" in invoke(echo_agent, "runs", "--debug-dir", "logs", "show").stdout


def test_a_run_that_does_not_exist_is_one_line() -> None:
    """The line says where the names are; the exit code is 1."""
    invoke(echo_agent, "ask", "x")
    result = invoke(echo_agent, "runs", "show", "zzz")
    assert (result.exit_code, result.stdout) == (1, "")
    assert only_line(result.stderr) == 'error: no run "zzz"; my-agent runs lists them'


def test_no_runs_at_all_is_one_line() -> None:
    """There is nothing to show in a project that ran nothing yet."""
    result = invoke(echo_agent, "runs", "show")
    assert (result.exit_code, result.stdout) == (1, "")
    assert only_line(result.stderr).startswith("error: no runs in debug; ")


def test_attempts_that_failed_are_shown() -> None:
    """A call that was tried again says how often and why."""
    invoke(scripted(Overloaded("busy", status=503), "Done."), "ask", "x")
    text = show()
    assert ", 2 attempts, " in text
    assert "(attempt 1 failed: Overloaded: busy, status 503)\nassistant:\n  Done." in text


def test_a_call_that_was_broken_off_is_shown_as_cancelled() -> None:
    """Ctrl-C is no error."""
    invoke(scripted(Overloaded("busy", status=503), "Done."), "ask", "x")
    edit(read_calls(newest())[0], lambda text: text.replace("Overloaded", "CancelledError"))
    assert "(attempt 1 was cancelled)\n" in show()


def test_a_tool_that_failed_is_shown_as_failed() -> None:
    """An error result is told apart from a result."""
    call = Message("assistant", (ToolCall("c1", "nobody", {}),))
    invoke(scripted(call, "Done."), "ask", "x")
    assert "<- nobody: failed: There is no tool named" in show()


def test_arguments_that_were_no_json_are_shown_as_they_came() -> None:
    """What the model wrote is what is shown."""
    call = Message("assistant", (ToolCall("c1", "shout", {}, '{"text": '),))
    invoke(scripted(call, "Done."), "ask", "x")
    assert '-> shout {"text": \n' in show()


def test_a_second_turn_shows_only_what_is_new() -> None:
    """A conversation of two turns shows each message once."""
    invoke(echo_agent, "chat", typed="one\none\n")
    text = show()
    assert text.count("\n  one\n") == 2
    assert text.count("You said: one") == 2


def test_a_history_that_was_sent_anew_is_not_printed_again() -> None:
    """Where a file repeats the conversation, what was shown already is only counted."""
    invoke(echo_agent, "chat", typed="one\ntwo\n")
    second = read_calls(newest())[1]
    whole = (
        "messages:\n- {role: user, text: one}\n- {role: assistant, text: 'You said: one'}\n"
        "- {role: user, text: two}\n"
    )
    edit(second, lambda text: re.sub(r"(?s)history:.*?(?=attempts:)", whole, text))
    text = show()
    assert "(2 messages from above, sent again)\nuser:\n  two\n" in text
    assert text.count("You said: one") == 1


def test_a_broken_file_is_named_and_the_rest_is_shown() -> None:
    """One damaged artifact costs only itself."""
    invoke(echo_agent, "chat", typed="one\ntwo\n")
    broken = read_calls(newest())[0]
    broken.write_text("{[", encoding="utf-8")
    result = invoke(echo_agent, "runs", "show")
    assert result.exit_code == 0
    assert f"unreadable: agent/{broken.name}" in only_line(result.stderr)
    assert "You said: two" in result.stdout


def test_a_call_that_never_ended_is_shown_as_far_as_it_came() -> None:
    """What a killed process left is printed, and said to be cut off."""
    invoke(echo_agent, "ask", "hello")
    edit(read_calls(newest())[0], lambda text: text.partition("attempts:")[0])
    text = show()
    assert "0 attempts" in text
    assert text.endswith("user:\n  hello\n(no outcome: the process ended before the call did)\n")


def test_control_sequences_and_markup_are_harmless() -> None:
    """Logged text can neither drive the terminal nor be taken for markup."""
    invoke(scripted("a\x1b[2Jb [red]c[/red]"), "ask", "x")
    assert "\n  ab [red]c[/red]\n" in show()
