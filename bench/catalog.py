"""What the driver knows of the adapters: their constants, read without importing a peer."""

import ast
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "adapters"
SERVERS = Path(__file__).parent / "servers"
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
    request: dict[str, str] = field(default_factory=dict)  # of a server: what a client sends it
    text: str = ""  # of a server: the pattern of a piece of text in its stream


def read(name: str) -> AdapterInfo:
    """Read one adapter's constants; exit with one line if there is no such adapter."""
    paths = [folder / f"{name}.py" for folder in (FOLDER, SERVERS)]
    path = next((path for path in paths if path.is_file()), None)
    if path is None or name == "__init__":
        known = ", ".join([*names(), *server_names()])
        raise SystemExit(f"no adapter {name!r}; there are: {known}")
    constants = _constants(path)
    return AdapterInfo(
        name=name,
        title=constants["TITLE"],
        import_statement=constants.get("IMPORT", ""),
        venv=constants.get("VENV", name),
        environment=constants.get("ENVIRONMENT", {}),
        project=constants.get("PROJECT"),
        generate=constants.get("GENERATE", ()),
        request=constants.get("REQUEST", {}),
        text=constants.get("TEXT", ""),
    )


def names() -> list[str]:
    """Return all adapters, the floors first, then ours, then the peers."""
    found = {path.stem for path in FOLDER.glob("*.py")} - {"__init__"}
    known = [name for name in ORDER if name in found]
    return known + sorted(found - set(known))


def server_names() -> list[str]:
    """Return all servers, the floor first, then ours, then the peers'."""
    found = {path.stem for path in SERVERS.glob("*_server.py")}
    ours = ["raw_server", "agentkit_server"]
    return ours + sorted(found - set(ours))


def _constants(path: Path) -> dict[str, Any]:
    wanted = {"TITLE", "IMPORT", "VENV", "ENVIRONMENT", "PROJECT", "GENERATE", "REQUEST", "TEXT"}
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
