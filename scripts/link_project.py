"""Make this checkout importable in the environment that runs this script, and give it the `aiswe` command.

Works offline and needs no build tool: a .pth file for the packages, a small script for the command.
"""

from __future__ import annotations

import sys
import sysconfig
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent


def main() -> None:
    """Write both files, replacing older ones."""
    Path(sysconfig.get_path("purelib"), "aiswe.pth").write_text(f"{REPOSITORY}\n")
    command = Path(sysconfig.get_path("scripts"), "aiswe")
    command.write_text(f"#!{sys.executable}\nfrom aiswe_site.cli import main\n\nmain()\n")
    command.chmod(0o755)


if __name__ == "__main__":
    main()
