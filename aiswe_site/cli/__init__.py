"""The `aiswe` command. Its words, documents and exit codes are a contract; see docs/reference/cli.md."""

import sys

from aiswe_site.cli.overview import columns, overview


def main() -> None:
    """Entry point of the installed command; always ends in SystemExit."""
    argv = sys.argv[1:]
    if argv in (["--help"], ["-h"]):
        sys.stdout.write(overview(columns()))
        sys.exit(0)
    # Imported on use: the parser of command lines takes several times as long as the overview.
    from aiswe_site.cli.app import run

    sys.exit(run(argv))


__all__ = ["main"]
