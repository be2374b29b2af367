"""Log lines: levels, context, exceptions, secrets, and streams that fail."""

from __future__ import annotations

import errno
import io
import json
import re

import pytest

from ...observability.logger import LEVELS, Level, Logger
from ...observability.redact import add_secret

pytestmark = pytest.mark.checklist("logger")


def test_a_line_says_when_how_bad_where_and_what() -> None:
    """Time in UTC, level, context, message and meta stand in one line."""
    log = io.StringIO()
    Logger("agent:mcp", "info", log).info("connected", {"tools": 3})
    expected = (
        r'\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z INFO  \[agent:mcp\] connected {"tools": 3}\n'
    )
    assert re.fullmatch(expected, log.getvalue())


@pytest.mark.parametrize("level", LEVELS)
def test_messages_below_the_level_are_left_out(level: Level) -> None:
    """A logger writes its own level and what is more severe."""
    log = io.StringIO()
    logger = Logger("agent", level, log)
    for write in (logger.debug, logger.info, logger.warn, logger.error):
        write("message")
    written = [line.split()[1].lower() for line in log.getvalue().splitlines()]
    assert written == list(LEVELS[LEVELS.index(level) :])


@pytest.mark.parametrize(
    ("text", "level"), [("debug", "debug"), (" WARN ", "warn"), ("Warning", "warn")]
)
def test_a_level_may_be_written_by_a_person(text: str, level: str) -> None:
    """Case, spaces and the word "warning" do not matter."""
    assert Logger.from_level_string("agent", text).level == level


def test_an_unknown_level_warns_and_means_debug(capsys: pytest.CaptureFixture[str]) -> None:
    """Nobody loses messages to a typing error, and the warning lists the known levels."""
    assert Logger.from_level_string("agent", "loud").level == "debug"
    line = capsys.readouterr().err
    assert 'WARN  [agent] unknown log level "loud"' in line
    assert "debug, info, warn, error" in line


def test_an_exception_keeps_type_message_stack_and_cause() -> None:
    """An error is written out, with what caused it, not as an empty object."""
    log = io.StringIO()
    try:
        try:
            raise KeyError("inner")
        except KeyError as error:
            raise ValueError("outer") from error
    except ValueError as error:
        Logger("agent", stream=log).error("it broke", error)
    meta = json.loads(log.getvalue().partition("it broke ")[2])
    assert (meta["type"], meta["message"]) == ("ValueError", "outer")
    assert "test_logger.py" in meta["stack"]
    assert (meta["cause"]["type"], meta["cause"]["message"]) == ("KeyError", "'inner'")


def test_an_exception_inside_meta_is_written_out_as_well() -> None:
    """Exceptions are serialised wherever they stand."""
    log = io.StringIO()
    Logger("agent", stream=log).warn("late", {"reason": TimeoutError("10 s")})
    assert json.loads(log.getvalue().partition("late ")[2])["reason"]["type"] == "TimeoutError"


def test_a_message_stays_on_one_line() -> None:
    """What a message holds cannot look like another log line."""
    log = io.StringIO()
    Logger("agent", stream=log).info("first\r\n2030-01-01T00:00:00.000Z ERROR [agent] forged")
    assert log.getvalue().count("\n") == 1
    assert "\r" not in log.getvalue()


def test_secrets_are_masked_in_message_and_meta() -> None:
    """A known key never reaches the log, whatever carries it."""
    add_secret("canary-0123456789")
    log = io.StringIO()
    error = ValueError("refused: canary-0123456789")
    Logger("canary-agent", stream=log).error("with canary-0123456789", {"error": error})
    assert "canary-0123456789" not in log.getvalue()
    assert log.getvalue().count("***") >= 2


def test_a_child_has_the_level_and_the_stream_of_its_parent() -> None:
    """The context of a part follows that of the whole."""
    log = io.StringIO()
    child = Logger("agent", "warn", log).child("mcp")
    child.info("left out")
    child.warn("written")
    assert "[agent:mcp] written" in log.getvalue()
    assert "left out" not in log.getvalue()


def test_a_closed_stream_does_not_stop_the_work() -> None:
    """A log that cannot be written is lost, nothing else."""
    log = io.StringIO()
    log.close()
    Logger("agent", stream=log).error("nobody hears this")


def test_a_full_disk_does_not_stop_the_work() -> None:
    """A stream whose disk is full raises nothing."""
    tried = []

    class Full(io.StringIO):
        def write(self, text: str) -> int:
            tried.append(text)
            raise OSError(errno.ENOSPC, "No space left on device")

    Logger("agent", stream=Full()).error("nobody hears this")
    assert len(tried) == 1


def test_without_stderr_nothing_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program without a console (pythonw) has no stderr."""
    monkeypatch.setattr("sys.stderr", None)
    Logger("agent").error("nobody hears this")


def test_characters_the_stream_cannot_write_are_escaped() -> None:
    """A console that knows only ASCII still gets the line, and one line it stays."""
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, "ascii")
    Logger("agent", stream=stream).info("café\n数据")
    assert raw.getvalue().endswith(b"caf\\xe9\\n\\u6570\\u636e\n")


@pytest.mark.parametrize("meta", [[10**6_000], {"deep": [1 << 99_999]}, object(), b"\xff", {1, 2}])
def test_meta_of_any_kind_is_written(meta: object) -> None:
    """No value makes the logger raise."""
    log = io.StringIO()
    Logger("agent", stream=log).info("value", meta)
    assert log.getvalue().endswith("\n")
