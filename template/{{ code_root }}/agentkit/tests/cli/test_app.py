"""Tests of the command line as a whole: its commands, wrong uses, and `.env`."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import typer

from ...agent.agent import Agent
from ...cli import optional
from ...cli.conversation import Setup
from ...cli.optional import is_generated
from ...observability.run_context import RunContext
from .commands import PROG, echo_agent, invoke, only_line

KEY = "sk-from-the-env-file-0123456789"


def test_all_commands_are_listed() -> None:
    """Help lists every command, those of modules only where the project has them."""
    shown = invoke(echo_agent, "--help").stdout
    listed = {name for name in ("ask", "chat", "runs", "tools") if f"\n  {name} " in shown}
    assert listed == {"ask", "chat", "runs", "tools"}
    assert ("\n  serve " in shown) is is_generated("server")
    assert ("\n  mcp " in shown) is is_generated("mcp_server")


@pytest.mark.parametrize(
    "arguments", [("talk",), ("ask",), ("ask", "x", "--loud"), ("ask", "x", "y")]
)
def test_a_wrong_use_ends_with_2(arguments: tuple[str, ...]) -> None:
    """Unknown commands and options, and arguments too few or too many, are refused."""
    result = invoke(echo_agent, *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "Traceback" not in result.stderr


def test_a_module_that_was_not_generated_says_how_to_add_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line names the module and the command that adds it and keeps those that are there."""
    files = {"durable": "nowhere.at_all", "mcp": "cli.chat", "server": "none", "redis": "cli.ask"}
    monkeypatch.setattr(optional, "_MODULES", files)
    with pytest.raises(typer.Exit) as ended:
        optional.run_module(Setup(echo_agent, PROG), "none", "server", ())
    assert ended.value.exit_code == 2
    line = only_line(capsys.readouterr().err)
    assert "without the module server; " in line
    assert "copier update --trust --defaults --data 'modules=[mcp,server,redis]'" in line


def test_env_is_loaded_before_anything_else() -> None:
    """Variables of `.env` are there when the agent is built; those that are set stay."""
    Path(".env").write_text("FROM_FILE=yes\nPATH=changed\n", encoding="utf-8")
    seen: dict[str, str] = {}

    def build(model: str | None = None, ctx: RunContext | None = None) -> Agent:
        seen.update(os.environ)
        return echo_agent(model, ctx)

    try:
        assert invoke(build, "ask", "x").exit_code == 0
    finally:
        os.environ.pop("FROM_FILE", None)
    assert seen["FROM_FILE"] == "yes"
    assert seen["PATH"] != "changed"


def test_a_key_in_env_is_masked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key that stands in `.env` never comes out in a message."""
    monkeypatch.setenv("SOME_API_KEY", "")
    monkeypatch.delenv("SOME_API_KEY")
    Path(".env").write_text(f"SOME_API_KEY={KEY}\n", encoding="utf-8")
    result = invoke(echo_agent, "ask", "x", "--model", f"chat://offline/{KEY}")
    assert result.exit_code == 1
    assert KEY not in result.stderr
    assert "***" in result.stderr


def test_an_env_file_with_nul_is_one_line() -> None:
    """UTF-16 without a mark reads as text full of NULs, which no variable can hold."""
    Path(".env").write_text("A=b\0c", encoding="utf-8")
    result = invoke(echo_agent, "ask", "x")
    assert result.exit_code == 1
    line = only_line(result.stderr)
    assert line == "error: .env holds a NUL character; save it anew as UTF-8 text"


def test_an_env_file_in_another_encoding_is_one_line() -> None:
    """A `.env` that is no UTF-8 is named, with what to do."""
    Path(".env").write_text("A=b", encoding="utf-16")
    result = invoke(echo_agent, "ask", "x")
    assert result.exit_code == 1
    assert only_line(result.stderr) == "error: .env is not UTF-8 text; save it as UTF-8"
