"""How the call log shows messages, and what it hides."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped, unused-ignore]

from ...messages import Image, Message, Text, Thinking, ToolCall, ToolResult, Usage
from ...observability.call_log import CallLog
from ...observability.records import AttemptStarted, RunFinished, RunStarted, ToolFinished
from ...observability.redact import LONGEST_TEXT, add_secret
from .log_records import attempt, finished, reply, started

pytestmark = pytest.mark.checklist("artifacts")


def _load(path: Path) -> Any:
    return yaml.safe_load(path.read_bytes())


def _shown(call_log: CallLog, run_dir: Path, message: Message) -> Any:
    """Return a message as the log shows it."""
    call_log(started([message]))
    return _load(max(run_dir.glob("*/*.yaml")))["messages"][0]


def test_tool_calls_results_thinking_and_images_are_readable(
    call_log: CallLog, run_dir: Path
) -> None:
    """Arguments are data, thinking is text, an image is its type and size."""
    image = Image("image/png", "A" * 16_000)
    thinking = Message(
        "assistant", (Thinking("hm\nso"), ToolCall("c1", "get_word", {"word": "yes", "n": [1, 2]}))
    )
    result = ToolResult("c1", "get_word", (Text("a\nb"), image), is_error=True)
    assert _shown(call_log, run_dir, thinking)["parts"] == [
        {"thinking": "hm\nso"},
        {"tool_call": "get_word", "id": "c1", "arguments": {"word": "yes", "n": [1, 2]}},
    ]
    assert _shown(call_log, run_dir, Message("tool", (result,)))["parts"] == [
        {
            "tool_result": "get_word",
            "call_id": "c1",
            "text": "a\nb\n[image/png, 12 kB]",
            "is_error": True,
        }
    ]
    assert _shown(call_log, run_dir, Message("user", (image,)))["parts"] == [
        {"image": "[image/png, 12 kB]"}
    ]


def test_malformed_arguments_are_shown_as_they_came(call_log: CallLog, run_dir: Path) -> None:
    """What was no JSON is the text that the model wrote."""
    call = ToolCall("c1", "get_word", malformed='{"word": ')
    part = _shown(call_log, run_dir, Message("assistant", (call,)))["parts"][0]
    assert part == {"tool_call": "get_word", "id": "c1", "malformed": '{"word": '}


def test_arguments_too_deep_for_a_loader_are_shown_as_json(
    call_log: CallLog, run_dir: Path
) -> None:
    """Nesting by a mad model breaks neither the log nor its readers."""
    deep: Any = "end"
    for _ in range(100):
        deep = [deep]
    message = Message("assistant", (ToolCall("c1", "get_word", {"deep": deep}),))
    arguments = _shown(call_log, run_dir, message)["parts"][0]["arguments"]
    assert arguments == '{"deep":' + "[" * 100 + '"end"' + "]" * 100 + "}"


def test_very_long_texts_are_shortened(call_log: CallLog, run_dir: Path) -> None:
    """Head and tail of a huge text are kept, and how much was left out."""
    text = "x" * LONGEST_TEXT * 3
    call = ToolCall("c1", "write", {"content": text})
    message = Message("assistant", (Text(text), call))
    call_log(started([message]))
    (path,) = run_dir.glob("*/*.yaml")
    assert path.stat().st_size < 2.1 * LONGEST_TEXT
    assert path.read_text(encoding="utf-8").count("characters left out") == 2


@pytest.mark.checklist("secrets")
def test_secrets_reach_neither_files_nor_their_names(call_log: CallLog, run_dir: Path) -> None:
    """A known key is masked wherever a conversation, a setting or an error carries it."""
    secret, lines = "canary-0123456789", "-----BEGIN KEY-----\ncanary/multi\nline\n-----END-----"
    add_secret(secret)
    add_secret(lines)
    arguments = {secret: [secret], "text": f"a\n{secret}\n{lines}"}
    message = Message("assistant", (Thinking(secret), ToolCall(secret, secret, arguments)))
    call = started(
        [Message.user(f"first\n  {lines}\n{secret}"), message, Message.system(secret)],
        identifier=secret,
        stage=secret,
        model=f"chat://openai/gpt?apiKey={secret}",
        settings={"headers": {"x": secret}, "apiKey": "hidden-by-its-name"},
    )
    call_log(RunStarted(1, secret))
    call_log(call)
    call_log(AttemptStarted(call.call, 1, (Message.user(secret),)))
    answer = reply(Message.assistant(secret), raw=f"{secret}!")
    call_log(attempt(call, answer, problem=f"bad {secret}", error=ValueError(secret)))
    call_log(finished(call, ValueError(f"api_key=other-secret {secret}")))
    call_log(ToolFinished(ToolCall("c", secret), ToolResult("c", secret), 0.1, 1))
    call_log(RunFinished(1, None, ValueError(secret), 1, Usage(), None, 1.0))
    for path in run_dir.rglob("*"):
        assert "canary" not in path.name
        text = path.read_text(encoding="utf-8") if path.is_file() else ""
        assert not [word for word in ("canary", "BEGIN KEY", "hidden", "other-s") if word in text]


@pytest.mark.checklist("secrets")
def test_a_secret_that_is_a_number_is_masked_in_arguments(call_log: CallLog, run_dir: Path) -> None:
    """Where masking breaks the JSON of the arguments, they are shown as text."""
    add_secret("123456789")
    message = Message("assistant", (ToolCall("c1", "pay", {"pin": 123456789}),))
    assert _shown(call_log, run_dir, message)["parts"][0]["arguments"] == '{"pin":***}'
