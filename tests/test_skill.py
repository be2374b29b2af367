"""SKILL.md is in the public format, and what it names exists."""

from __future__ import annotations

import re
import runpy
import shlex
import sys
from typing import Any

import pytest
import yaml

from answers import MODULES, SDKS
from sources import ROOT

TEXT = (ROOT / "SKILL.md").read_text(encoding="utf-8")
_, FRONT, BODY = TEXT.split("---\n", 2)
FRONT_MATTER: dict[str, Any] = yaml.safe_load(FRONT)
SETTINGS: dict[str, Any] = yaml.safe_load((ROOT / "copier.yml").read_text(encoding="utf-8"))
QUESTIONS = {
    name
    for name, question in SETTINGS.items()
    if not name.startswith("_") and question.get("when") is not False and "ask" not in question
} | {"project_description", "ci"}
DATA = re.findall(r"--data '?(\w+)=([^'`\n]+)", BODY)


def test_the_front_matter_is_that_of_the_format() -> None:
    """A name in lower case with dashes, at most 1,024 characters about it, no other keys."""
    assert FRONT_MATTER.keys() <= {"name", "description", "license", "compatibility", "metadata"}
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", FRONT_MATTER["name"])
    assert 0 < len(FRONT_MATTER["description"]) <= 1024
    assert len(FRONT_MATTER.get("compatibility", "")) <= 500
    assert len(BODY.splitlines()) < 500


def test_every_question_is_in_it() -> None:
    """The table of answers has all questions that are asked, and no other."""
    rows = re.findall(r"^\| `(\w+)` \| [^|]+ \| `--data", BODY, re.MULTILINE)
    assert set(rows) == QUESTIONS


@pytest.mark.parametrize(("name", "value"), DATA, ids=str)
def test_every_answer_in_it_can_be_given(name: str, value: str) -> None:
    """Questions and choices have these names."""
    assert name in QUESTIONS
    if name in ("sdks", "modules"):
        assert set(yaml.safe_load(value)) <= {"sdks": SDKS, "modules": MODULES}[name].keys()


@pytest.mark.parametrize("line", re.findall(r"^uvx .+$", BODY, re.MULTILINE))
def test_every_command_in_it_parses(
    line: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Copier's help for the command lists every option of it."""
    _, package, command, *arguments = shlex.split(line)
    assert package == f"copier>={SETTINGS['_min_copier_version'].removesuffix('.0')},<10"
    monkeypatch.setattr(sys, "argv", ["copier", command, "--help"])
    with pytest.raises(SystemExit):
        runpy.run_module("copier", run_name="__main__")
    known = set(re.findall(r"-{1,2}[\w-]+", capfd.readouterr().out))
    assert {part for part in arguments if part.startswith("-")} <= known


@pytest.mark.parametrize(
    "text", ["REMOVED although you had edited it", "CHANGED in the template, but your project"]
)
def test_the_lines_of_the_report_are_those_of_the_hook(text: str) -> None:
    """What an agent looks for is what is printed."""
    assert text in TEXT
    assert text in (ROOT / "hooks" / "update.py").read_text(encoding="utf-8")
