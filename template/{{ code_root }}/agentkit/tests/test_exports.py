"""The public names are there, and importing them costs nothing that is not needed."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from .test_structure import ROOT, SOURCES

PUBLIC = """
    Agent AgentError AgentkitError Appended ApprovalNeeded AuthenticationFailed BadRequest
    ConfigError ConnectionFailed ContextTooLong CostTracker FatalError FetchError Finished
    GenerateResult HistoryCompactor Image Limits LlmError LlmRequester LlmSummaryGenerator Logger
    MalformedReply MemorySessionStore Message ModelURI Overloaded QuotaExhausted RateLimited
    Retrying RunContext ScriptedProvider Session SessionStore SimpleHistoryCompactor
    SqliteSessionStore StoreConflict SummarizingHistoryCompactor SummaryGenerator Text TextDelta
    Thinking Tool ToolCall ToolContext ToolError ToolFinished ToolRegistry ToolResult ToolStarted
    TransientError UnknownModel Usage create_llm_requester create_run_context get_sub_debug_dir
    safe_sanitize tool
""".split()  # noqa: SIM905  sixty names are easier to read as text
HEAVY = {
    *("yaml", "genai_prices", "typer", "rich", "sqlite3", "mcp", "openai", "anthropic"),
    *("google.genai", "litellm", "trafilatura", "fastapi", "redis", "sqlalchemy", "dbos"),
}
PROBE = """
import json, sys
sys.path.append(sys.argv[1])  # last: the folder may hold a typing.py of the user's
import agentkit
print(json.dumps([*sys.modules]))
"""


def agentkit() -> ModuleType:
    """Return the package under test, whatever it is called here."""
    return importlib.import_module("..", __package__)


def test_public_names_are_sorted() -> None:
    """`__all__` is in order and has no name twice."""
    exported = agentkit().__all__
    assert exported == sorted(set(exported))


def test_public_names_are_there() -> None:
    """Other people's code imports these names: none may go away."""
    assert [name for name in PUBLIC if name not in agentkit().__all__] == []


def test_every_exported_name_exists() -> None:
    """`__all__` promises nothing that the package does not have."""
    assert [name for name in agentkit().__all__ if not hasattr(agentkit(), name)] == []


@pytest.mark.checklist("imports")
@pytest.mark.parametrize("name", SOURCES)
def test_module_imports(name: str) -> None:
    """Every module can be imported with the packages that are installed."""
    importlib.import_module(f"..{name}".removesuffix(".__init__"), __package__)


def test_importing_agentkit_loads_nothing_heavy(tmp_path: Path) -> None:
    """A fresh interpreter that imports agentkit has loaded no SDK, no CLI, no YAML, no database."""
    command = [sys.executable, "-c", PROBE, str(ROOT.parent)]
    result = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
    loaded = set(json.loads(result.stdout))
    assert "agentkit.messages" in loaded
    assert sorted(HEAVY & loaded) == []
