"""The SDKs as a choice: what each brings, when it is imported, and what a change leaves behind."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentkit import ConfigError, Logger, ModelURI, Usage
from agentkit.llm.provider import create_provider
from agentkit.observability.prices import Prices
from agentkit.transport import HttpClients
from answers import CONTAINER_FILES, SDKS
from conftest import Render
from installed import needs_of
from repositories import changes, commit, contents, copy, generate, git, template_with, update
from sources import USERS_FILES, in_project
from test_generated import start
from test_names import answers_of

PACKAGES = {name: "google.genai" if name == "google" else name for name in SDKS}
USERS = {in_project(name, "src/my_agent") for name in (*USERS_FILES, *CONTAINER_FILES)}
CHANGES = [["openai", "litellm"], list(SDKS), [], ["google", "anthropic"]]
BUILD = """
from my_agent.main import build_agent
for model in {models}:
    build_agent(model)
print("built")
"""


def first_key(project: Path) -> str:
    """Return the variable that .env.example asks for."""
    lines = (project / ".env.example").read_text(encoding="utf-8").splitlines()
    return next(line for line in lines if line.endswith("=") and "#" not in line).rstrip("=")


def owned(project: Path) -> dict[str, bytes]:
    """Return what belongs to the template, and not to the user."""
    return {name: text for name, text in contents(project).items() if name not in USERS}


@pytest.fixture(scope="session")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release with the SDKs' files and a sample of all others."""
    return template_with(tmp_path_factory.mktemp("sdks") / "template", SDKS)


@pytest.mark.parametrize("sdk", [None, *SDKS])
def test_the_default_model_is_one_of_the_first_sdk(render: Render, sdk: str | None) -> None:
    """It needs the key that .env.example names, has a price, and its adapter is the SDK's."""
    rest = list(SDKS)[list(SDKS).index(sdk) :] if sdk else []
    project = render(sdks=rest)
    uri = ModelURI.parse(str(answers_of(project)["model"]))
    if sdk != "litellm":  # which looks for keys itself, at the first call
        with pytest.raises(ConfigError, match=f"{first_key(project)} is not set"):
            create_provider(uri, HttpClients())
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(first_key(project), "sk-test-0123456789")
        adapter = type(create_provider(uri, HttpClients())).__module__
    assert adapter == f"agentkit.llm.providers.{sdk or 'openai_compatible'}"
    cost = Prices(Logger("test")).estimate(uri.provider, uri.model, Usage(1000, 1000))
    assert cost is not None
    assert cost > 0


@pytest.mark.parametrize("sdk", SDKS)
def test_each_sdk_brings_its_package(render: Render, sdk: str) -> None:
    """What a project depends on is the core's packages and one more."""
    added = set(needs_of(render(sdks=[sdk]))) - set(needs_of(render("other")))
    assert [need.split(">")[0] for need in added] == [PACKAGES[sdk].replace(".", "-")]


@pytest.mark.parametrize(
    ("model", "key"),
    [
        ("chat://gemini/gemini-3.8-flash", "GEMINI_API_KEY"),
        ("workersai/@cf/meta/llama-3.1-8b", "CLOUDFLARE_API_TOKEN"),
        ("chat://litellm/cohere/command-a", "COHERE_API_KEY"),
        ("chat://my-proxy.local/m?baseURL=http://localhost/v1", "MY_PROXY_LOCAL_API_KEY"),
    ],
)
def test_the_key_of_a_model_is_under_its_own_name(render: Render, model: str, key: str) -> None:
    """.env.example has the variable that is looked for, whatever the provider is called."""
    assert first_key(render(model=model)) == key


def test_no_sdk_is_imported_before_it_is_used(render_whole: Render) -> None:
    """Agents of all providers can be built, and the command line can run, without any SDK."""
    project = render_whole(sdks=list(SDKS))
    models = ["responses://openai/m", *(f"chat://{n}/m" for n in ("anthropic", "google", "cohere"))]
    names = ("OPENAI", "ANTHROPIC", "GEMINI", "COHERE")
    keys = {f"{name}_API_KEY": "sk-test-0123456789" for name in names}
    code = BUILD.format(models=models)
    ask = ("-m", "my_agent", "ask", "hi", "--model", "chat://offline/echo")
    for arguments, said in ((("-c", code), "built\n"), (ask, "hi")):
        done = start(project, "-X", "importtime", *arguments, **keys)
        assert said in done.stdout
        imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
        assert "httpx2" in imported
        assert not imported & {*PACKAGES.values()}


def test_changing_the_sdks_leaves_nothing_behind(repository: Path, tmp_path: Path) -> None:
    """On, off and on again: files, tests and dependencies are those of a fresh project."""
    project = generate(repository, tmp_path / "my-agent", "v1.1.0")
    for number, sdks in enumerate(CHANGES):
        update(project, sdks=sdks)
        fresh = tmp_path / str(number) / "my-agent"
        copy(repository, fresh, sdks=sdks, model=answers_of(project)["model"])
        assert owned(project) == owned(fresh), sdks
        commit(project)


def test_own_dependencies_survive_a_change_of_the_sdks(repository: Path, tmp_path: Path) -> None:
    """A line below "Your own" is neither lost nor in conflict with an SDK's line above it."""
    project = generate(repository, tmp_path / "my-agent", "v1.1.0")
    path = project / "pyproject.toml"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("  # Your own:\n]", '  # Your own:\n  "mine>=1",\n]', 1), "utf-8")
    commit(project)
    before = needs_of(project)
    update(project, sdks=["anthropic", "google"])
    needs = needs_of(project)
    added = ["anthropic>=2.14,<3", "google-genai>=3.6,<4"]
    assert needs == [*before[: before.index("mine>=1")], *added, *before[before.index("mine>=1") :]]
    commit(project)
    update(project, sdks=[])
    assert needs_of(project) == before
    assert git(project, "diff", "--name-only", "--diff-filter=U") == ""


def test_a_project_without_sdks_stays_as_it_is(repository: Path, tmp_path: Path) -> None:
    """An update to a release with more files brings none of the SDKs'."""
    project = generate(repository, tmp_path / "my-agent", "v1.0.0")
    update(project)
    assert changes(project) == [" M .copier-answers.yml"]
