"""A message is written once per run: later files refer to earlier ones."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped, unused-ignore]

from ...messages import Message
from ...observability.call_log import BASES, CallLog
from ...observability.records import AttemptStarted
from .log_records import attempt, finished, play, reply, started

pytestmark = pytest.mark.checklist("artifacts")


@pytest.fixture
def conversation() -> list[Message]:
    return [Message.system("Be brief."), Message.user("question 1")]


def _calls(run_dir: Path) -> list[Any]:
    paths = sorted(run_dir.glob("*/*.yaml"), key=lambda path: path.name)
    return [yaml.safe_load(path.read_bytes()) for path in paths]


def _texts(call: Any) -> list[str]:
    return [message["text"] for message in call["messages"]]


def test_a_later_call_lists_only_what_is_new(
    call_log: CallLog, conversation: list[Message], run_dir: Path
) -> None:
    """The request and the reply of the call before are referred to, not repeated."""
    answer = Message.assistant("answer 1")
    play(call_log, conversation, answer)
    conversation += [answer, Message.user("question 2")]
    play(call_log, conversation, Message.assistant("answer 2"))
    first, second = _calls(run_dir)
    assert "history" not in first
    assert second["history"] == {"from": "main/0001-chat.yaml", "messages": 3}
    assert _texts(second) == ["question 2"]


def test_a_reference_follows_the_latest_file(
    call_log: CallLog, conversation: list[Message], run_dir: Path
) -> None:
    """Each call refers to the one before it, so a chain leads through the conversation."""
    for turn in range(1, 5):
        answer = Message.assistant(f"answer {turn}")
        play(call_log, conversation, answer)
        conversation += [answer, Message.user(f"question {turn + 1}")]
    histories = [call.get("history") for call in _calls(run_dir)]
    assert histories[1:] == [
        {"from": f"main/{turn:04d}-chat.yaml", "messages": 2 * turn + 1} for turn in (1, 2, 3)
    ]


def test_the_same_request_again_lists_nothing(
    call_log: CallLog, conversation: list[Message], run_dir: Path
) -> None:
    """After a failure another model gets the same messages; they stand in the first file."""
    call = started(tuple(conversation))
    call_log(call)
    call_log(attempt(call, None, error=TimeoutError()))
    call_log(finished(call, TimeoutError()))
    play(call_log, conversation, Message.assistant("answer"))
    second = _calls(run_dir)[1]
    assert second["history"] == {"from": "main/0001-chat.yaml", "messages": 2}
    assert second["messages"] == []


def test_a_reply_that_was_not_kept_is_not_counted(
    call_log: CallLog, conversation: list[Message], run_dir: Path
) -> None:
    """Only what is in the request counts as history."""
    play(call_log, conversation, Message.assistant("dropped"))
    play(call_log, [*conversation, Message.user("other")], Message.assistant("answer"))
    second = _calls(run_dir)[1]
    assert second["history"]["messages"] == 2
    assert _texts(second) == ["other"]


def test_a_replaced_message_in_the_middle_means_the_whole_list(
    call_log: CallLog, conversation: list[Message], run_dir: Path
) -> None:
    """After compaction the file holds all that was sent, also if the last message is the same."""
    last = Message.user("question 2")
    conversation += [Message.assistant("a long answer"), last]
    play(call_log, conversation, Message.assistant("answer 2"))
    compacted = [*conversation[:2], Message.assistant("a lo…"), last]
    play(call_log, compacted, Message.assistant("answer 3"))
    second = _calls(run_dir)[1]
    assert "history" not in second
    assert _texts(second) == ["Be brief.", "question 1", "a lo…", "question 2"]


def test_a_shorter_list_is_written_whole(
    call_log: CallLog, conversation: list[Message], run_dir: Path
) -> None:
    """Messages that were dropped do not come back through a reference."""
    conversation += [Message.assistant("answer"), Message.user("question 2")]
    play(call_log, conversation, Message.assistant("answer 2"))
    play(call_log, conversation[:2], Message.assistant("answer 3"))
    assert "history" not in _calls(run_dir)[1]


def test_messages_that_are_only_equal_are_no_base(call_log: CallLog, run_dir: Path) -> None:
    """Another agent that says the same has a conversation of its own."""
    for _ in range(2):
        play(call_log, [Message.user("hello")], Message.assistant("hi"))
    assert ["history" in call for call in _calls(run_dir)] == [False, False]


def test_a_reply_that_is_only_equal_is_listed(
    call_log: CallLog, conversation: list[Message], run_dir: Path
) -> None:
    """What counts is the message itself, since only that is known to have been written."""
    play(call_log, conversation, Message.assistant("answer"))
    play(call_log, [*conversation, Message.assistant("answer")], Message.assistant("more"))
    second = _calls(run_dir)[1]
    assert second["history"]["messages"] == 2
    assert _texts(second) == ["answer"]


def test_agents_that_run_side_by_side_keep_apart(call_log: CallLog, run_dir: Path) -> None:
    """Calls that overlap refer to their own conversation, whoever wrote last."""
    agents = {name: [Message.user(f"{name} 1")] for name in ("a", "b", "c")}
    for turn in (2, 3):
        calls = {name: started(tuple(msgs), name) for name, msgs in agents.items()}
        for call in calls.values():
            call_log(call)
            call_log(AttemptStarted(call.call, 1))
        for name, call in reversed(calls.items()):
            answer = Message.assistant(f"{name} answer")
            call_log(attempt(call, reply(answer)))
            call_log(finished(call))
            agents[name] += [answer, Message.user(f"{name} {turn}")]
    later = _calls(run_dir)[3:]
    assert [call["history"]["from"] for call in later] == [
        *("main/0001-a.yaml", "main/0002-b.yaml", "main/0003-c.yaml")
    ]
    assert [_texts(call) for call in later] == [["a 2"], ["b 2"], ["c 2"]]


def test_many_calls_that_go_on_from_one_share_its_messages(
    call_log: CallLog, conversation: list[Message], run_dir: Path
) -> None:
    """A base stays as long as it is used, however many calls lie between."""
    play(call_log, conversation, Message.assistant("answer"))
    for number in range(BASES * 2):
        request = [*conversation, Message.user(f"part {number}")]
        play(call_log, request, Message.assistant("done"))
    assert {call["history"]["from"] for call in _calls(run_dir)[1:]} == {"main/0001-chat.yaml"}


def test_what_the_log_remembers_is_bounded(
    call_log: CallLog, conversation: list[Message], run_dir: Path
) -> None:
    """A conversation that others have pushed out is written whole again, which is still right."""
    play(call_log, conversation, Message.assistant("answer"))
    for number in range(BASES):
        play(call_log, [Message.user(f"other {number}")], Message.assistant("done"))
    play(call_log, conversation, Message.assistant("answer"))
    last = _calls(run_dir)[-1]
    assert "history" not in last
    assert _texts(last) == ["Be brief.", "question 1"]


def test_the_log_of_a_long_conversation_grows_linearly(call_log: CallLog, run_dir: Path) -> None:
    """The last of 300 turns takes no more room than an early one."""
    messages = [Message.system("x" * 2_000)]
    for turn in range(300):
        answer = Message.assistant(f"answer {turn}")
        messages.append(Message.user(f"question {turn}"))
        play(call_log, messages, answer)
        messages.append(answer)
    sizes = [path.stat().st_size for path in sorted(run_dir.glob("*/*.yaml"))]
    assert sizes[-1] < sizes[1] + 50
    assert max(sizes[1:]) < 1_000


def test_an_empty_request_is_written(call_log: CallLog, log: io.StringIO, run_dir: Path) -> None:
    """A call without messages is nothing to refer to, and no failure."""
    for _ in range(2):
        play(call_log, [], Message.assistant("hello"))
    assert [call["messages"] for call in _calls(run_dir)] == [[], []]
    assert log.getvalue() == ""
