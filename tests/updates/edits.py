"""The kinds of edit, each with what must come of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .outcomes import (
    Done,
    absent,
    conflict,
    dropped,
    imported,
    kept,
    merged,
    missed,
    named_import,
    removed,
)
from .places import CODE, KIT, NEW_YAML, OLD_YAML, Place, file_of

Check = Callable[[Done, str, str], list[str]]


@dataclass(frozen=True)
class Edit:
    """What the user did to one file, by the stand-in or path it was done to."""

    title: str
    outcome: str
    check: Check
    # Changes the file at a path of the project; the text is the mark by which it is found again.
    do: Callable[[Place, str, str], None]
    stand_in: str = ""
    path: str = ""
    applies: Callable[[Place], bool] = lambda place: True

    @property
    def name(self) -> str:
        """The stand-in's file name."""
        return f"{self.title.replace(' ', '_').replace(',', '').replace('-', '_')}.py"

    def target(self, place: Place) -> str:
        """Return the path of the file in a project."""
        if self.path == "option":
            return file_of(place.change.off[0])
        return self.path or f"{KIT}/{self.name}"


def write(place: Place, path: str, text: str) -> None:
    """Write a file of the project as bytes, so that line ends stay."""
    (place.project / path).parent.mkdir(parents=True, exist_ok=True)
    (place.project / path).write_bytes(text.encode())


def read(place: Place, path: str) -> str:
    """Return the text of a file of the project."""
    return (place.project / path).read_bytes().decode()


def replace_line(number: int) -> Callable[[Place, str, str], None]:
    """Return an edit of one line of a stand-in."""

    def do(place: Place, path: str, mark: str) -> None:
        before = f"LINE_{number} = {number}\n"
        assert before in read(place, path)
        write(place, path, read(place, path).replace(before, f"{mark}\n"))

    return do


def append(place: Place, path: str, mark: str) -> None:
    """Add a line at the end."""
    write(place, path, read(place, path) + f"# {mark}\n")


def create(place: Place, path: str, mark: str) -> None:
    """Make a file of the user's own."""
    write(place, path, f"{mark} = True\n")


def delete(place: Place, path: str, mark: str) -> None:
    """Delete a file."""
    (place.project / path).unlink()


def leave(place: Place, path: str, mark: str) -> None:
    """Do nothing."""


def rename(place: Place, path: str, mark: str) -> None:
    """Move a file to another name, with an edit in it."""
    write(place, f"{CODE}/renamed.py", read(place, path) + f"# {mark}\n")
    delete(place, path, mark)


def save_with_crlf(place: Place, path: str, mark: str) -> None:
    """Save with the line ends of Windows."""
    write(place, path, (read(place, path) + f"# {mark}\n").replace("\n", "\r\n"))


def make_executable(place: Place, path: str, mark: str) -> None:
    """Change the mode, and a line for the mark."""
    append(place, path, mark)
    (place.project / path).chmod(0o755)


def import_option(place: Place, path: str, mark: str) -> None:
    """Use a module that will be switched off."""
    module = file_of(place.change.off[0]).removeprefix(f"{CODE}/").removesuffix(".py")
    write(place, path, f"{mark} = True\n\nimport my_agent.{module.replace('/', '.')}\n")


def add_dependency(place: Place, path: str, mark: str) -> None:
    """Add a dependency of the user's own, below the comment that asks for it."""
    head, _, tail = read(place, path).partition("  # Your own:\n]\n\n[project.scripts]")
    write(place, path, f'{head}  # Your own:\n  "{mark}>=1",\n]\n\n[project.scripts]{tail}')


def pin(place: Place, path: str, mark: str) -> None:
    """Change the version that the template changes as well."""
    assert OLD_YAML in read(place, path)
    write(place, path, read(place, path).replace(OLD_YAML, f"pyyaml==6.0.3 # {mark}"))


def renamed(done: Done, path: str, mark: str) -> list[str]:
    """The user's file stays under its new name, and the report names the old one."""
    return missed(done, path, mark) + kept(done, f"{CODE}/renamed.py", mark)


def crlf_kept(done: Done, path: str, mark: str) -> list[str]:
    """All line ends are as the user saved them."""
    text = done.text(path) or ""
    return kept(done, path, mark) + (
        [] if text.count("\r\n") == text.count("\n") else ["LF came in"]
    )


def executable_kept(done: Done, path: str, mark: str) -> list[str]:
    """The mode is as the user set it."""
    mode = (done.place.project / path).stat().st_mode & 0o111
    return merged(done, path, mark) + ([] if mode == 0o111 else [f"the mode is {mode:o}"])


def dependency_kept(done: Done, path: str, mark: str) -> list[str]:
    """The user's dependency and the template's new version are both there."""
    new = f'"{NEW_YAML}"' in (done.text(path) or "")
    return kept(done, path, mark) + ([] if new else ["the template's change is missing"])


def is_new(place: Place) -> bool:
    """Tell whether the project has the user's files and a pyproject.toml from the template."""
    return not place.change.foreign


def is_foreign(place: Place) -> bool:
    """Tell whether it brought its own packaging, and no .gitattributes that turns CRLF into LF."""
    return place.change.foreign


def switches_off(place: Place) -> bool:
    """Tell whether the update takes an SDK or a module away."""
    return bool(place.change.off)


# No conflict comes of these: the update ends with a test run.
CALM = (
    Edit("edit elsewhere in a file", "merged, listed", merged, replace_line(19), "changed"),
    Edit("edit in a file that did not change", "kept", kept, replace_line(1), "same"),
    Edit("own file inside agentkit", "kept", kept, create, path=f"{KIT}/tools/mine.py"),
    Edit("own file beside agentkit", "kept", kept, create, path=f"{CODE}/mine.py"),
    Edit("own tools", "kept", kept, append, path=f"{CODE}/tools.py", applies=is_new),
    Edit("own main.py", "kept", kept, append, path=f"{CODE}/main.py", applies=is_new),
    Edit("deleted, written once", "stays away", absent, delete, path="README.md", applies=is_new),
    Edit(
        *("dependency added by hand", "merged", dependency_kept, add_dependency),
        path="pyproject.toml",
        applies=is_new,
    ),
    Edit("made executable", "merged, mode kept", executable_kept, make_executable, "changed"),
    Edit("saved with CRLF", "kept", crlf_kept, save_with_crlf, "same", applies=is_foreign),
    Edit("deleted, not changed since", "stays away", absent, delete, "same"),
    Edit("deleted, changed since", "named", missed, delete, "changed"),
    Edit("renamed, changed since", "kept, old name named", renamed, rename, "changed"),
    Edit("edited, dropped by the template", "named, way back", removed, append, "dropped"),
    Edit("not edited, dropped by the template", "gone, listed", dropped, leave, "dropped"),
    Edit(
        *("switched off while edited", "named, way back", removed, append),
        path="option",
        applies=switches_off,
    ),
    Edit(
        *("switched off, imported", "file and line named", imported, import_option),
        path=f"{CODE}/uses.py",
        applies=switches_off,
    ),
    Edit(
        *("switched off, used in main.py", "file and line named", named_import, leave),
        path=f"{CODE}/main.py",
        applies=lambda place: is_new(place) and "mcp" in place.change.off,
    ),
)
# Each of these is a conflict: the update ends with what to solve, and the command to run then.
ROUGH = (
    Edit("same line", "conflict, named", conflict, replace_line(1), "changed"),
    Edit("own file where one is added", "conflict, named", conflict, create, "added"),
    Edit(
        *("saved with CRLF, changed since", "conflict, named", conflict, save_with_crlf, "changed"),
        applies=is_foreign,
    ),
    Edit(
        *("same dependency, other version", "conflict, named", conflict, pin),
        path="pyproject.toml",
        applies=is_new,
    ),
    Edit(
        *("same requirement, other version", "conflict, named", conflict, pin),
        path="agentkit-requirements.txt",
        applies=is_foreign,
    ),
)
