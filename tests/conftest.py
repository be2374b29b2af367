"""Fixtures that render the template the way a user does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from copier import run_copy
from jinja2 import Environment, Template

from sources import copy_sources

Render = Callable[..., Path]


@pytest.fixture(scope="session", autouse=True)
def _compiled_once() -> Iterator[None]:
    """Let Copier compile each text once: it does so for every part of every path, again and again.

    That is more than half of what a copy costs, and these tests make hundreds of them.
    """
    original = Environment.from_string

    def from_string(self: Environment, source: Any, *rest: Any, **named: Any) -> Template:
        if not isinstance(source, str) or rest or named:
            return original(self, source, *rest, **named)
        known: dict[str, Template] = self.__dict__.setdefault("_known_texts", {})
        if source not in known:
            known[source] = original(self, source)
        return known[source]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Environment, "from_string", from_string)
        yield


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The template as a plain folder: rendering that needs no clone."""
    folder = tmp_path_factory.mktemp("template")
    copy_sources(folder)
    return folder


@pytest.fixture(scope="session")
def sample_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The template with two files of agentkit only, for tests that look at other files."""
    folder = tmp_path_factory.mktemp("sample")
    copy_sources(folder, whole=False)
    return folder


@pytest.fixture
def render(sample_template: Path, tmp_path: Path) -> Render:
    """Return a function that renders a sample project below `tmp_path` and returns its folder."""
    return _renderer(sample_template, tmp_path)


@pytest.fixture
def render_whole(template: Path, tmp_path: Path) -> Render:
    """Return a function that renders a whole project below `tmp_path` and returns its folder."""
    return _renderer(template, tmp_path)


def _renderer(template: Path, parent: Path) -> Render:
    def render_into(folder: str = "my-agent", *, overwrite: bool = False, **answers: Any) -> Path:
        project = parent / folder
        run_copy(
            str(template),
            project,
            data=answers,
            defaults=True,
            overwrite=overwrite,
            quiet=True,
            skip_tasks=True,
        )
        return project

    return render_into


@pytest.fixture(scope="session")
def default_project(template: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with all defaults, to be read only."""
    project = tmp_path_factory.mktemp("default") / "my-agent"
    run_copy(str(template), project, defaults=True, quiet=True, skip_tasks=True)
    return project
