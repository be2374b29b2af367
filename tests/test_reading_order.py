"""The README's way through the runtime: its files are there, follow each other, and are few."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from sources import CODE_ROOT, ROOT

KIT = ROOT / "template" / CODE_ROOT / "agentkit"
MOST_LINES = 2_900  # of code, without comments, docstrings and blank lines; the README says 2,800


def reading_order() -> list[str]:
    """Return the files that the README names, in its order; a bare name is in the folder before."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    part = text.partition("## Read it in an hour")[2].partition("The rest stands")[0]
    names: list[str] = []
    for name in re.findall(r"`([\w/]+\.py)`", part):
        is_bare = names and not (KIT / name).is_file()
        names.append((Path(names[-1]).parent / name).as_posix() if is_bare else name)
    return names


def imports_of(name: str) -> set[str]:
    """Return the files of agentkit that a file imports when it is loaded."""
    found: set[str] = set()
    for node in ast.parse((KIT / name).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom) and node.level:
            base = Path(name).parents[node.level - 1] / (node.module or "").replace(".", "/")
            stems = [base, *(base / alias.name for alias in node.names)]
            found |= {f"{stem.as_posix()}.py" for stem in stems}
    return found


def lines_of_code(name: str) -> int:
    """Count the lines that hold code: not those of comments and docstrings, and no blank ones."""
    tree = ast.parse((KIT / name).read_text(encoding="utf-8"))
    prose: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            prose |= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    lines = enumerate((KIT / name).read_text(encoding="utf-8").splitlines(), 1)
    return sum(
        bool(line.strip()) and not line.lstrip().startswith("#") and number not in prose
        for number, line in lines
    )


def test_each_file_of_the_way_uses_only_what_was_read_before() -> None:
    """Nobody has to look ahead."""
    names = reading_order()
    assert len(names) == len(set(names)) == 27
    early = {
        (name, other)
        for index, name in enumerate(names)
        for other in imports_of(name) & set(names[index + 1 :])
    }
    assert not early


def test_the_way_can_be_read_in_an_hour() -> None:
    """It has about as many lines as the README says."""
    assert sum(map(lines_of_code, reading_order())) < MOST_LINES
