"""What the questions take and what they refuse, before anything is written."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path

import pytest
import yaml

from conftest import Render
from sources import ROOT, template_files
from test_names import answers_of

GOOD_MODELS = [
    "chat://offline/echo",
    "openai/gpt-6-luna",
    "chat://workersai/@cf/meta/llama-3.1-8b",
    "ollama/qwen3:8b",
    "chat://vllm/my-model?baseURL=http://localhost:8000/v1",
    "chat://vllm/m?baseURL=http://[::1]:8000/v1&timeout=60000&temperature=0.2",
    "responses://openai/gpt-6-luna?maxTokens=1000&stop=%0A&seed=7&maxRetries=0",
]
BAD_MODELS = [
    "",
    "gpt-6-luna",
    "chat://openai",
    "chat://openai/",
    "ftp://openai/gpt",
    "chat:/openai/gpt",
    "chat://openai/gpt luna",
    'chat://openai/"quoted"',
    "chat://openai/back\\slash",
    "chat://openai/gpt\n",
    "chat://openai/gpt?",
    "chat://openai/gpt?temprature=1",
    "chat://openai/gpt?timeout",
    "chat://openai/{{ model }}",
]
SECRET_MODELS = [
    "chat://openai/gpt?apiKey=sk-12345",
    "chat://openai/gpt?timeout=1&APIKEY=sk-12345",
    "chat://vllm/m?baseURL=https://sk-12345@example.com/v1",
    "chat://vllm/m?baseURL=https://user:sk-12345@example.com/v1",
    "chat://vllm/m?baseURL=https://example.com/v1?key=sk-12345",
]


def refuse(render: Render, tmp_path: Path, **answers: object) -> str:
    """Return the message of a refusal, which is one line and leaves no trace."""
    with pytest.raises(ValueError, match=r"Validation error|Invalid choice") as refusal:
        render("refused", **answers)
    assert "\n" not in str(refusal.value)
    assert not (tmp_path / "refused").exists()
    return str(refusal.value)


@pytest.mark.parametrize("model", GOOD_MODELS)
def test_a_model_uri_reaches_the_code_as_it_stands(render: Render, model: str) -> None:
    """`main.py` holds the URI that was given."""
    project = render(model=model)
    assert f'MODEL = "{model}"' in (project / "src/my_agent/main.py").read_text(encoding="utf-8")


@pytest.mark.parametrize("model", BAD_MODELS)
def test_what_is_no_model_uri_is_refused(render: Render, tmp_path: Path, model: str) -> None:
    """The error shows the form of a model URI and the names of its parameters."""
    message = refuse(render, tmp_path, model=model)
    assert "chat://openai/gpt-6-luna" in message
    assert "baseURL, timeout, maxTokens" in message


@pytest.mark.parametrize("model", SECRET_MODELS)
def test_a_key_in_the_model_uri_is_refused(render: Render, tmp_path: Path, model: str) -> None:
    """The answers file is committed, so a key must not get there; the error does not repeat it."""
    message = refuse(render, tmp_path, model=model)
    assert ".env" in message
    assert "sk-12345" not in message


@pytest.mark.parametrize("provider", ["groq", "cerebras", "my-gateway"])
def test_the_environment_example_names_the_key(render: Render, provider: str) -> None:
    """`.env.example` has an empty line for the key of the chosen provider, once."""
    project = render(model=f"chat://{provider}/some-model")
    lines = (project / ".env.example").read_text(encoding="utf-8").splitlines()
    name = provider.upper().replace("-", "_")
    assert lines.count(f"{name}_API_KEY=") == 1
    assert f"# {name}_API_KEY=" not in lines


@pytest.mark.parametrize(
    "code_root",
    [
        "",
        "/abs",
        "../up",
        "src/../up",
        "src/",
        "src\\win",
        "my-dir",
        "src/1a",
        "a b",
        "src/x\n",
        "..",
    ],
)
def test_a_code_root_outside_or_without_a_package_name_is_refused(
    render: Render, tmp_path: Path, code_root: str
) -> None:
    """Only folders inside the project that Python can import are taken."""
    assert "src/my_agent" in refuse(render, tmp_path, code_root=code_root)


@pytest.mark.parametrize(
    "code_root", ["agentkit", "src/agentkit", "src/agentkit/inner", "AgentKit"]
)
def test_a_code_root_called_agentkit_is_refused(
    render: Render, tmp_path: Path, code_root: str
) -> None:
    """agentkit is made inside the folder, so the folder cannot have its name."""
    assert "agentkit is created inside" in refuse(render, tmp_path, code_root=code_root)


@pytest.mark.parametrize("code_root", [".", "src/json", "src/class", "typer"])
def test_a_new_project_needs_a_package_of_its_own(
    render: Render, tmp_path: Path, code_root: str
) -> None:
    """Neither the project's folder itself nor a name that hides a module will do."""
    refuse(render, tmp_path, code_root=code_root)


@pytest.mark.parametrize("code_root", ["src/shop", "shop", "lib/inner/shop"])
def test_a_new_project_can_have_its_code_anywhere(render: Render, code_root: str) -> None:
    """Packaging, checks and tests follow the folder that was chosen."""
    project = render(code_root=code_root)
    settings = tomllib.loads((project / "pyproject.toml").read_text(encoding="utf-8"))
    assert settings["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"] == [code_root]
    assert settings["project"]["scripts"] == {"my-agent": "shop.__main__:main"}
    assert (project / code_root / "agentkit").is_dir()


@pytest.mark.parametrize(
    "answers",
    [
        {"ci": "gitlab"},
        {"sdks": ["nobody"]},
        {"modules": ["nothing"]},
        {"package_manager": "conda"},
    ],
    ids=str,
)
def test_a_value_that_a_question_does_not_know_is_refused(
    render: Render, tmp_path: Path, answers: dict[str, object]
) -> None:
    """A typo in an answer never changes the project silently."""
    refuse(render, tmp_path, **answers)


def test_a_description_that_is_not_text_is_refused(render: Render, tmp_path: Path) -> None:
    """Bytes on the command line that are not UTF-8 arrive as lone surrogates."""
    refuse(render, tmp_path, project_description=os.fsdecode(b"caf\xe9"))


def test_what_nobody_chose_is_stored_as_a_list(default_project: Path) -> None:
    """No SDK and no module is the default; a later release must find a list, not text."""
    answers = answers_of(default_project)
    assert (answers["sdks"], answers["modules"]) == ([], [])


def test_the_answers_file_holds_every_question_and_nothing_else(default_project: Path) -> None:
    """What is only computed is not stored: an update computes it again."""
    settings = yaml.safe_load((ROOT / "copier.yml").read_text(encoding="utf-8"))
    asked = {
        name
        for name, question in settings.items()
        if not name.startswith("_") and question.get("when") is not False
    }
    assert {name for name in answers_of(default_project) if not name.startswith("_")} == asked


def test_every_question_explains_itself() -> None:
    """Each question that is asked has a help text, a default and an answer that fits it."""
    settings = yaml.safe_load((ROOT / "copier.yml").read_text(encoding="utf-8"))
    asked = [q for name, q in settings.items() if not name.startswith("_") and "when" not in q]
    silent = [q for q in asked if q.get("ask") is not False and not q.get("help")]
    assert asked
    assert not silent
    assert "{{ _copier_conf.answers_file }}" in template_files()
