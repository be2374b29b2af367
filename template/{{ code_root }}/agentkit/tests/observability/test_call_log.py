"""One YAML file per model call: where it is and what is in it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped, unused-ignore]

from ...errors import RateLimited
from ...messages import Message, ToolCall, ToolResult, Usage
from ...observability.call_log import CallLog
from ...observability.logger import Logger
from ...observability.records import AttemptStarted, Record, RunFinished, RunStarted, ToolFinished
from .log_records import attempt, finished, play, reply, started

pytestmark = pytest.mark.checklist("artifacts")

QUESTION = Message.user("What does it mean?\nIn one line.")
ANSWER = Message.assistant("Everywhere at once.")


def _files(run_dir: Path) -> list[str]:
    return sorted(path.relative_to(run_dir).as_posix() for path in run_dir.glob("*/*.yaml"))


def _load(path: Path) -> Any:
    return yaml.safe_load(path.read_bytes())


def test_a_call_leaves_a_file_with_request_attempts_and_outcome(
    call_log: CallLog, run_dir: Path
) -> None:
    """All facts of a call stand in one file that any YAML loader reads."""
    play(call_log, [Message.system("Be brief."), QUESTION], ANSWER)
    call = _load(run_dir / "main" / "0001-chat.yaml")
    assert (call["call"], call["identifier"], call["stage"]) == (1, "chat", "main")
    assert call["run"] == 1
    assert call["time"].endswith("Z")
    assert call["model"] == "chat://openai/gpt-5-mini"
    assert (call["settings"], call["tools"]) == ({"temperature": 0.2}, ["get_word"])
    assert [message["role"] for message in call["messages"]] == ["system", "user"]
    assert call["messages"][1]["text"] == "What does it mean?\nIn one line."
    (only,) = call["attempts"]
    assert only["reply"] == {"role": "assistant", "text": "Everywhere at once."}
    assert (only["attempt"], only["finish_reason"], only["seconds"]) == (1, "stop", 0.5)
    assert (only["model"], only["cost"]) == ("gpt-5-mini-2025", 0.001)
    assert only["usage"] == {"input_tokens": 100, "output_tokens": 20, "cache_read_tokens": 60}
    assert call["outcome"]["finish_reason"] == "stop"
    assert (call["outcome"]["attempts"], call["outcome"]["cost"]) == (1, 0.001)


def test_a_file_is_whole_yaml_after_every_record_and_only_grows(
    call_log: CallLog, run_dir: Path
) -> None:
    """A process killed between two records leaves a file that can be read."""
    call = started([QUESTION])
    wrong = Message.assistant("no JSON")
    correction = Message.user("Answer in JSON.")
    records: list[Record] = [
        call,
        AttemptStarted(call.call, 1),
        attempt(call, None, error=RateLimited("slow down", status=429)),
        AttemptStarted(call.call, 2),
        attempt(call, reply(wrong, "no JSON"), number=2, problem="not JSON"),
        AttemptStarted(call.call, 3, (wrong, correction)),
        attempt(call, reply(ANSWER), number=3),
        finished(call, attempts=3),
    ]
    before, keys = b"", []
    for record in records:
        call_log(record)
        after = (run_dir / "main" / "0001-chat.yaml").read_bytes()
        assert after.startswith(before)
        keys.append(list(yaml.safe_load(after)))
        before = after
    assert keys[0][-1] == "messages"
    assert keys[2][-1] == "attempts"
    assert keys[-1][-2:] == ["attempts", "outcome"]


def test_an_attempt_that_was_not_accepted_keeps_raw_text_and_problem(
    call_log: CallLog, run_dir: Path
) -> None:
    """The wrong answer, the reason and the correction stand in one file, each of them once."""
    wrong, correction = Message.assistant("no JSON"), Message.user("Answer in JSON.")
    call = started([QUESTION])
    call_log(call)
    call_log(AttemptStarted(call.call, 1))
    call_log(attempt(call, reply(wrong, raw="no JSON"), problem="not JSON"))
    call_log(AttemptStarted(call.call, 2, (wrong, correction)))
    call_log(attempt(call, reply(ANSWER), number=2))
    first, second = _load(run_dir / "main" / "0001-chat.yaml")["attempts"]
    assert (first["raw"], first["problem"]) == ("no JSON", "not JSON")
    assert second["corrections"] == [{"role": "user", "text": "Answer in JSON."}]
    assert "raw" not in second
    assert len(_files(run_dir)) == 1


def test_an_error_keeps_type_message_status_and_hint(call_log: CallLog, run_dir: Path) -> None:
    """What the provider said about a failure is there to be read."""
    error = RateLimited("slow: down", status=429, retry_after=2.5)
    call = started([QUESTION])
    call_log(call)
    call_log(attempt(call, None, error=error))
    call_log(finished(call, error))
    data = _load(run_dir / "main" / "0001-chat.yaml")
    expected = {
        "type": "RateLimited",
        "message": "slow: down",
        "status": 429,
        "retry_after": 2.5,
    }
    assert data["attempts"][0]["error"] == expected
    assert data["outcome"]["error"] == expected


def test_a_cancelled_call_says_so(call_log: CallLog, run_dir: Path) -> None:
    """A call that was cancelled before its first attempt ended has an outcome all the same."""
    call = started([QUESTION])
    call_log(call)
    call_log(finished(call, KeyboardInterrupt(), attempts=0))
    outcome = _load(run_dir / "main" / "0001-chat.yaml")["outcome"]
    assert outcome["error"] == {"type": "KeyboardInterrupt", "message": ""}


def test_files_are_numbered_over_all_stages(call_log: CallLog, run_dir: Path) -> None:
    """The numbers give the order of the calls of a run, whatever their stages."""
    for identifier, stage in (("plan", "planning"), ("chat", "main"), ("plan", "planning")):
        call_log(started([QUESTION], identifier, stage))
    assert _files(run_dir) == [
        "main/0002-chat.yaml",
        "planning/0001-plan.yaml",
        "planning/0003-plan.yaml",
    ]


def test_a_resumed_run_goes_on_with_the_next_number(run_dir: Path, logger: Logger) -> None:
    """Files of an earlier process are neither overwritten nor appended to."""
    play(CallLog(run_dir, logger), [QUESTION], ANSWER)
    before = (run_dir / "main" / "0001-chat.yaml").read_bytes()
    play(CallLog(run_dir, logger), [QUESTION], ANSWER, "other")
    assert _files(run_dir) == ["main/0001-chat.yaml", "main/0002-other.yaml"]
    assert (run_dir / "main" / "0001-chat.yaml").read_bytes() == before


def test_a_number_that_another_process_took_is_skipped(
    call_log: CallLog, run_dir: Path, logger: Logger
) -> None:
    """Two processes with one run id do not write into one file."""
    other = CallLog(run_dir, logger)
    call_log(started([QUESTION]))
    other(started([QUESTION]))
    call_log(started([QUESTION]))
    assert [_load(run_dir / file)["call"] for file in _files(run_dir)] == [1, 2, 3]


@pytest.mark.parametrize("name", ["../../escape", "/etc/passwd", "a/b:c*", "", "..", "数据"])
def test_names_stay_inside_the_run_directory(name: str, call_log: CallLog, run_dir: Path) -> None:
    """Stage and identifier become plain names, whatever they are."""
    call_log(started([QUESTION], name, name))
    (path,) = run_dir.parent.parent.rglob("*.yaml")
    assert path.parent.parent == run_dir
    assert _load(path)["identifier"] == name


@pytest.mark.checklist("secrets")
@pytest.mark.skipif(sys.platform == "win32", reason="no POSIX modes")
def test_files_are_for_their_owner_only(call_log: CallLog, run_dir: Path) -> None:
    """Nobody else on the machine reads a conversation."""
    call_log(RunStarted(1, "chat"))
    for _ in range(2):
        play(call_log, [QUESTION], ANSWER)
    modes = {path.stat().st_mode & 0o777 for path in run_dir.rglob("*.yaml")}
    assert modes == {0o600}


def test_runs_and_tools_are_listed_in_one_file(call_log: CallLog, run_dir: Path) -> None:
    """The list of a run's events tells what it came to without reading every call."""
    call = ToolCall("c1", "get_word", {"word": "x"})
    call_log(RunStarted(1, "chat"))
    call_log(RunStarted(2, "sub-agent", parent=1))
    call_log(started([QUESTION]))
    call_log(ToolFinished(call, ToolResult("c1", "get_word", is_error=True), 0.25, 1))
    call_log(RunFinished(1, "stop", None, 2, Usage(10, 5), 0.002, 1.5))
    events = _load(run_dir / "run.yaml")
    assert [event["event"] for event in events] == [
        *("run_started", "run_started", "tool_finished", "run_finished")
    ]
    assert (events[1]["run"], events[1]["parent"]) == (2, 1)
    assert (events[2]["tool"], events[2]["seconds"], events[2]["is_error"]) == (
        *("get_word", 0.25, True),
    )
    assert events[3]["model"] == "chat://openai/gpt-5-mini"
    assert (events[3]["steps"], events[3]["cost"], events[3]["finish_reason"]) == (2, 0.002, "stop")
