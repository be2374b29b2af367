"""Fixtures of agentkit's tests, and what holds for all of them in whatever project they stand.

Async tests need no marker, warnings are errors, nothing reaches the network (with the fixture
`loopback` this machine is open), keys and proxies are gone, the current directory is a fresh one.
Markers: `checklist("…")` names the line of the checklist that a test stands for; `virtual_time`
runs it on a clock that jumps.
"""

from __future__ import annotations

import asyncio
import io
import json
import os
import re
import sys
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pytest

from .network_guard import guard
from .virtual_time import VirtualTimeLoop

if TYPE_CHECKING:
    from ..llm.provider import Provider
    from ..llm.requester import LlmRequester
    from ..observability.cost_tracker import CostTracker
    from ..observability.logger import Logger
    from ..observability.run_context import RunContext
    from ..retry import Backoff
    from .fake_server import FakeServer

CHECKLIST = (
    *("imports", "tests", "requester", "agent", "compactor"),
    *("run_ids", "logger", "costs", "artifacts", "secrets"),
)
REPORT = "AGENTKIT_REPORT"  # names the file that the outcome is written to
MODEL = "chat://openai/gpt-5-mini?apiKey=sk-test-0123456789"
_ENVIRONMENT = re.compile(
    r"(_API_KEY|_BASE_URL|_TOKEN|_SECRET|_PASSWORD|_ACCESS_KEY|_SECRET_KEY|_PROXY)$|^AGENT_MODEL$"
)

_outcomes: dict[str, tuple[str, list[str]]] = {}  # of this process's session, by test
_folders = count(1)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", f"checklist(line): one of {', '.join(CHECKLIST)}")
    config.addinivalue_line("markers", "virtual_time: run on a clock that jumps to the next timer")


def pytest_collectstart(collector: pytest.Collector) -> None:
    # A conftest's hooks are called for its own folder only, so the user's tests stay untouched.
    if isinstance(collector, pytest.Module):
        collector.add_marker(pytest.mark.anyio)
        collector.add_marker(pytest.mark.filterwarnings("error"))


@pytest.hookimpl(wrapper=True)
def pytest_pycollect_makeitem(collector: pytest.Collector) -> Generator[None, object, object]:
    with _only_anyio(collector.config):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    with _only_anyio(item.config):
        return (yield)


@contextmanager
def _only_anyio(config: pytest.Config) -> Iterator[None]:
    # pytest-asyncio in auto mode, which the user's tests may want, takes every async test and
    # fixture; in strict mode it leaves them alone.
    before = config.getoption("asyncio_mode", None)
    config.option.asyncio_mode = "strict"
    try:
        yield
    finally:
        config.option.asyncio_mode = before


def pytest_itemcollected(item: pytest.Item) -> None:
    lines = [line for marker in item.iter_markers("checklist") for line in marker.args]
    if unknown := set(lines).difference(CHECKLIST):
        raise pytest.UsageError(f"{item.nodeid}: no line of the checklist: {sorted(unknown)}")
    item.user_properties.append(("checklist", lines))


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    properties: dict[str, Any] = dict(report.user_properties)
    if "checklist" not in properties:
        return
    before = _outcomes.get(report.nodeid, ("passed", []))[0]
    outcome = before if report.outcome == "passed" or before == "failed" else report.outcome
    _outcomes[report.nodeid] = (outcome, properties["checklist"])


def pytest_collectreport(report: pytest.CollectReport) -> None:
    if report.failed:
        _outcomes[report.nodeid] = ("failed", [])


def pytest_sessionfinish(session: pytest.Session) -> None:
    path = os.environ.get(REPORT)
    if path and not hasattr(session.config, "workerinput"):  # with xdist, the controller writes
        lines = {line: _count(line) for line in CHECKLIST}
        Path(path).write_text(json.dumps({**_count(None), "checklist": lines}), encoding="utf-8")


def _count(line: str | None) -> dict[str, int]:
    outcomes = [outcome for outcome, lines in _outcomes.values() if line is None or line in lines]
    return {outcome: outcomes.count(outcome) for outcome in ("passed", "failed", "skipped")}


@pytest.fixture
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, Any]]:
    """Async tests run on asyncio, on the loop that their marker asks for."""
    virtual = request.node.get_closest_marker("virtual_time") is not None
    return "asyncio", {"loop_factory": VirtualTimeLoop} if virtual else {}


@pytest.fixture
def tmp_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new folder. Pytest's own fixture also keeps links, which cost more than most tests."""
    return tmp_path_factory.mktemp(f"test{next(_folders)}", numbered=False)


@pytest.fixture
def loopback() -> None:
    """Lets a test connect to its own machine."""


@pytest.fixture(autouse=True)
def isolation(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """No network, no keys, no files outside `tmp_path`, no state of another test."""
    # On Windows every event loop connects to itself through loopback.
    loopback = "loopback" in request.fixturenames or sys.platform == "win32"
    guard(monkeypatch, loopback=loopback)
    for name in list(os.environ):
        if _ENVIRONMENT.search(name.upper()):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    if redact := sys.modules.get(f"{__package__.rpartition('.')[0]}.observability.redact"):
        monkeypatch.setattr(redact, "_forms", {})


class MakeRequester(Protocol):
    """Builds a requester over a fake; what is not given is the test's own fixture or a default."""

    def __call__(
        self,
        fake: FakeServer,
        uri: str | Sequence[str] = MODEL,
        *,
        logger: Logger | None = None,
        costs: CostTracker | None = None,
        ctx: RunContext | None = None,
        provider: Provider | None = None,
        backoff: Backoff | None = None,
    ) -> LlmRequester: ...


# Imported inside the fixtures, a broken module fails the tests that use it, not the whole suite.


@pytest.fixture
def log() -> io.StringIO:
    """What `logger` wrote."""
    return io.StringIO()


@pytest.fixture
def logger(log: io.StringIO) -> Logger:
    """A logger that writes everything to `log`."""
    from ..observability.logger import Logger

    return Logger("test", "debug", log)


@pytest.fixture
def costs() -> CostTracker:
    """A cost tracker of the test's own."""
    from ..observability.cost_tracker import CostTracker

    return CostTracker()


@pytest.fixture
def ctx(logger: Logger, tmp_path: Path) -> RunContext:
    """A run context whose files go to `tmp_path / "debug"`."""
    from ..observability.run_context import create_run_context

    return create_run_context(logger, debug_dir=tmp_path / "debug")


@pytest.fixture
def sleeps() -> list[float]:
    """The seconds that `backoff` was asked to wait, in order."""
    return []


@pytest.fixture
def backoff(sleeps: list[float]) -> Backoff:
    """A backoff that records its waits in `sleeps` instead of waiting, without jitter."""
    from ..retry import Backoff

    async def sleep(seconds: float) -> None:
        sleeps.append(seconds)
        await asyncio.sleep(0)

    return Backoff(sleep=sleep, random=lambda: 0.0)


@pytest.fixture
def requester(
    logger: Logger, costs: CostTracker, ctx: RunContext, backoff: Backoff
) -> MakeRequester:
    """Builds an `LlmRequester` over a fake server."""
    from ..llm.requester import create_llm_requester

    own_logger, own_costs, own_ctx, own_backoff = logger, costs, ctx, backoff

    def make(
        fake: FakeServer,
        uri: str | Sequence[str] = MODEL,
        *,
        logger: Logger | None = None,
        costs: CostTracker | None = None,
        ctx: RunContext | None = None,
        provider: Provider | None = None,
        backoff: Backoff | None = None,
    ) -> LlmRequester:
        return create_llm_requester(
            uri,
            logger or own_logger,
            costs or own_costs,
            ctx or own_ctx,
            provider=provider,
            transport=fake.transport,
            backoff=backoff or own_backoff,
        )

    return make
