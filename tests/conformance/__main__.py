"""Prints the tables: `python -m tests.conformance`, from the repository's root.

Takes about a minute. Exits with 1 if a cell is no check mark.
"""

from __future__ import annotations

import sys
from pathlib import Path

RUNTIME = Path(__file__).parents[2] / "template" / "{{ code_root }}"


def main() -> int:
    """Run every scenario and print how they ended."""
    sys.path.insert(0, str(RUNTIME))
    from .table import is_good, tables

    text = tables()
    print(text)
    return 0 if is_good(text) else 1


if __name__ == "__main__":
    sys.exit(main())
