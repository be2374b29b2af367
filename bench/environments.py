"""Where the virtual environments are: one per peer, pinned by requirements/."""

import os
from pathlib import Path

ROOT = Path(__file__).parent.parent
REQUIREMENTS = Path(__file__).parent / "requirements"
VENVS = Path(os.environ.get("BENCH_VENVS") or Path(__file__).parent / "venvs")
FLOOR_SITE = VENVS / "floor_site"
# These would slow imports down or change what is measured.
DROPPED = {"PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED", "PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV"}


def python(venv: str) -> str:
    """Return the interpreter of an environment; exit with one line if it was not set up."""
    path = VENVS / venv / "bin" / "python"
    if not path.exists():
        raise SystemExit(f"no environment for {venv}; run: python -m bench setup")
    return str(path)


def site_packages(venv: str) -> Path:
    """Return the folder with an environment's packages."""
    return next((VENVS / venv / "lib").glob("python3*")) / "site-packages"


def clean() -> dict[str, str]:
    """Return the caller's variables without those that change a measurement."""
    kept = {name: value for name, value in os.environ.items() if name not in DROPPED}
    return {name: value for name, value in kept.items() if not name.upper().endswith("_PROXY")}
