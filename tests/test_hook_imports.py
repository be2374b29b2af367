"""After an update the hook names the lines that import what is no longer there."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from hook_project import HOOKS, write

sys.path.insert(0, str(HOOKS))

from imports import find_broken
from project import Project

KIT = "src/shop/agentkit"
GONE = [f"{KIT}/content/__init__.py", f"{KIT}/content/jina.py", f"{KIT}/mcp_server.py"]
STAYED = [f"{KIT}/__init__.py", f"{KIT}/tools/__init__.py"]


def found(folder: Path, path: str, source: str, code_root: str = "src/shop") -> list[str]:
    """Return what is broken in a project whose last commit still had everything."""
    write(folder / path, source)
    project = Project("update", code_root, False, "uv", "shop", folder)
    for name in STAYED:
        write(folder / name, "")
    return find_broken(project, dict.fromkeys([*GONE, *STAYED, path], "id"))


@pytest.mark.parametrize(
    "statement",
    [
        "from .agentkit.content.jina import JinaScraper",
        "from .agentkit.content import jina",
        "from .agentkit.content import JinaScraper, jina as j",
        "from shop.agentkit.content.jina import JinaScraper",
        "import shop.agentkit.content.jina as jina",
        "from src.shop.agentkit.content.jina import JinaScraper",
    ],
)
def test_every_form_of_import_is_found(tmp_path: Path, statement: str) -> None:
    """Relative or absolute, of the module or from it: file, line and module are named."""
    source = f'"""Mine."""\n\ndef later():\n    {statement}\n'
    lines = found(tmp_path, "src/shop/main.py", source)
    assert f"src/shop/main.py:4: {KIT}/content/jina.py" in lines


def test_a_file_of_the_users_inside_agentkit_is_looked_at(tmp_path: Path) -> None:
    """Its imports are relative, so the word agentkit need not be in it."""
    source = "from ..mcp_server import serve\n"
    lines = found(tmp_path, f"{KIT}/tools/mine.py", source)
    assert lines == [f"{KIT}/tools/mine.py:1: {KIT}/mcp_server.py"]


def test_a_package_beside_the_users_is_found(tmp_path: Path) -> None:
    """With code_root "." the name is agentkit alone."""
    write(tmp_path / "agentkit/__init__.py", "")
    write(tmp_path / "app.py", "import agentkit.mcp_server\n")
    project = Project("update", ".", True, "uv", "shop", tmp_path)
    head = dict.fromkeys(["agentkit/__init__.py", "agentkit/mcp_server.py", "app.py"], "id")
    assert find_broken(project, head) == ["app.py:1: agentkit/mcp_server.py"]


@pytest.mark.parametrize(
    "source",
    [
        "from .agentkit import Agent\n",
        "from .agentkit.tools import tool\n",
        "from other.agentkit.content.jina import JinaScraper\n",
        "text = 'from .agentkit.content import jina'\n",
        "<<<<<<< agentkit\n",
        "\x00 agentkit\n",
    ],
)
def test_nothing_else_is_named(tmp_path: Path, source: str) -> None:
    """What is still there, another agentkit, text, and a file that is not Python."""
    assert found(tmp_path, "src/shop/main.py", source) == []


def test_without_a_loss_no_file_is_read(tmp_path: Path) -> None:
    """A project that lost nothing has no broken imports, and its files may be missing."""
    project = Project("update", "src/shop", False, "uv", "shop", tmp_path)
    assert find_broken(project, {"src/shop/main.py": "id"}) == []
