"""Which files a project gets, and whether they are well formed."""

from __future__ import annotations

import functools
import os
import tomllib
from pathlib import Path
from typing import Any

import jinja2
import jinja2.meta
import pathspec
import pytest
import yaml

from answers import Answers, covering, every, everything, label, pairs, rendered
from conftest import Render
from installed import needs_of
from sources import ROOT, expected_files, files_of, in_project, template_files

SHOP = "src/shop"


@functools.cache
def exclusions() -> list[tuple[jinja2.Template, list[str]]]:
    """Return the entries of `_exclude` in copier.yml, each with the names that it asks for."""
    settings = yaml.safe_load((ROOT / "copier.yml").read_text(encoding="utf-8"))
    environment = jinja2.Environment(undefined=jinja2.StrictUndefined)
    return [
        (
            environment.from_string(text),
            sorted(jinja2.meta.find_undeclared_variables(environment.parse(text))),
        )
        for text in settings["_exclude"]
    ]


@functools.cache
def matched(pattern: str) -> frozenset[str]:
    """Return the files of a whole project that a line of `_exclude` is about."""
    spec = pathspec.PathSpec.from_lines("gitignore", [pattern.removeprefix("!")])
    names = [in_project(name, SHOP) for name in template_files()]
    return frozenset(name for name in names if spec.match_file(name))


@functools.cache
def effect(
    entry: int, context: tuple[tuple[str, Any], ...]
) -> tuple[frozenset[str], frozenset[str]]:
    """Return what an entry takes away and what it brings back: the last line for a file counts."""
    template, _ = exclusions()[entry]
    taken: frozenset[str] = frozenset()
    kept: frozenset[str] = frozenset()
    for line in template.render(dict(context)).splitlines():
        found = matched(line)
        taken, kept = (
            (taken - found, kept | found) if line[:1] == "!" else (taken | found, kept - found)
        )
    return taken, kept


def left_by_copier(answers: Answers, *, foreign: bool) -> set[str]:
    """Evaluate `_exclude` as Copier does; an entry that asks for the same is evaluated once."""
    facts = {"brings_packaging": foreign, "has_answers": False, "has_tests": False}
    context = {**answers, **facts, "_copier_operation": "copy", "code_root": SHOP}
    context = {name: tuple(v) if isinstance(v, list) else v for name, v in context.items()}
    left = {in_project(name, SHOP) for name in template_files()}
    for entry, (_, names) in enumerate(exclusions()):
        facts_used = tuple((name, context[name]) for name in names if name in context)
        taken, kept = effect(entry, facts_used)
        left = (left - taken) | kept
    return left


@pytest.mark.parametrize("foreign", [False, True], ids=["new", "existing"])
def test_every_combination_of_answers_selects_its_files(foreign: bool) -> None:
    """For all answers, new project or not, exactly the files of what was chosen are left."""
    for answers in every():
        expected = expected_files(answers, SHOP, foreign=foreign)
        assert left_by_copier(answers, foreign=foreign) == expected, answers


@pytest.mark.parametrize("answers", rendered(), ids=label)
def test_a_new_project_has_exactly_the_chosen_files(render_whole: Render, answers: Answers) -> None:
    """No file too many or too few, no empty folder, and every file can be parsed."""
    project = render_whole(**answers)
    assert files_of(project) == expected_files(answers)
    assert not [folder for folder, names, files in os.walk(project) if not names and not files]
    parse_all(project)


@pytest.mark.parametrize("answers", pairs(), ids=label)
def test_two_choices_together_are_well_formed(render: Render, answers: Answers) -> None:
    """What Jinja writes can be parsed, whichever two were chosen."""
    parse_all(render(**answers))


@pytest.mark.parametrize("answers", [{}, everything()], ids=label)
def test_an_existing_project_gets_only_agentkit(render_whole: Render, answers: Answers) -> None:
    """Where the project brings its packaging: agentkit, its requirements, the answers file."""
    project = render_whole(brings_packaging=True, code_root=SHOP, **answers)
    assert files_of(project) == expected_files(answers, SHOP, foreign=True)
    parse_all(project)


def test_agentkit_is_copied_byte_for_byte(default_project: Path, template: Path) -> None:
    """What is tested in the template is what the user gets."""
    source = template / "template" / "{{ code_root }}" / "agentkit"
    copied = default_project / "src" / "my_agent" / "agentkit"
    for path in filter(Path.is_file, copied.rglob("*")):
        assert path.read_bytes() == (source / path.relative_to(copied)).read_bytes()


def test_agentkit_holds_no_templates() -> None:
    """A file's presence is the only switch: nothing in agentkit goes through Jinja."""
    inside = [name for name in template_files() if "/agentkit/" in name]
    suffixed = [name for name in inside if (ROOT / "template" / f"{name}.jinja").exists()]
    assert inside
    assert not suffixed


def test_file_names_work_on_every_system() -> None:
    """No name holds a character that Windows refuses, and no file is a symbolic link."""
    folder = ROOT / "template"
    names = template_files()
    assert not [name for name in names if set(name) & set('"<>:|?*\\')]
    assert not [path for path in folder.rglob("*") if path.is_symlink()]


@pytest.mark.parametrize("answers", [*covering(), everything()], ids=label)
def test_both_lists_of_requirements_are_equal(render: Render, answers: Answers) -> None:
    """A project with its own packaging gets the same versions as a new one."""
    new = render("new", **answers)
    settings = tomllib.loads((new / "pyproject.toml").read_text(encoding="utf-8"))
    existing = render("existing", brings_packaging=True, **answers) / "agentkit-requirements.txt"
    lines = existing.read_text(encoding="utf-8").splitlines()
    listed = [line for line in lines if not line.startswith("#")]
    assert listed == settings["project"]["dependencies"]


def test_every_requirement_has_an_upper_bound(render: Render) -> None:
    """A new major version of a dependency cannot break a project that was just generated."""
    project = render(**everything())
    assert not [need for need in needs_of(project) if "<" not in need]


def parse_all(project: Path) -> None:
    for path in filter(Path.is_file, project.rglob("*")):
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".py":
            compile(text, str(path), "exec")
        elif path.suffix == ".toml":
            tomllib.loads(text)
        elif path.suffix in (".yml", ".yaml"):
            yaml.safe_load(text)
