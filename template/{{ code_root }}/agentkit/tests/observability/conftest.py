"""Fixtures for the call log's tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from ...observability.call_log import CallLog
from ...observability.logger import Logger


@pytest.fixture
def run_dir(tmp_path: Path) -> Path:
    """Where `call_log` writes; not made yet."""
    return tmp_path / "debug" / "run-1"


@pytest.fixture
def call_log(run_dir: Path, logger: Logger) -> CallLog:
    """A call log that warns through `logger`."""
    return CallLog(run_dir, logger)
