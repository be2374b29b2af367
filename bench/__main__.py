"""Command line of the benchmarks.

python -m bench setup [ADAPTER...]        make the environments of these adapters, or of all
python -m bench smoke [ADAPTER...]        check that they give the right answers
python -m bench run LETTERS [ADAPTER...]  measure these scenarios and print their tables
python -m bench report [FOLDER]           print the tables of a run again
python -m bench profile LETTER ADAPTER    show where an adapter spends its time
python -m bench list                      name adapters and scenarios
"""

import argparse
import tempfile
import time
from pathlib import Path

from . import catalog, environments, launch, processes, setup
from .catalog import AdapterInfo
from .report import report
from .runner import measure
from .scenarios import ORDER, load

RESULTS = Path(__file__).parent / "results"


def main() -> None:
    """Parse the command and run it in a scratch folder that is removed at the end."""
    options = _options()
    with tempfile.TemporaryDirectory(prefix="bench-") as scratch:
        words: list[str] = options.words
        match options.command:
            case "setup":
                everything = [*catalog.names(), *catalog.server_names()]
                setup.setup(_adapters(words or everything), Path(scratch))
            case "smoke":
                raise SystemExit(smoke(_adapters(words), Path(scratch)))
            case "run":
                run(words, options, Path(scratch))
            case "report":
                print(report(Path(words[0]) if words else newest()))
            case "profile":
                profile(words, Path(scratch))
            case _:
                show()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    commands = ["setup", "smoke", "run", "report", "profile", "list"]
    parser.add_argument("command", choices=commands)
    parser.add_argument("words", nargs="*", metavar="ARGUMENT")
    parser.add_argument(
        "--quick", action="store_true", help="fewer repetitions: a check, not a result"
    )
    parser.add_argument("-o", "--output", type=Path, help="folder of the results; adds to it")
    return parser.parse_args()


def _adapters(words: list[str]) -> list[AdapterInfo]:
    return [catalog.read(name) for name in words or catalog.names()]


def smoke(adapters: list[AdapterInfo], scratch: Path) -> int:
    """Run the checks of every adapter and return how many adapters failed."""
    failed = 0
    with processes.MockServer() as server:
        for info in adapters:
            if info.generate:
                continue
            command = [environments.python(info.venv), "-m", "bench.smoke", info.name, server]
            done = processes.run(command, launch.variables(info, scratch))
            failed += done.code != 0
            print(f"{info.name}: {'FAILED' if done.code else 'ok'}\n{done.stdout}", end="")
            print(done.stderr[-1000:] if done.code else "", end="", flush=True)
    return failed


def run(words: list[str], options: argparse.Namespace, scratch: Path) -> None:
    """Measure scenarios and print their tables."""
    letters, names = (words[0], words[1:]) if words else (ORDER, [])
    unknown = set(letters) - set(ORDER)
    if unknown:
        raise SystemExit(f"no scenario {', '.join(sorted(unknown))}; there are: {', '.join(ORDER)}")
    folder = options.output or RESULTS / time.strftime("%Y%m%d-%H%M%S")
    with processes.MockServer() as server:
        measure(_adapters(names), letters, server, folder, scratch, options.quick)
    print("\n" + report(folder))


def profile(words: list[str], scratch: Path) -> None:
    """Show where one adapter spends its time in one scenario."""
    if len(words) != 2:
        raise SystemExit("usage: python -m bench profile LETTER ADAPTER")
    letter, info = words[0], catalog.read(words[1])
    with processes.MockServer() as server:
        command = [environments.python(info.venv), "-m", "bench.profile", info.name, letter, server]
        done = processes.run(command, launch.variables(info, scratch))
    print(done.stdout or done.stderr[-2000:])


def newest() -> Path:
    """Return the folder of the latest run."""
    folders = sorted(path.parent for path in RESULTS.glob("*/machine.json"))
    if not folders:
        raise SystemExit("nothing measured yet; run: python -m bench run B")
    return folders[-1]


def show() -> None:
    """Print the adapters and the scenarios."""
    for name in catalog.names():
        print(f"{name:20}{catalog.read(name).title}")
    for name in catalog.server_names():
        print(f"{name:20}{catalog.read(name).title}")
    for letter in ORDER:
        print(load(letter).TITLE)


if __name__ == "__main__":
    main()
