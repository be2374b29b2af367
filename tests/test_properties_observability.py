"""Properties of the log: what was written reads back, each message once, and no secret is in it."""

from __future__ import annotations

import base64
import io
import json
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from agentkit.messages import Message, Reply, Text, Thinking, ToolCall, ToolResult, Usage
from agentkit.observability import redact
from agentkit.observability.call_log import CallLog
from agentkit.observability.call_reader import read_calls, read_messages
from agentkit.observability.logger import Logger
from agentkit.observability.records import (
    AttemptFinished,
    AttemptStarted,
    CallFinished,
    CallStarted,
    RunFinished,
    RunStarted,
    ToolFinished,
)
from agentkit.observability.yaml_text import block, inline

LOADERS = [yaml.SafeLoader] + ([yaml.CSafeLoader] if yaml.__with_libyaml__ else [])
ODD = (
    "\n\n\n \t a#:-'\"|>%&*!?{}[],~@`\r\x00\x1b\x7f\x85\xa0\xad\u200b\u2028\u2029\ufeff\ufffe😀=<\\"
)
characters = st.one_of(st.sampled_from(ODD), st.characters(exclude_categories=["Cs"]))
texts = st.one_of(
    st.text(characters, max_size=30),
    st.text(characters, min_size=75, max_size=120),
    st.sampled_from(["yes", "null", "1e3", "0x1F", "12:30:00", "2025-01-02", "---", "..."]),
)
atoms = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), texts)
plain = st.recursive(
    atoms,
    lambda inner: st.lists(inner, max_size=10) | st.dictionaries(texts, inner, max_size=10),
    max_leaves=12,
)


@settings(max_examples=150, deadline=None)
@given(st.dictionaries(texts, plain, max_size=5))
def test_any_plain_data_reads_back_equal(data: dict[str, Any]) -> None:
    """Whatever the data, both loaders give it back, also from a block that was moved right."""
    moved = "items:\n  - " + block(data)[:-1].replace("\n", "\n    ") + "\n"
    for loader in LOADERS:
        assert yaml.load(block(data), loader) == data
        assert yaml.load(inline(data), loader) == data
        assert yaml.load(moved, loader) == {"items": [data]}


@contextmanager
def fresh_log() -> Iterator[tuple[CallLog, Path, io.StringIO]]:
    """A call log in a directory of its own: hypothesis runs many examples within one test."""
    directory, lines = Path(tempfile.mkdtemp()), io.StringIO()
    try:
        yield CallLog(directory / "run", Logger("test", stream=lines)), directory / "run", lines
    finally:
        shutil.rmtree(directory)


# What happens to one of three conversations before its next call: more messages, a shorter list,
# a copy of another conversation, a message replaced; and whether the reply is kept.
steps = st.lists(
    st.tuples(
        st.integers(0, 2),
        st.sampled_from(["append", "append", "drop", "copy", "replace", "same"]),
        st.integers(0, 9),
        st.sampled_from(["kept", "kept", "dropped", "failed"]),
    ),
    max_size=25,
)


def _change(conversations: list[list[Message]], which: int, what: str, at: int) -> None:
    messages = conversations[which]
    if what == "append" or not messages:
        messages.append(Message.user(f"{which} {len(messages)}"))
    elif what == "drop":
        del messages[: at % len(messages)]
    elif what == "copy":
        messages[:] = conversations[at % 3] or messages
    elif what == "replace":
        messages[at % len(messages)] = Message.user(f"shortened {at}")


@settings(max_examples=100, deadline=None)
@given(steps)
def test_every_request_can_be_put_together_from_the_files(
    steps: list[tuple[int, str, int, str]],
) -> None:
    """However conversations grow, fork and shrink, each file leads to what was really sent."""
    conversations: list[list[Message]] = [[], [], []]
    sent: list[list[str]] = []
    with fresh_log() as (log, run_dir, _):
        for number, (which, what, at, fate) in enumerate(steps):
            _change(conversations, which, what, at)
            request = tuple(conversations[which])
            answer = Message.assistant(f"answer {number}")
            reply = None if fate == "failed" else Reply(answer, "stop", Usage(), "model")
            log(CallStarted(number, 1, "chat", "main", "model", request, {}, (), None))
            log(AttemptFinished(number, 1, reply, None, None, 0.0, 0.1))
            log(CallFinished(number, "stop", None, 1, Usage(), 0.0, 0.1))
            sent.append([message.text for message in [*request, *([answer] if reply else [])]])
            if fate == "kept":
                conversations[which].append(answer)
        read = [[m["text"] for m in read_messages(path)] for path in read_calls(run_dir)]
    assert read == sent


secrets = st.text(st.characters(exclude_categories=["Cs", "Cc", "Z"]), min_size=8, max_size=30)
around = st.text(st.characters(codec="ascii"), max_size=8)


@pytest.fixture(autouse=True)
def no_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Secrets of a test stay its own."""
    monkeypatch.setattr(redact, "_forms", {})


@settings(max_examples=150, deadline=None)
@given(secrets, around, around)
def test_a_secret_is_masked_in_any_text_and_spelling(secret: str, before: str, after: str) -> None:
    """Plain, URL-encoded, JSON-escaped or in base64, wherever it stands in the text."""
    redact.add_secret(secret)
    text = before + secret + after
    for spelled in (
        text,
        quote(text, safe=""),
        json.dumps(text),
        json.dumps(text, ensure_ascii=False),
    ):
        assert redact.mask_known(spelled) != spelled
        assert secret not in redact.mask_known(spelled)
    encoded = base64.b64encode(text.encode()).decode()
    assert redact.mask_known(encoded) != encoded


@settings(max_examples=60, deadline=None)
@given(around, around, st.sampled_from(["", "\n", "\r\n", "\t", "\x07", "é", "x" * 90]))
def test_a_secret_reaches_no_file_and_no_log_line(before: str, after: str, odd: str) -> None:
    """Any text around it, in any place of request, reply, tool or error: it is not in the log."""
    secret = "canary-0123456789"
    redact.add_secret(secret)
    text = f"{before}{secret}{odd}{after}{secret}"
    call = ToolCall(text, text, {text: [text, {"deep": text}]})
    result = ToolResult(text, text, (Text(text),))
    messages = (
        Message("assistant", (Text(text), Thinking(text), call)),
        Message("tool", (result,)),
    )
    reply = Reply(messages[0], "stop", Usage(), text, raw=text + "!", detail=text)
    error = ValueError(text)
    with fresh_log() as (log, run_dir, lines):
        log(RunStarted(1, text))
        log(CallStarted(1, 1, text, text, text, messages, {"x": text}, (text,), text))
        log(AttemptStarted(1, 1, (Message.user(text),)))
        log(AttemptFinished(1, 1, reply, error, text, None, 0.1))
        log(CallFinished(1, None, error, 1, Usage(), None, 0.1))
        log(ToolFinished(call, result, 0.1, 1))
        log(RunFinished(1, None, error, 1, Usage(), None, 0.1))
        Logger(text, stream=lines).error(text, {"error": error, text: [text]})
        written = [path.name for path in run_dir.rglob("*")]
        written += [path.read_text() for path in run_dir.rglob("*") if path.is_file()]
    assert len(written) > 4
    assert "canary" not in "".join([*written, lines.getvalue()])
