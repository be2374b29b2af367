"""Prints the update matrix: `python -m tests.updates`, from the repository's root.

Takes a few minutes. Exits with 1 if a cell is no check mark, and with one line in a shallow clone.
"""

from __future__ import annotations

import sys
from pathlib import Path


def main() -> int:
    """Run every update and print what came of every edit."""
    sys.path.insert(0, str(Path(__file__).parents[1]))
    from .releases import ReleaseNotFound
    from .table import columns, is_good, table

    try:
        found = columns()
    except ReleaseNotFound as error:
        print(error, file=sys.stderr)
        return 1
    print(table(found))
    return 0 if is_good(found) else 1


if __name__ == "__main__":
    sys.exit(main())
