"""The command line: arguments in, an exit code out."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from __PACKAGE__ import __version__


def parser() -> argparse.ArgumentParser:
    """The arguments that the program takes."""
    made = argparse.ArgumentParser(prog="__SLUG__", description="__NAME__")
    made.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    return made


def main(argv: Sequence[str] | None = None) -> int:
    """Do what the arguments say and return the exit code."""
    parser().parse_args(argv)
    return 0
