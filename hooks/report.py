"""The files that the hook leaves in `.agentkit/`, where git does not see them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TextIO

FOLDER = ".agentkit"
LOG = f"{FOLDER}/post_gen.log"
REPORT = f"{FOLDER}/post_gen.yml"


def open_log(project: Path) -> TextIO:
    """Create the folder and an empty log in it; OSError when the project cannot be written.

    The report of an earlier run is removed, so that it is never taken for this one's.
    """
    folder = project / FOLDER
    folder.mkdir(exist_ok=True)
    (folder / ".gitignore").write_text("*\n", encoding="utf-8")
    (project / REPORT).unlink(missing_ok=True)
    # Line by line: what a killed hook has done so far can be read.
    return (project / LOG).open("w", encoding="utf-8", errors="replace", buffering=1)


def write_report(
    project: Path, status: str, summary: str, lines: list[str], commands: list[str] | None = None
) -> None:
    """Write what Copier's after-message reads: JSON, which is YAML as well.

    The report is there as a whole or as it was before, whenever the hook is killed.
    """
    content = {"status": status, "summary": summary, "lines": lines, "commands": commands or []}
    text = json.dumps(content, indent=1)
    unfinished = project / f"{REPORT}.tmp"
    unfinished.write_text(text + "\n", encoding="utf-8")
    unfinished.replace(project / REPORT)
