"""The packages that Node programs find inside a bubblewrap sandbox; the program itself is the host's."""

from __future__ import annotations

import os
from pathlib import Path

VARIABLE = "AISWE_SANDBOX_NODE"
REPOSITORY = Path(__file__).resolve().parent.parent


def find_node_modules() -> Path | None:
    """The folder shown as /node_modules (`AISWE_SANDBOX_NODE`, else `.venv-sandbox-node` beside this package), if it is there.

    Node looks for packages upwards from the file that asks, so every program below /workspace finds them.
    """
    chosen = os.environ.get(VARIABLE)
    folder = Path(chosen).expanduser().absolute() if chosen else REPOSITORY / ".venv-sandbox-node"
    if folder.name != "node_modules":
        folder = folder / "node_modules"
    return folder if folder.is_dir() else None
