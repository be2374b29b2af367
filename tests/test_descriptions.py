"""Any description: no text of the user's can break a generated file."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from conftest import Render
from test_files import parse_all
from test_names import answers_of

DESCRIPTIONS = {
    "empty": "",
    "quotes": "\"double\" 'single' \"\"\"three\"\"\" '''three'''",
    "backslashes": "C:\\new\\table \\",
    "jinja": "{{ project_name }} {% raw %} {# comment #} {{ 7 * 7 }} {%",
    "newlines": "first\nsecond\r\nthird\n\n# heading\n",
    "vietnamese": "Trợ lý từ vựng tiếng Việt: hỏi là trả lời",
    "emoji": "\U0001f916 and \U0001f468\u200d\U0001f4bb",
    "control": "bell \x07 del\x7f escape\x1b[31m nel\x85 separators\u2028\u2029 nul\x00",
    "toml": "]]\n[tool.evil]\nkey = 1 #",
    "yaml": "- a: b\n  c: !!python/object:os.system {}\n...\n---\n%TAG",
    "markdown": "```\n<script>alert(1)</script>\n| a | b |\n",
    "number": "123",
    "boolean": "no",
    "long": "word " * 2000,
}


@pytest.mark.parametrize("text", DESCRIPTIONS.values(), ids=DESCRIPTIONS)
def test_any_description_leaves_every_file_intact(render: Render, text: str) -> None:
    """Python compiles, TOML and YAML parse, and the answer is stored as it was given."""
    project = render(project_description=text)
    parse_all(project)
    assert answers_of(project)["project_description"] == text
    settings = tomllib.loads((project / "pyproject.toml").read_text(encoding="utf-8"))
    assert set(settings["tool"]) == {"hatch", "ruff", "mypy", "pytest"}
    described = settings["project"].get("description", "")
    assert not set(described) & set(map(chr, [*range(32), 127, 0x85, 0x2028, 0x2029]))
    assert described.split()[:1] == text.split()[:1]


def test_a_description_is_text_to_jinja(render: Render) -> None:
    """Braces in an answer are not a template, in no file and at no later rendering."""
    project = render(project_description="{{ 7 * 7 }} {% raw %}")
    render(project_description="{{ 7 * 7 }} {% raw %}", overwrite=True)
    for name in ("README.md", "pyproject.toml", ".copier-answers.yml"):
        assert "{{ 7 * 7 }} {% raw %}" in (project / name).read_text(encoding="utf-8")


def test_a_description_stays_out_of_python(render: Render) -> None:
    """Quotes in a docstring would be reformatted, so the text is in no Python file."""
    project = render(project_description="unmistakable words")
    found = [p for p in project.rglob("*.py") if "unmistakable" in p.read_text(encoding="utf-8")]
    assert not found


@pytest.mark.parametrize("name", ["a", "n" * 80])
def test_the_users_code_is_formatted_for_names_of_any_length(render: Render, name: str) -> None:
    """`ruff format` and `ruff check` have nothing to say about the generated files."""
    project = render(project_name=name, model=f"chat://vllm/{'m' * 120}")
    for command in (["format", "--check"], ["check"]):
        arguments = [sys.executable, "-m", "ruff", *command, "--no-cache"]
        files = sorted(project.glob("src/*/*.py"))
        done = subprocess.run([*arguments, *files], cwd=project, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr


def test_the_readme_shows_the_description(render: Render, tmp_path: Path) -> None:
    """What the user wrote is the first thing a reader sees, without control characters."""
    render(project_description="Teaches words.\n\nKindly\x07.")
    readme = (tmp_path / "my-agent" / "README.md").read_text(encoding="utf-8")
    assert readme.startswith("# my-agent\n\nTeaches words.\n\nKindly.\n\n")
