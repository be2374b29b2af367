"""The environment of child processes: nothing that leads elsewhere, and no secrets."""

from __future__ import annotations

import re
from collections.abc import Mapping

# Each of these points an installer, Python, pytest or git at something outside the project.
_MISLEADING = frozenset(
    [
        *("VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP"),
        *("PYTHONOPTIMIZE", "PYTHONWARNINGS"),
        *("PYTEST_ADDOPTS", "PYTEST_PLUGINS", "PYTEST_DISABLE_PLUGIN_AUTOLOAD"),
        *("UV_PROJECT", "UV_PROJECT_ENVIRONMENT", "UV_WORKING_DIRECTORY", "UV_ENV_FILE"),
        *("UV_FROZEN", "UV_LOCKED", "UV_ISOLATED", "UV_NO_SYNC", "UV_NO_PROJECT"),
        *("UV_NO_DEV", "UV_NO_GROUP", "UV_NO_DEFAULT_GROUPS"),
        *("PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PIP_USER", "PIP_REQUIRE_VIRTUALENV"),
        *("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_OBJECT_DIRECTORY"),
        *("AGENT_MODEL", "AGENTKIT_REPORT"),
    ]
)
_SECRET_NAME = re.compile(
    r"API_?KEY|ACCESS_?KEY|PRIVATE_?KEY|SECRET|TOKEN|PASSWORD|PASSWD|CREDENTIAL|_BASE_URL$|_API_BASE$",
    re.IGNORECASE,
)
_INSTALLER = ("UV_", "PIP_", "NETRC")
# The end of the user part is the last "@" before the host, as URL parsers see it.
_URL_LOGIN = re.compile(r"(?<=://)[^/\s]+@")
# Masking "1" or "true" everywhere would make the log unreadable and protect nothing.
_SHORTEST_SECRET = 6


def for_tests(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment in which generated code runs: no secret at all."""
    kept = {k: v for k, v in environ.items() if k not in _MISLEADING and not is_secret(k)}
    # UTF-8 in both directions; no __pycache__ in the user's folders; output as it happens.
    return kept | {"PYTHONUTF8": "1", "PYTHONDONTWRITEBYTECODE": "1", "PYTHONUNBUFFERED": "1"}


def for_install(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of an installer: it keeps its own index credentials."""
    own = {k: v for k, v in environ.items() if k.startswith(_INSTALLER) and k not in _MISLEADING}
    return for_tests(environ) | own


def for_git(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment in which git looks at the folder it is started in."""
    return {k: v for k, v in environ.items() if k not in _MISLEADING}


def is_secret(name: str) -> bool:
    """Tell whether a variable's name says that its value is not for others."""
    return _SECRET_NAME.search(name) is not None


def secret_values(environ: Mapping[str, str]) -> list[str]:
    """Return the values to mask, longest first, so that no part of one is left over."""
    found = {v for k, v in environ.items() if is_secret(k) and len(v) >= _SHORTEST_SECRET}
    return sorted(found, key=len, reverse=True)


def mask(text: str, secrets: list[str]) -> str:
    """Replace every known secret and every login inside a URL."""
    for secret in secrets:
        text = text.replace(secret, "***")
    return _URL_LOGIN.sub("***@", text)
