"""The variables with which a process of an adapter starts."""

import os
import tempfile
from pathlib import Path

from . import environments, project
from .catalog import AdapterInfo


def variables(info: AdapterInfo, scratch: Path) -> dict[str, str]:
    """Return the variables for a process of an adapter; its debug folder is new, in scratch."""
    roots = [str(environments.ROOT)]
    if info.project is not None:
        roots += project.import_roots(project.render(info.project, scratch))
    return {
        **environments.clean(),
        **info.environment,
        "PYTHONPATH": os.pathsep.join(roots),
        "PYTHONWARNINGS": "ignore",
        "BENCH_FLOOR_SITE": str(environments.FLOOR_SITE),
        "BENCH_DEBUG_DIR": tempfile.mkdtemp(prefix=f"{info.name}-", dir=scratch),
        "OPENAI_API_KEY": "sk-test",
        "ANTHROPIC_API_KEY": "sk-test",
    }
