"""The answers that the tests go through, and which files each of them brings.

A new module or SDK is one line here: the patterns of its files, below the project's folder. A file
that several bring is there as soon as one of them is chosen.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

Answers = dict[str, Any]

CONTAINER_FILES = ("Dockerfile", "compose.yaml", ".dockerignore")  # the user's, of the server

_ADAPTERS = "/agentkit/llm/providers"
_TESTS = "/agentkit/tests"
_SDK_LIMITS = f"{_TESTS}/llm/providers/sdk_limits.py"
_FAKE_CLAUDE = (f"{_TESTS}/fake_messages.py", f"{_TESTS}/anthropic_*.py")
_OPENAI_TESTS = (
    "",
    "_broken",
    "_errors",
    "_faults",
    "_limits",
    "_reply",
    "_setup",
    "_turns",
    "_wire",
)
SDKS: dict[str, tuple[str, ...]] = {
    "openai": (
        *(f"{_ADAPTERS}/openai{part}.py" for part in ("", "_reply", "_wire")),
        *(f"{_TESTS}/llm/providers/test_openai{part}.py" for part in _OPENAI_TESTS),
        _SDK_LIMITS,
        f"{_TESTS}/fake_responses.py",
        f"{_TESTS}/responses_*.py",
    ),
    "anthropic": (
        f"{_ADAPTERS}/anthropic*.py",
        f"{_TESTS}/llm/providers/test_anthropic*.py",
        _SDK_LIMITS,
        *_FAKE_CLAUDE,
    ),
    "google": (
        f"{_ADAPTERS}/google*.py",
        f"{_ADAPTERS}/gemini.py",
        f"{_TESTS}/llm/providers/test_google*.py",
        _SDK_LIMITS,
        f"{_TESTS}/fake_gemini.py",
        f"{_TESTS}/gemini_*.py",
    ),
    "litellm": (
        f"{_ADAPTERS}/litellm*.py",
        f"{_TESTS}/llm/providers/test_litellm*.py",
        f"{_TESTS}/litellm_*.py",
        *_FAKE_CLAUDE,
    ),
}
_FETCHER = (
    *("blocks", "charset", "extract", "feed", "json_ld", "local_fetcher", "main_text", "markup"),
    *("media_type", "metadata", "pdf"),
)


def _content(*names: str) -> tuple[str, ...]:
    """Return the patterns of files in content/ and of their tests."""
    kinds = ("/content/{}.py", "/tests/content/test_{}.py", "/tests/content/test_{}_*.py")
    return tuple(f"/agentkit{kind.format(name)}" for name in names for kind in kinds)


_ANY_CONTENT = (
    *(f"/agentkit/content/{name}.py" for name in ("__init__", "address_guard", "http")),
    *_content("content_encoding"),
    f"{_TESTS}/content/__init__.py",
)
# The double of the web is the fetcher's, and so are the tests that need it.
_WEB_TESTS = (
    *("fake_web.py", "fetching.py", "pages/*", "pdf_file.py"),
    *("test_address_guard*.py", "test_guarded_get.py"),
    *("test_http*.py", "test_replies.py"),
)
_WEB_API = (*_content("api_settings", "json_api"), *_ANY_CONTENT)
_SESSION = "/agentkit/session"
_ANY_SERVER = tuple(
    pattern.format(name)
    for name in ("store_clients", "lease", "layered_store")
    for pattern in (f"{_SESSION}/{{}}.py", f"{_TESTS}/session/test_{{}}.py")
)
MODULES: dict[str, tuple[str, ...]] = {
    "mcp": ("/agentkit/mcp_server.py", "/agentkit/tools/mcp_*.py", f"{_TESTS}/*mcp*.py"),
    "local_fetcher": (
        *_content(*_FETCHER, "document"),
        *(f"{_TESTS}/content/{name}" for name in _WEB_TESTS),
        *_ANY_CONTENT,
    ),
    "brave": (
        *_content("brave_search", "brave_results"),
        f"{_TESTS}/content/fake_brave.py",
        *_WEB_API,
    ),
    "jina": (
        *_content("jina", "jina_options", "jina_replies", "document"),
        f"{_TESTS}/content/fake_jina.py",
        *_WEB_API,
    ),
    "server": ("/agentkit/server/*", f"{_TESTS}/server/*", *CONTAINER_FILES),
    "redis": (f"{_SESSION}/redis_*.py", f"{_TESTS}/session/*redis*.py", *_ANY_SERVER),
    "postgres": (f"{_SESSION}/postgres_*.py", f"{_TESTS}/session/*postgres*.py", *_ANY_SERVER),
    "durable": ("/agentkit/durable/*", f"{_TESTS}/durable/*"),
    "tracing": (
        "/agentkit/observability/tracing*.py",
        f"{_TESTS}/observability/fake_tracer.py",
        f"{_TESTS}/observability/test_tracing*.py",
    ),
}
CI: dict[str, tuple[str, ...]] = {"github": (".github/*",), "none": ()}


def every() -> list[Answers]:
    """Every combination of answers that decides about files."""
    return [
        {"sdks": list(sdks), "modules": list(modules), "ci": ci}
        for sdks in _subsets(SDKS, len(SDKS))
        for modules in _subsets(MODULES, len(MODULES))
        for ci in CI
    ]


def rendered() -> list[Answers]:
    """The combinations that are worth rendering whole: none, all and each one alone."""
    # The workflow has nothing to do with the others: one project without it is enough.
    without = {"sdks": [], "modules": [], "ci": "none"}
    return [without, *({**answers, "ci": "github"} for answers in [*covering(), everything()])]


def pairs() -> list[Answers]:
    """Every two choices together."""
    return [_split(two) for two in combinations(_choices(), 2)]


def covering() -> list[Answers]:
    """Nothing, and each choice alone."""
    return [{"sdks": [], "modules": []}, *(_split((choice,)) for choice in _choices())]


def everything() -> Answers:
    """All choices together."""
    return {"sdks": list(SDKS), "modules": list(MODULES)}


def label(answers: Answers) -> str:
    """Name a set of answers in the test report."""
    chosen = [*answers.get("sdks", ()), *answers.get("modules", ())]
    return "+".join([*chosen, *([answers["ci"]] if "ci" in answers else [])]) or "core"


def _subsets(names: Any, largest: int) -> list[tuple[Any, ...]]:
    return [subset for size in range(largest + 1) for subset in combinations(names, size)]


def _choices() -> list[tuple[str, str]]:
    return [("sdks", name) for name in SDKS] + [("modules", name) for name in MODULES]


def _split(names: tuple[tuple[str, str], ...]) -> Answers:
    return {
        "sdks": [name for kind, name in names if kind == "sdks"],
        "modules": [name for kind, name in names if kind == "modules"],
    }
