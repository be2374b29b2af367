"""Fixtures that render the template the way a user does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from copier import run_copy

from sources import copy_sources

Render = Callable[..., Path]


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The template as a plain folder: rendering that needs no clone."""
    folder = tmp_path_factory.mktemp("template")
    copy_sources(folder)
    return folder


@pytest.fixture
def render(template: Path, tmp_path: Path) -> Render:
    """Return a function that renders into a folder below `tmp_path` and returns the folder."""

    def render_into(folder: str = "my-agent", *, overwrite: bool = False, **answers: Any) -> Path:
        project = tmp_path / folder
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
