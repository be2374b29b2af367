"""The modules as a choice: what each brings, what main.py does with it, what a change leaves."""

from __future__ import annotations

import ast
import functools
from itertools import combinations
from pathlib import Path

import pytest

from answers import MODULES, Answers, everything
from conftest import Render
from installed import needs_of
from repositories import commit, copy, generate, git, template_with, update
from sources import CODE_ROOT, ROOT, expected_files, owners_of
from test_generated import run, start
from test_names import answers_of
from test_sdks import owned

KIT = "src/my_agent/agentkit"
KIT_SOURCE = ROOT / "template" / CODE_ROOT / "agentkit"
# What a user imports of each.
ENTRIES = {
    "mcp": {"mcp_server.py", "tools/mcp_client.py"},
    "local_fetcher": {"content/local_fetcher.py"},
    "brave": {"content/brave_search.py"},
    "jina": {"content/jina.py"},
    "server": {"server/app.py", "server/serve.py"},
    "redis": {"session/redis_store.py", "session/layered_store.py"},
    "postgres": {"session/postgres_store.py", "session/layered_store.py"},
    "durable": {"durable/agent.py"},
    "tracing": {"observability/tracing.py"},
}
PACKAGES = {
    "mcp": {"mcp"},
    "local_fetcher": {"pypdf"},
    "brave": set(),
    "jina": set(),
    "server": {"fastapi", "uvicorn", "sse-starlette"},
    "redis": {"redis"},
    "postgres": {"sqlalchemy[asyncio]", "asyncpg"},
    "durable": {"dbos"},
    "tracing": {"opentelemetry-api"},
}
TOOLS = ["get_word", "fetch_page", "brave_search", "jina_read", "jina_search"]
SUBSETS = [list(some) for size in (0, 1, 2, len(MODULES)) for some in combinations(MODULES, size)]
CHANGES = [["mcp", "brave", "redis"], list(MODULES), [], ["jina", "server", "tracing"]]
KEYS = {"BRAVE_API_KEY": "brave-0123456789", "JINA_API_KEY": "jina_0123456789abcdef"}
OFFLINE = ("--model", "chat://offline/echo")
IMPORTS = """
import sys
import my_agent.agentkit
names = [name.partition("agentkit.")[2] for name in sys.modules if "agentkit." in name]
print([n for n in names if n.split(".")[0] in ("content", "mcp_server") or "mcp_" in n])
print([n for n in ("mcp", "pypdf", "redis", "sqlalchemy", "asyncpg", "dbos") if n in sys.modules])
"""


@functools.cache
def imported_files(name: str) -> frozenset[str]:
    """Return the files of agentkit that one of its files imports, by their paths in it."""
    path = KIT_SOURCE / name
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = Path(name).parents[node.level - 1] / (node.module or "").replace(".", "/")
            stems = [base, *(base / alias.name for alias in node.names)]
            found |= {f"{stem.as_posix()}.py" for stem in stems}
    return frozenset(other for other in found if (KIT_SOURCE / other).is_file())


def kit_files(answers: Answers) -> set[str]:
    """Return the Python files of agentkit in a project with these answers, by their paths in it."""
    names = {name for name in expected_files(answers) if name.endswith(".py")}
    return {name.removeprefix(f"{KIT}/") for name in names if name.startswith(f"{KIT}/")}


def needed(starts: set[str]) -> set[str]:
    """Return these files and all that they import in turn."""
    found: set[str] = set()
    waiting = list(starts)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += imported_files(name)
    return found


def test_no_file_imports_one_that_was_not_chosen() -> None:
    """Whatever brings a file also brings all that it imports: so for every choice."""
    brings = {name: owners_of(f"{CODE_ROOT}/agentkit/{name}") for name in kit_files(everything())}
    missing = {
        (name, other)
        for name, owners in brings.items()
        for other in imported_files(name)
        if brings[other] and not (owners and owners <= brings[other])
    }
    assert not missing


@pytest.mark.parametrize("modules", SUBSETS, ids="+".join)
def test_the_files_of_a_module_are_those_that_it_imports(modules: list[str]) -> None:
    """No file too many: what is not the core's is imported by something that was chosen."""
    core = kit_files({"modules": []})
    brought = {name for name in kit_files({"modules": modules}) - core if "tests/" not in name}
    starts = set().union(*(ENTRIES[module] for module in modules))
    packages = {name for name in brought if name.endswith("__init__.py")}
    assert brought - packages == needed(starts) - core


@pytest.mark.parametrize("module", MODULES)
def test_each_module_brings_its_packages(render: Render, module: str) -> None:
    """What a project depends on is the core's packages and the module's."""
    added = set(needs_of(render(modules=[module]))) - set(needs_of(render("other")))
    assert {need.split(">")[0] for need in added} == PACKAGES[module]


def test_the_code_around_agentkit_is_clean(render: Render, tmp_path: Path) -> None:
    """main.py imports what it uses, in order, and is formatted, whatever was chosen."""
    for number, modules in enumerate(SUBSETS):
        render(f"agent-{number}", modules=modules)  # a long name would break a line of imports
    run(tmp_path, "ruff", "check", "--no-cache")
    run(tmp_path, "ruff", "format", "--check", "--no-cache")


def test_importing_agentkit_loads_no_module(render_whole: Render) -> None:
    """With everything chosen, `import agentkit` costs what it costs without."""
    done = start(render_whole(modules=list(MODULES)), "-c", IMPORTS)
    assert done.stdout == "[]\n[]\n", done.stderr


def test_the_agent_has_the_tools_of_the_modules(render_whole: Render) -> None:
    """`tools` lists them beside the agent's own."""
    done = start(render_whole(modules=list(MODULES)), "-m", "my_agent", "tools", **KEYS)
    assert (done.returncode, done.stderr) == (0, "")
    assert [name for name in TOOLS if name not in done.stdout] == []


@pytest.mark.parametrize("command", [("tools",), ("ask", "hello", *OFFLINE)], ids=" ".join)
def test_a_missing_key_costs_its_tools_one_line(
    render_whole: Render, command: tuple[str, ...]
) -> None:
    """The line names the tools and the variable; the agent works without them."""
    project = render_whole(modules=["brave", "jina"])
    done = start(project, "-m", "my_agent", *command)
    assert done.returncode == 0, done.stderr
    brave, jina = done.stderr.splitlines()
    assert "brave_search is off: BRAVE_API_KEY is not set" in brave
    assert "jina_read and jina_search are off: JINA_API_KEY is not set" in jina
    assert ("get_word" if command == ("tools",) else "hello") in done.stdout


def test_a_server_of_main_py_that_fails_is_said_in_one_line(render_whole: Render) -> None:
    """A name in MCP_SERVERS is all it takes; `tools` says what is wrong with the server."""
    project = render_whole(modules=["mcp"])
    path = project / "src/my_agent/main.py"
    text = path.read_text(encoding="utf-8")
    example = '    # "time": {"type": "stdio", "command": "uvx", "args": ["mcp-server-time"]},\n'
    assert example in text
    path.write_text(text.replace(example, example.replace("# ", "").replace("uvx", "no-such")))
    done = start(project, "-m", "my_agent", "tools")
    assert done.returncode == 0
    assert "time failed to load: " in done.stderr
    assert "no-such" in done.stderr
    assert "get_word" in done.stdout


@pytest.mark.parametrize("module", ["brave", "jina"])
def test_the_environment_example_names_the_keys_of_modules(render: Render, module: str) -> None:
    """`.env.example` has an empty line for the key of each chosen module, and for no other."""
    lines = (render(modules=[module]) / ".env.example").read_text(encoding="utf-8").splitlines()
    keys = {line for line in lines if line in ("BRAVE_API_KEY=", "JINA_API_KEY=")}
    assert keys == {f"{module.upper()}_API_KEY="}


@pytest.fixture(scope="session")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release with a sample of all files, and one with those of the modules."""
    return template_with(tmp_path_factory.mktemp("modules") / "template", MODULES)


def test_changing_the_modules_leaves_nothing_behind(repository: Path, tmp_path: Path) -> None:
    """On, off and on again: files, tests and dependencies are those of a fresh project."""
    project = generate(repository, tmp_path / "my-agent", "v1.1.0")
    for number, modules in enumerate(CHANGES):
        update(project, modules=modules)
        fresh = tmp_path / str(number) / "my-agent"
        copy(repository, fresh, modules=modules)
        assert owned(project) == owned(fresh), modules
        folders = [path for path in (project / KIT).rglob("*") if path.is_dir()]
        assert not [folder for folder in folders if not any(folder.iterdir())]
        commit(project)


def test_a_project_without_modules_stays_as_it_is(repository: Path, tmp_path: Path) -> None:
    """An update to a release with more files brings none of the modules'."""
    project = generate(repository, tmp_path / "my-agent", "v1.0.0")
    update(project)
    assert answers_of(project)["modules"] == []
    assert git(project, "status", "--porcelain").splitlines() == [" M .copier-answers.yml"]
