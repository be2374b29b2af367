"""Tests of `ask`."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from ...errors import Overloaded
from ...messages import Message, Text, ToolCall
from ...observability.call_reader import read_runs
from .commands import ECHO, echo_agent, invoke, only_line, scripted, stored

CALL = Message("assistant", (ToolCall("c1", "shout", {"text": "hi"}),))


def test_the_answer_is_all_that_stdout_gets() -> None:
    """The answer and one line end go to stdout, nothing goes to stderr, the exit code is 0."""
    result = invoke(echo_agent, "ask", "hello")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "You said: hello\n", "")


def test_an_answer_that_ends_its_line_gets_no_second_end() -> None:
    """A line end of the model's own is enough."""
    assert invoke(scripted("one\ntwo\n"), "ask", "x").stdout == "one\ntwo\n"


def test_a_dash_reads_the_question_from_stdin() -> None:
    """The question `-` stands for what comes in on standard input."""
    assert invoke(echo_agent, "ask", "-", typed="from a pipe").stdout == "You said: from a pipe\n"


@pytest.mark.parametrize(("question", "typed"), [("", ""), (" \n", ""), ("-", "\n")])
def test_an_empty_question_is_a_wrong_use(question: str, typed: str) -> None:
    """A question that says nothing ends with exit code 2 and one line."""
    result = invoke(echo_agent, "ask", question, typed=typed)
    assert (result.exit_code, result.stdout) == (2, "")
    assert only_line(result.stderr) == "error: the question is empty"


def test_model_chooses_the_model() -> None:
    """`--model` reaches build_agent as `model`."""
    assert invoke(echo_agent, "ask", "x", "--model", "chat://offline/none").exit_code == 1
    assert invoke(echo_agent, "ask", "x", "--model", ECHO).exit_code == 0


def test_tool_calls_are_shown_on_stderr() -> None:
    """A tool's call and its result are told on stderr, so stdout stays the answer's."""
    result = invoke(scripted(CALL, "Done."), "ask", "x")
    assert result.stdout == "Done.\n"
    first, second = result.stderr.splitlines()
    assert first == 'tool shout {"text":"hi"}'
    assert re.fullmatch(r"tool shout done in \d+\.\d s: HI", second)


def test_a_tool_that_fails_is_shown_as_failed() -> None:
    """The error of a tool is told as one."""
    call = Message("assistant", (ToolCall("c1", "shout", {"text": "nothing"}),))
    result = invoke(scripted(call, "Done."), "ask", "x")
    assert re.search(r"tool shout failed in .* s: there is nothing to shout", result.stderr)


def test_retries_are_shown_on_stderr() -> None:
    """A retry is told with its reason; the answer on stdout is whole."""
    result = invoke(scripted(Overloaded("busy"), "Done."), "ask", "x")
    assert result.stdout == "Done.\n"
    assert re.fullmatch(r"trying again in 1\.\d s: busy\n", result.stderr)


def test_text_before_a_tool_call_is_not_the_answer() -> None:
    """Elsewhere than on a terminal only the final answer is written."""
    parts = (Text("Let me see."), *CALL.parts)
    assert invoke(scripted(Message("assistant", parts), "Done."), "ask", "x").stdout == "Done.\n"


def test_json_prints_one_object() -> None:
    """`--json` prints what the run came to, for programs."""
    result = invoke(echo_agent, "ask", "hello", "--json", "--session", "s1")
    data = json.loads(only_line(result.stdout))
    assert data.pop("run_id") == read_runs(Path("debug"))[0]["run_id"]
    assert data.pop("usage") == {
        "input_tokens": 1,
        "output_tokens": 3,
        "cache_read_tokens": 0,
        "cache_write_tokens": 0,
        "reasoning_tokens": 0,
    }
    assert data == {
        "text": "You said: hello",
        "model": "offline/echo",
        "finish_reason": "stop",
        "steps": 1,
        "cost": 0.0,
        "session": "s1",
    }


def test_json_says_null_for_an_unknown_cost() -> None:
    """A model without a price has the cost null, not zero."""
    build = scripted("x", uri="chat://openai/no-such-model")
    result = invoke(build, "ask", "x", "--json")
    assert json.loads(result.stdout)["cost"] is None


def test_each_ask_is_a_session_of_its_own() -> None:
    """Without `--session` an earlier question is not remembered."""
    first, second = (json.loads(invoke(echo_agent, "ask", "x", "--json").stdout) for _ in "12")
    assert first["session"] != second["session"]
    assert len(stored(second["session"])) == 2


def test_session_goes_on_with_a_session() -> None:
    """`--session` adds to what the session holds."""
    for text in ("one", "two"):
        invoke(echo_agent, "ask", text, "--session", "s1")
    assert [row.text for row in stored("s1") if isinstance(row, Message)] == [
        *("one", "You said: one"),
        *("two", "You said: two"),
    ]


def test_an_empty_session_id_is_a_wrong_use() -> None:
    """`--session ""` is refused instead of meaning some session."""
    result = invoke(echo_agent, "ask", "x", "--session", "")
    assert result.exit_code == 2
    assert "the id is empty" in result.stderr


def test_debug_dir_says_where_the_run_is_logged() -> None:
    """The call log goes below `--debug-dir`, by default below `debug`."""
    invoke(echo_agent, "ask", "x", "--debug-dir", "logs")
    assert len(read_runs(Path("logs"))) == 1
    assert not Path("debug").exists()


def test_log_level_lets_the_logger_speak() -> None:
    """`--log-level` is the level of the run's logger, which writes to stderr."""
    build = scripted("x", uri="chat://openai/no-such-model")
    assert "WARN  [my-agent] no price known" in invoke(build, "ask", "x").stderr
    assert invoke(build, "ask", "x", "--log-level", "error").stderr == ""


def test_an_unknown_log_level_is_a_wrong_use() -> None:
    """A level that is none is refused, and those that are named."""
    result = invoke(echo_agent, "ask", "x", "--log-level", "loud")
    assert result.exit_code == 2
    assert "'loud' is none of debug, info, warn, error" in result.stderr


def test_control_sequences_of_the_model_do_not_reach_the_terminal() -> None:
    """Colours, titles and lone controls are dropped; line breaks, tabs and brackets stay."""
    evil = "\x1b[31mred\x1b[0m\x1b]0;title\x07 \x9b2J\b\r[bold]x[/bold]\n\ty"
    assert invoke(scripted(evil), "ask", "x").stdout == "red [bold]x[/bold]\n\ty\n"


def test_control_sequences_of_a_tool_do_not_reach_the_terminal() -> None:
    """What a tool returns is shown as one harmless line."""
    call = Message("assistant", (ToolCall("c1", "shout", {"text": "a\x1b[2Jb\nc"}),))
    result = invoke(scripted(call, "Done."), "ask", "x")
    assert result.stderr.splitlines()[1].endswith(": AB C")


def test_an_answer_that_was_cut_off_says_so() -> None:
    """A run that needs more steps than it has ends with exit code 1 and one line."""
    result = invoke(scripted(CALL, max_steps=1), "ask", "x", "--log-level", "error")
    assert result.exit_code == 1
    assert "error: no final answer after 1 steps; raise the agent's max_steps" in result.stderr


def test_no_answer_at_all_is_an_error() -> None:
    """A model that answers with nothing makes the exit code 1."""
    result = invoke(scripted(""), "ask", "x")
    assert (result.exit_code, result.stdout) == (1, "")
    assert only_line(result.stderr).startswith("error: the model answered with nothing")


def test_text_that_the_encoding_lacks_is_replaced() -> None:
    """Output in an encoding without the characters never fails."""
    result = invoke(echo_agent, "ask", "Cảm ơn", charset="cp1252")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "You said: C?m ?n\n", "")
