"""What Windows could not hold: names, links, line ends, long paths, letters on the console."""

from __future__ import annotations

import subprocess
from collections import Counter
from pathlib import Path, PurePosixPath

import pytest

from hook_project import environment, fake_uv, hook_command, make_project
from sources import ROOT, in_project, source_files, template_files

DEVICES = {
    "con",
    "prn",
    "aux",
    "nul",
    *(f"{kind}{n}" for kind in ("com", "lpt") for n in range(10)),
}
# Windows takes 260 characters, and 60 are enough for C:\Users\<name>\source\repos\.
LONGEST = 200
NAME = "n" * 80


def parts() -> list[str]:
    """Every folder and file name of the template."""
    return sorted({part for name in template_files() for part in PurePosixPath(name).parts})


def test_no_name_is_a_device_or_ends_badly() -> None:
    """`aux.py` is no file there, and a dot or blank at the end is dropped."""
    assert not [part for part in parts() if part.split(".")[0].lower() in DEVICES]
    assert not [part for part in parts() if part.endswith((".", " "))]
    assert all(part.isascii() for part in parts())


def test_no_two_names_differ_in_case_only() -> None:
    """One file would be written over the other."""
    counts = Counter(name.lower() for name in (*source_files(), *template_files()))
    assert not [name for name in template_files() if counts[name.lower()] > 1]


def test_no_path_is_too_long() -> None:
    """With a name of 80 characters, the longest that is allowed, in a folder of the same name."""
    paths = [f"{NAME}/{in_project(name, f'src/{NAME}')}" for name in template_files()]
    longest = max(paths, key=len)
    assert len(longest) <= LONGEST + len(NAME), longest
    assert len(longest.removeprefix(f"{NAME}/")) <= LONGEST, longest


def test_no_file_has_the_line_ends_of_windows() -> None:
    """A checkout with core.autocrlf would change them; .gitattributes keeps LF here and there."""
    crlf = [name for name in source_files() if b"\r\n" in (ROOT / name).read_bytes()]
    assert crlf == []
    for name in (".gitattributes", "template/.gitattributes"):
        assert "* text=auto eol=lf" in (ROOT / name).read_text(encoding="utf-8")


def test_no_file_needs_to_be_executable() -> None:
    """Windows has no such mode: hooks are started with the interpreter's name."""
    listed = subprocess.run(
        ["git", "ls-files", "--stage", "--", "template", "hooks"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    assert not [line for line in listed.stdout.splitlines() if not line.startswith("100644 ")]


@pytest.mark.parametrize("encoding", ["cp1252", "cp437", "ascii", "utf-8"])
def test_the_hook_prints_on_every_console(tmp_path: Path, encoding: str) -> None:
    """What an encoding lacks is replaced, also in a folder with letters of another language."""
    project = make_project(tmp_path / "trợ lý ✓")
    done = subprocess.run(
        hook_command(),
        cwd=project,
        env=environment(fake_uv(tmp_path / "bin"), PYTHONIOENCODING=encoding, PYTHONUTF8="0"),
        capture_output=True,
        stdin=subprocess.DEVNULL,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"Tested: 12 passed" in done.stdout
