"""The container files of a new project with the server."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from answers import CONTAINER_FILES
from conftest import Render


def services(project: Path) -> dict[str, Any]:
    """Return the services of compose.yaml."""
    found = yaml.safe_load((project / "compose.yaml").read_text(encoding="utf-8"))
    used = {volume.split(":")[0] for s in found["services"].values() for volume in s["volumes"]}
    assert used == set(found["volumes"])
    return dict(found["services"])


@pytest.mark.parametrize(
    "stores", [[], ["redis"], ["postgres"], ["redis", "postgres"]], ids="+".join
)
def test_compose_starts_the_stores_that_were_chosen(render: Render, stores: list[str]) -> None:
    """The agent waits for each, and finds it by the variable that main.py reads."""
    found = services(render(modules=["server", *stores]))
    assert set(found) == {"agent", *stores}
    assert set(found["agent"].get("depends_on", ())) == set(stores)
    variables = {"redis": "REDIS_URL", "postgres": "DATABASE_URL"}
    assert set(found["agent"]["environment"]) == {"AGENT_TOKEN", *(variables[s] for s in stores)}


def test_the_image_runs_the_projects_own_command(render: Render) -> None:
    """As a user without rights, on all addresses, which takes a token."""
    lines = (render(modules=["server"]) / "Dockerfile").read_text(encoding="utf-8").splitlines()
    assert "USER agent" in lines
    command = json.loads(lines[-1].removeprefix("CMD "))
    assert command == ["/app/.venv/bin/my-agent", "serve", "--host", "0.0.0.0"]


def test_keys_stay_out_of_the_image(render: Render) -> None:
    """Whatever is in .env is not copied."""
    ignored = (render(modules=["server"]) / ".dockerignore").read_text(encoding="utf-8").split("\n")
    assert {".env", ".env.*", ".git", ".venv"} <= set(ignored)


def test_container_files_are_the_users(render: Render, tmp_path: Path) -> None:
    """Those that are there stay, and what was deleted does not come back."""
    (tmp_path / "my-agent").mkdir()
    (tmp_path / "my-agent" / "Dockerfile").write_text("FROM mine\n", encoding="utf-8")
    project = render(modules=["server"], overwrite=True)
    assert (project / "Dockerfile").read_text(encoding="utf-8") == "FROM mine\n"
    for name in CONTAINER_FILES:
        (project / name).unlink()
    render(modules=["server"], overwrite=True)
    assert not [name for name in CONTAINER_FILES if (project / name).exists()]
