"""Reading back what the call log wrote, and what others left in its place."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ...errors import RateLimited
from ...messages import Message, ToolCall, ToolResult, Usage
from ...observability.call_log import CallLog
from ...observability.call_reader import read_call, read_calls, read_messages, read_runs
from ...observability.logger import Logger
from ...observability.records import RunFinished, RunStarted, ToolFinished
from .log_records import attempt, finished, play, reply, started

USAGE = Usage(100, 20)


def _conversation(run_dir: Path, logger: Logger, turns: int) -> list[Path]:
    log = CallLog(run_dir, logger)
    messages = [Message.system("Be brief.")]
    for turn in range(1, turns + 1):
        messages.append(Message.user(f"question {turn}"))
        answer = Message.assistant(f"answer {turn}")
        play(log, messages, answer)
        messages.append(answer)
    return read_calls(run_dir)


def test_a_call_reads_back_as_it_was_written(tmp_path: Path, logger: Logger) -> None:
    """Request, attempts and outcome of one call are there."""
    (path,) = _conversation(tmp_path / "run", logger, 1)
    assert list(read_call(path))[-3:] == ["messages", "attempts", "outcome"]


def test_a_conversation_is_put_together_from_its_files(tmp_path: Path, logger: Logger) -> None:
    """The last file gives all messages, in order, each of them once, and the last reply."""
    path = _conversation(tmp_path / "run", logger, 4)[-1]
    texts = [message["text"] for message in read_messages(path)]
    expected = [f"{kind} {turn}" for turn in range(1, 5) for kind in ("question", "answer")]
    assert texts == ["Be brief.", *expected]


def test_a_conversation_of_many_turns_is_put_together(tmp_path: Path, logger: Logger) -> None:
    """A chain longer than the interpreter's stack is followed."""
    path = _conversation(tmp_path / "run", logger, 600)[-1]
    assert len(read_messages(path)) == 1_201


def test_a_dropped_reply_is_not_part_of_what_followed(tmp_path: Path, logger: Logger) -> None:
    """Only as many messages of the earlier file count as the later one says."""
    log = CallLog(tmp_path, logger)
    question = Message.user("question")
    play(log, [question], Message.assistant("dropped"))
    play(log, [question, Message.user("again")], Message.assistant("kept"))
    texts = [message["text"] for message in read_messages(read_calls(tmp_path)[-1])]
    assert texts == ["question", "again", "kept"]


def test_a_failed_call_has_no_reply(tmp_path: Path, logger: Logger) -> None:
    """The conversation ends with the question."""
    log = CallLog(tmp_path, logger)
    call = started([Message.user("question")])
    log(call)
    log(attempt(call, reply(Message.assistant("wrong")), problem="no JSON"))
    log(attempt(call, None, number=2, error=RateLimited("slow down")))
    log(finished(call, RateLimited("slow down"), attempts=2))
    (path,) = read_calls(tmp_path)
    assert [message["text"] for message in read_messages(path)] == ["question"]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff\xfe\x00",
        b"a: [unclosed",
        b"- only\n- a list",
        b"text",
        b"messages: 5",
        b"? [1, 2]\n: 3",
        b"x: !!python/object:os.system {}",
        b"x: !!bool what",
        b"when: 2025-99-99",
        b"[" * 5_000,
    ],
)
def test_a_broken_or_foreign_file_gives_a_problem(content: bytes, tmp_path: Path) -> None:
    """No file makes the reader raise, and the entry names the file."""
    path = tmp_path / "main" / "0001-x.yaml"
    path.parent.mkdir()
    path.write_bytes(content)
    assert read_call(path)["problem"].startswith("main/0001-x.yaml: ")
    assert list(read_messages(path)[0]) == ["problem"]


def test_a_missing_file_gives_a_problem(tmp_path: Path) -> None:
    """A file that is not there is named."""
    assert "No such file" in read_call(tmp_path / "0001-x.yaml")["problem"]


def test_a_missing_earlier_file_leaves_a_mark_in_its_place(tmp_path: Path, logger: Logger) -> None:
    """What is left of a conversation is still shown."""
    first, second = _conversation(tmp_path, logger, 2)
    first.unlink()
    messages = read_messages(second)
    assert "No such file" in messages[0]["problem"]
    assert [message["text"] for message in messages[1:]] == ["question 2", "answer 2"]


@pytest.mark.parametrize(
    "history",
    ["{from: main/0001-a.yaml, messages: 1}", "{from: ../../x/0001-a.yaml}", "5", "[1]", "{a: 1}"],
)
def test_a_history_that_leads_nowhere_ends(history: str, tmp_path: Path) -> None:
    """A file that refers to itself or to another place is not followed."""
    path = tmp_path / "main" / "0001-a.yaml"
    path.parent.mkdir()
    path.write_text(f"history: {history}\nmessages:\n  - role: user\n    text: hello\n")
    messages = read_messages(path)
    assert "problem" in messages[0]
    assert messages[-1] == {"role": "user", "text": "hello"}


def test_a_run_is_summed_up(tmp_path: Path, logger: Logger) -> None:
    """When, model, turns, steps, tokens, cost, outcome and tools, without reading the calls."""
    log = CallLog(tmp_path / "run", logger)
    tool = ToolCall("c1", "get_word")
    for number in (1, 2):
        log(RunStarted(number, "chat"))
        log(started([Message.user("x")], run=number))
        log(ToolFinished(tool, ToolResult("c1", "get_word"), 0.1, number))
        log(RunFinished(number, "stop", None, 3, USAGE, 0.25, 1.5))
    (run,) = read_runs(tmp_path)
    assert run.pop("started").endswith("Z")
    assert run == {
        "run_id": "run",
        "model": "chat://openai/gpt-5-mini",
        "turns": 2,
        "steps": 6,
        "tokens": 240,
        "input_tokens": 200,
        "output_tokens": 40,
        "cost": 0.5,
        "seconds": 3.0,
        "outcome": "stop",
        "tools": {"get_word": 2},
    }


def test_sub_agents_are_counted_once(tmp_path: Path, logger: Logger) -> None:
    """A run already holds what the runs of its tools used."""
    log = CallLog(tmp_path / "run", logger)
    log(RunStarted(1, "chat"))
    log(RunStarted(2, "sub-agent", parent=1))
    log(RunFinished(2, "stop", None, 1, USAGE, 0.5, 1.0))
    log(RunFinished(1, "length", None, 1, USAGE, 0.75, 2.0))
    (run,) = read_runs(tmp_path)
    assert (run["turns"], run["cost"], run["outcome"]) == (1, 0.75, "length")


def test_a_run_that_failed_and_one_that_was_killed_say_so(tmp_path: Path, logger: Logger) -> None:
    """The outcome is the error, or that there was no end; the model of a killed run is known."""
    failed, killed = CallLog(tmp_path / "a", logger), CallLog(tmp_path / "b", logger)
    failed(RunStarted(1, "chat"))
    failed(RunFinished(1, None, RateLimited("slow down"), 1, Usage(), None, 1.0))
    killed(RunStarted(1, "chat"))
    killed(started([Message.user("x")]))
    runs = {run["run_id"]: run for run in read_runs(tmp_path)}
    assert (runs["a"]["outcome"], runs["a"]["cost"]) == ("RateLimited: slow down", None)
    assert (runs["b"]["outcome"], runs["b"]["cost"]) == ("unfinished", 0)
    assert runs["b"]["model"] == "chat://openai/gpt-5-mini"


def test_runs_come_newest_first(tmp_path: Path, logger: Logger) -> None:
    """By the time in the id, else by when the run was last written to."""
    ids = ["251702300799999-9999999-abcd", "251702300799998-9999999-abcd", "named"]
    for number, run_id in enumerate(ids):
        CallLog(tmp_path / run_id, logger)(RunStarted(1, "chat"))
        os.utime(tmp_path / run_id / "run.yaml", (number, number))
    assert [run["run_id"] for run in read_runs(tmp_path)] == [ids[1], ids[0], ids[2]]
    assert [run["run_id"] for run in read_runs(tmp_path, limit=1)] == [ids[1]]


def test_a_damaged_list_of_events_is_read_as_far_as_it_is_whole(
    tmp_path: Path, logger: Logger
) -> None:
    """A line cut off by a full disk does not hide the run."""
    log = CallLog(tmp_path / "run", logger)
    log(RunStarted(1, "chat"))
    log(RunFinished(1, "stop", None, 2, USAGE, 0.5, 1.0))
    with open(tmp_path / "run" / "run.yaml", "a", encoding="utf-8") as file:
        file.write('- {event: tool_finished, tool: "get')
    (run,) = read_runs(tmp_path)
    assert (run["steps"], run["outcome"], run["tools"]) == (2, "stop", {})


@pytest.mark.parametrize("content", [b"", b"\xff", b"text", b"a: 1", b"- 1\n- [2]"])
def test_a_foreign_list_of_events_gives_a_problem(content: bytes, tmp_path: Path) -> None:
    """The entry names the run and the file."""
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "run.yaml").write_bytes(content)
    assert read_runs(tmp_path) == [
        {"run_id": "run", "problem": "run/run.yaml: not the events of a run"}
    ]


def test_a_run_that_cannot_be_opened_gives_a_problem(tmp_path: Path) -> None:
    """A directory in place of the file is one more entry."""
    (tmp_path / "run" / "run.yaml").mkdir(parents=True)
    assert "problem" in read_runs(tmp_path)[0]


def test_events_of_another_shape_do_not_raise(tmp_path: Path) -> None:
    """Fields of wrong types count as nothing."""
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "run.yaml").write_text(
        "- {event: run_started, run: [1]}\n"
        "- {event: run_finished, run: [1], usage: 5, steps: x, cost: [], seconds: {}, error: no}\n"
    )
    (run,) = read_runs(tmp_path)
    assert (run["steps"], run["tokens"], run["outcome"]) == (0, 0, "unfinished")


def test_no_directory_means_no_runs(tmp_path: Path) -> None:
    """Before the first run there is nothing to list."""
    assert read_runs(tmp_path / "debug") == []
    assert read_calls(tmp_path / "debug") == []
