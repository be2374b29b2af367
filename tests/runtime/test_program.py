"""`ask` as a process of its own."""

from __future__ import annotations

import subprocess
import sys

import pytest

from .program import LONG
from .pseudo_terminal import MODULE, child_environment


@pytest.mark.skipif(sys.platform == "win32", reason="Windows reports a closed pipe otherwise")
def test_a_reader_that_goes_away_is_no_error() -> None:
    """`ask … | head` ends without a word."""
    with subprocess.Popen(
        [sys.executable, "-m", MODULE, "ask", "long"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=child_environment(),
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert len(process.stdout.read(10)) < len(LONG)
        process.stdout.close()
        assert process.stderr.read() == b""


def test_ask_imports_neither_rich_nor_yaml() -> None:
    """An answer waits for no import that only other commands need."""
    code = (
        f"import sys, {MODULE} as program\n"
        "try: program.run(program.build_agent, 'x')\n"
        "finally: print(sorted({'rich', 'yaml', 'dotenv', 'readline'} & set(sys.modules)))"
    )
    arguments = [sys.executable, "-c", code, "ask", "hello"]
    result = subprocess.run(
        arguments, env=child_environment(), capture_output=True, text=True, check=True, timeout=60
    )
    assert result.stdout == "You said: hello\n[]\n"
