"""The call log: one YAML file per model call, and `run.yaml` with what the run came to.

Files are appended to, never rewritten, and each record is one write, so what a killed process
leaves can be read. A message is written once per run: a later file says how many of its messages
an earlier one holds (`history`) and lists only what is new.
"""

from __future__ import annotations

import errno
import os
import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import count
from operator import is_
from pathlib import Path
from threading import Lock
from typing import NamedTuple

from ..messages import Message
from .call_text import (
    attempt_text,
    messages_text,
    outcome_text,
    request_text,
    run_finished_text,
    run_started_text,
    tool_finished_text,
)
from .logger import Logger
from .private_directory import make_directory
from .records import (
    AttemptFinished,
    AttemptStarted,
    CallFinished,
    CallStarted,
    Record,
    RunFinished,
    RunStarted,
    ToolFinished,
)
from .redact import exception_text, mask
from .slug import slug

RUN_FILE = "run.yaml"
BASES = 32  # files that new calls may refer to: about as many conversations as run side by side
_APPEND = os.O_WRONLY | os.O_APPEND | getattr(os, "O_BINARY", 0)


@dataclass(slots=True, eq=False)
class _Base:
    """A file and the messages it holds. The references keep their identities from being reused."""

    file: str
    messages: Sequence[Message]
    held: int
    last: Message
    reply: Message | None = None

    def shared_with(self, messages: Sequence[Message]) -> int:
        """Return how many of the messages this file holds, 0 if theirs begin differently."""
        if not all(map(is_, self.messages, messages)):
            return 0
        followed = len(messages) > self.held and messages[self.held] is self.reply
        return self.held + followed


class _Request(NamedTuple):
    """What many calls have in common, laid out once."""

    key: tuple[object, ...]
    stage: str
    identifier: str
    model: str
    text: str


@dataclass(slots=True)
class _OpenCall:
    file: str
    base: _Base | None = None
    attempts: int = 0
    started: str = ""
    corrections: Sequence[Message] = ()
    written: list[Message] = field(default_factory=list)


class CallLog:
    """An observer that writes `<run_dir>/<stage>/<NNNN>-<identifier>.yaml` and `run.yaml`.

    Files are for the owner's eyes only (0600). When the disk refuses, the log warns once and is
    off for the rest of the run: a model call never fails because of it.
    """

    def __init__(self, run_dir: Path, logger: Logger) -> None:
        self._directory = str(run_dir)
        self._logger = logger
        self._last: _Request | None = None
        self._numbers: Iterator[int] | None = None
        self._calls: dict[int, _OpenCall] = {}
        self._bases: deque[_Base] = deque(maxlen=BASES)
        self._models: dict[int, str] = {}
        self._off = False
        self._turn = Lock()  # a run may go on in several threads

    def __call__(self, record: Record) -> None:
        """Write the record; what has no place in the files is ignored."""
        with self._turn:
            if self._off:
                return
            try:
                self._write(record)
            except OSError as error:
                self._off = True
                self._calls.clear()
                self._bases.clear()
                self._logger.warn(f"the call log is off for this run: {exception_text(error)}")

    def _write(self, record: Record) -> None:
        match record:
            case CallStarted():
                self._begin_call(record)
            case AttemptStarted():
                self._begin_attempt(record)
            case AttemptFinished():
                self._end_attempt(record)
            case CallFinished():
                self._end_call(record)
            case RunStarted() | RunFinished() | ToolFinished():
                _append(self._open(RUN_FILE, os.O_CREAT), self._run_event(record))

    def _begin_call(self, record: CallStarted) -> None:
        base = self._find_base(record.messages)
        request = self._request(record)
        number, file, descriptor = self._create(request)
        head = f'call: {number}\nrun: {record.run}\ntime: "{_now()}"\n'
        _append(descriptor, head + request.text + messages_text(record.messages, base))
        self._models[record.run] = request.model
        self._calls[record.call] = call = _OpenCall(file)
        if messages := record.messages:
            call.base = _Base(file, messages, len(messages), messages[-1])
            self._bases.append(call.base)

    def _begin_attempt(self, record: AttemptStarted) -> None:
        if call := self._calls.get(record.call):
            call.started, call.corrections = _now(), record.corrections

    def _end_attempt(self, record: AttemptFinished) -> None:
        if not (call := self._calls.get(record.call)):
            return
        new = [m for m in call.corrections if not any(m is known for known in call.written)]
        text = attempt_text(record, new, call.started or _now(), call.attempts == 0)
        _append(self._open(call.file), text)
        call.attempts += 1
        reply = record.reply.message if record.reply else None
        if call.base:
            call.base.reply = reply
        call.written += [*new, reply] if reply else new

    def _end_call(self, record: CallFinished) -> None:
        if call := self._calls.pop(record.call, None):
            _append(self._open(call.file), outcome_text(record))

    def _run_event(self, record: RunStarted | RunFinished | ToolFinished) -> str:
        now = _now()
        match record:
            case RunStarted():
                return run_started_text(record, now)
            case ToolFinished():
                return tool_finished_text(record, now)
        return run_finished_text(record, self._models.pop(record.run, None), now)

    def _request(self, record: CallStarted) -> _Request:
        names = (record.identifier, record.stage, record.model, record.schema)
        key = (*names, dict(record.settings), tuple(record.tools))
        if self._last is None or self._last.key != key:
            stage, identifier = slug(mask(record.stage)), slug(mask(record.identifier))
            model = mask(record.model)
            self._last = _Request(key, stage, identifier, model, request_text(record))
        return self._last

    def _find_base(self, messages: Sequence[Message]) -> tuple[str, int] | None:
        """Return the file that holds most of the messages, from the first one on, and how many."""
        total = len(messages)
        likely = [b for b in self._bases if b.held <= total and messages[b.held - 1] is b.last]
        for base in sorted(likely, key=lambda base: base.held, reverse=True):
            if shared := base.shared_with(messages):
                self._bases.remove(base)
                self._bases.append(base)
                return base.file, shared
        return None

    def _create(self, request: _Request) -> tuple[int, str, int]:
        """Make the next file of the run; return its number, name and descriptor."""
        if self._numbers is None:
            taken = [number for number, _ in numbered(Path(self._directory))]
            self._numbers = count(max(taken, default=0) + 1)
        while True:
            number = next(self._numbers)
            file = f"{request.stage}/{number:04d}-{request.identifier}.yaml"
            try:
                return number, file, self._open(file, os.O_CREAT | os.O_EXCL)
            except FileExistsError:
                if not os.path.exists(f"{self._directory}/{file}"):
                    raise  # it is the directory whose name is taken

    def _open(self, file: str, flags: int = 0) -> int:
        path = f"{self._directory}/{file}"
        try:
            return os.open(path, _APPEND | flags, 0o600)
        except FileNotFoundError:
            if not flags & os.O_CREAT:
                raise
            make_directory(Path(path).parent, Path(self._directory).parent)
            return os.open(path, _APPEND | flags, 0o600)


def numbered(run_dir: Path) -> list[tuple[int, Path]]:
    """Return the files of a run's calls with their numbers, in no order."""
    found = [(path.name.partition("-")[0], path) for path in run_dir.glob("*/*-*.yaml")]
    return [(int(number), path) for number, path in found if number.isascii() and number.isdigit()]


def _append(descriptor: int, text: str) -> None:
    """Append the text, whole or not at all, and close the file.

    It is opened for each record: files that many calls keep open would take the descriptors that
    their connections need.
    """
    data = text.encode()
    try:
        written = os.write(descriptor, data)
        if written < len(data):
            os.ftruncate(descriptor, os.fstat(descriptor).st_size - written)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    finally:
        os.close(descriptor)


def _now() -> str:
    now = time.time()
    return f"{_second(int(now))}.{int(now * 1000) % 1000:03d}Z"


@lru_cache(maxsize=1)
def _second(seconds: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))
