"""Project names: every folder gives a valid one, bad ones are refused."""

from __future__ import annotations

import keyword
import re
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from answers import MODULES, SDKS
from conftest import Render
from installed import needs_of
from sources import ROOT

FOLDERS = {
    "My Agent": "my-agent",
    "class": "class-agent",
    "mcp": "mcp-agent",
    "json": "json-agent",
    "rich": "rich-agent",
    "agentkit": "agentkit-agent",
    "Python.Dotenv": "python-dotenv-agent",
    "123-agent": "my-123-agent",
    "123": "my-123",
    "Trợ lý từ vựng": "tro-ly-tu-vung",
    "Tro\u031b\u0323 ly\u0301": "tro-ly",
    "Đường Về": "duong-ve",
    "Ä": "a",
    "日本": "my-agent",
    "--": "my-agent",
    "a" * 80: "a" * 80,
    "a" * 100: "a" * 80,
    "b" * 79 + "-c": "b" * 79,
    "null": "null",
    "[x]": "x",
    "it's {{ here }}": "it-s-here",
}


def answers_of(project: Path) -> dict[str, object]:
    text = (project / ".copier-answers.yml").read_text(encoding="utf-8")
    answers = yaml.safe_load(text)
    assert isinstance(answers, dict)
    return answers


@pytest.mark.parametrize("folder", FOLDERS)
def test_the_default_name_of_any_folder_is_valid(render: Render, folder: str) -> None:
    """The folder's name becomes a project name that packages, commands and folders can have."""
    project = render(folder)
    name = FOLDERS[folder]
    answers = answers_of(project)
    assert answers["project_name"] == name
    assert answers["code_root"] == f"src/{name.replace('-', '_')}"
    settings = tomllib.loads((project / "pyproject.toml").read_text(encoding="utf-8"))
    assert settings["project"]["name"] == name


@pytest.mark.parametrize("name", ["my-agent", "a", "a1-2b", "n" * 80, "yes", "null"])
def test_a_valid_name_is_kept(render: Render, name: str) -> None:
    """A name that is given is used as it stands, also where YAML would read something else."""
    assert answers_of(render("folder", project_name=name))["project_name"] == name


@pytest.mark.parametrize(
    "name",
    ["", "My Agent", "my_agent", "123-agent", "-a", "a-", "a--b", "Ä", "trợ-lý", "n" * 81, "a\n"],
)
def test_a_name_of_the_wrong_form_is_refused(render: Render, tmp_path: Path, name: str) -> None:
    """The error is one line that says what a name looks like, and nothing is written."""
    with pytest.raises(ValueError, match="lower-case letters") as refusal:
        render("folder", project_name=name)
    assert "\n" not in str(refusal.value)
    assert not (tmp_path / "folder").exists()


@pytest.mark.parametrize(
    "name", ["class", "json", "mcp", "python-dotenv", "yaml", "agentkit", "con"]
)
def test_a_reserved_name_is_refused(render: Render, tmp_path: Path, name: str) -> None:
    """A new project cannot hide a module that it needs; the error proposes a name."""
    with pytest.raises(ValueError, match=f"{name}-agent") as refusal:
        render("folder", project_name=name)
    assert "\n" not in str(refusal.value)
    assert not (tmp_path / "folder").exists()


def test_an_existing_project_may_have_any_name(render: Render, tmp_path: Path) -> None:
    """The repositories of rich or mcp can get agentkit as well."""
    (tmp_path / "rich").mkdir()
    (tmp_path / "rich" / "setup.py").touch()
    assert answers_of(render("rich"))["project_name"] == "rich"


def test_all_names_that_could_be_hidden_are_reserved(render: Render) -> None:
    """Keywords, this Python's standard library and every dependency are in the list."""
    text = (ROOT / "reserved.txt").read_text(encoding="utf-8")
    reserved = set(re.sub(r"\{#.*?#\}", "", text).split())
    needs = needs_of(render(sdks=list(SDKS), modules=list(MODULES)))
    packages = {re.split(r"[<>=\[]", need)[0].lower().replace("-", "_") for need in needs}
    modules = {name.lower() for name in sys.stdlib_module_names if not name.startswith("_")}
    assert not (packages | modules | {word.lower() for word in keyword.kwlist}) - reserved
