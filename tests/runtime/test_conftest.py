"""What conftest promises to every test: no network, no keys, warnings as errors, a report."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from agentkit.tests import conftest
from agentkit.tests.conftest import CHECKLIST, REPORT


async def test_async_tests_need_no_marker() -> None:
    """This one has none and runs, on asyncio."""
    assert asyncio.get_running_loop().is_running()


def test_warnings_are_errors() -> None:
    """Whatever the project around says."""
    with pytest.raises(UserWarning, match="careful"):
        warnings.warn("careful", stacklevel=1)


@pytest.mark.parametrize("host", ["192.0.2.1", "127.0.0.1", "::1"])
def test_connections_are_refused(host: str) -> None:
    """No test reaches another machine, nor this one."""
    with socket.socket() as client, pytest.raises(pytest.fail.Exception, match="network"):
        client.connect((host, 9))


async def test_names_are_not_looked_up() -> None:
    """Asyncio's connections are caught at the name already."""
    with pytest.raises(pytest.fail.Exception, match="network"):
        await asyncio.open_connection("example.com", 80)


def test_loopback_is_open_for_those_who_ask(loopback: None) -> None:
    """The fixture opens this machine, and only that."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        socket.create_connection(server.getsockname()[:2]).close()
    with pytest.raises(pytest.fail.Exception, match="network"):
        socket.create_connection(("192.0.2.1", 9))


def test_keys_and_proxies_are_gone() -> None:
    """No key, base URL, model or proxy of the environment reaches a test."""
    names = {name.upper() for name in os.environ}
    assert not names & {"OPENAI_API_KEY", "OPENAI_BASE_URL", "AGENT_MODEL", "HTTPS_PROXY"}


def test_the_current_directory_is_a_fresh_one(tmp_path: Path) -> None:
    """Files that a test leaves behind are in nobody's way."""
    assert Path.cwd() == tmp_path
    assert list(tmp_path.iterdir()) == []


def test_the_outcome_is_reported(tmp_path: Path) -> None:
    """A session with AGENTKIT_REPORT leaves the counts of its tests, by line of the checklist."""
    report, ini = tmp_path / "report.json", tmp_path / "pytest.ini"
    ini.write_text("[pytest]\n")
    exports = Path(conftest.__file__).with_name("test_exports.py")
    tests = (
        f"{Path(__file__)}::test_keys_and_proxies_are_gone",
        f"{exports}::test_public_names_are_sorted",
        f"{exports}::test_module_imports[errors]",
        f"{exports}::test_module_imports[retry]",
    )
    command = [sys.executable, "-m", "pytest", "-p", "anyio", "-p", "no:cacheprovider"]
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    keys = dict.fromkeys(("OPENAI_API_KEY", "openai_base_url", "AGENT_MODEL", "https_proxy"), "x")
    settings = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    settings[REPORT] = str(report)
    result = subprocess.run(
        [*command, "-c", str(ini), *tests],
        env={**kept, **keys, **settings},
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert result.returncode == 0, result.stdout
    counts = json.loads(report.read_text(encoding="utf-8"))
    assert counts["checklist"]["imports"] == {"passed": 2, "failed": 0, "skipped": 0}
    assert (counts["passed"], counts["failed"], counts["skipped"]) == (3, 0, 0)
    assert tuple(counts["checklist"]) == CHECKLIST
