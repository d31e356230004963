"""`python -m __PACKAGE__ INPUT [-o REPORT]`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from __PACKAGE__.reading import UnusableInput, read_rows
from __PACKAGE__.report import report_of


def main(argv: Sequence[str] | None = None) -> int:
    """Read the input and write the report; return the exit code."""
    parser = argparse.ArgumentParser(prog="__SLUG__", description="__NAME__")
    parser.add_argument("input", type=Path, help="a .csv or .json file")
    parser.add_argument("-o", "--output", type=Path, help="where the report goes; printed by default")
    given = parser.parse_args(argv)
    try:
        text = report_of(read_rows(given.input))
    except UnusableInput as error:
        print(error, file=sys.stderr)
        return 1
    if given.output:
        given.output.write_text(text, encoding="utf-8")
    else:
        print(text, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
