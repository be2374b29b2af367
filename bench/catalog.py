"""What the driver knows of the adapters: their constants, read without importing a peer."""

import ast
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "adapters"
PEERS = [
    *("openai_sdk", "anthropic_sdk", "pydantic_ai", "agno", "openai_agents", "langgraph"),
    *("smolagents", "fastapi_fullstack", "google_agents_cli"),
]
OURS = ["agentkit", "agentkit_openai", "agentkit_anthropic", "agentkit_litellm"]
ORDER = ["raw_socket", "raw_httpx2", "raw_httpx", *OURS, *PEERS]


@dataclass(frozen=True)
class AdapterInfo:
    """An adapter's constants.

    `project` holds the answers with which the template is rendered; `generate` is the command of a
    peer that makes projects and has nothing else to measure.
    """

    name: str
    title: str
    import_statement: str
    venv: str
    environment: dict[str, str] = field(default_factory=dict)
    project: dict[str, str] | None = None
    generate: tuple[str, ...] = ()


def read(name: str) -> AdapterInfo:
    """Read one adapter's constants; exit with one line if there is no such adapter."""
    path = FOLDER / f"{name}.py"
    if not path.is_file() or name == "__init__":
        raise SystemExit(f"no adapter {name!r}; there are: {', '.join(names())}")
    constants = _constants(path)
    return AdapterInfo(
        name=name,
        title=constants["TITLE"],
        import_statement=constants.get("IMPORT", ""),
        venv=constants.get("VENV", name),
        environment=constants.get("ENVIRONMENT", {}),
        project=constants.get("PROJECT"),
        generate=constants.get("GENERATE", ()),
    )


def names() -> list[str]:
    """Return all adapters, the floors first, then ours, then the peers."""
    found = {path.stem for path in FOLDER.glob("*.py")} - {"__init__"}
    known = [name for name in ORDER if name in found]
    return known + sorted(found - set(known))


def _constants(path: Path) -> dict[str, Any]:
    wanted = {"TITLE", "IMPORT", "VENV", "ENVIRONMENT", "PROJECT", "GENERATE"}
    constants = {}
    for node in ast.parse(path.read_text()).body:
        name = _assigned_name(node)
        if name in wanted and isinstance(node, ast.Assign | ast.AnnAssign) and node.value:
            constants[name] = ast.literal_eval(node.value)
    return constants


def _assigned_name(node: ast.stmt) -> str:
    target: ast.expr | None = None
    if isinstance(node, ast.AnnAssign):
        target = node.target
    elif isinstance(node, ast.Assign):
        target = node.targets[0]
    return target.id if isinstance(target, ast.Name) else ""
