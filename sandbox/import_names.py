"""Which distribution brings a module, where the two names differ."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

DISTRIBUTIONS: dict[str, str] = tomllib.loads(Path(__file__).with_name("import_names.toml").read_text())
MODULE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*")


def distribution_for(module: str) -> str | None:
    """The distribution to ask for when `module` cannot be imported; None for the standard library or no module name.

    A name that is not in the table is its own distribution's name, in PyPI's spelling: the allow-list decides about it.
    """
    if not MODULE.fullmatch(module):
        return None
    parts = module.split(".")
    for size in (2, 1):
        known = DISTRIBUTIONS.get(".".join(parts[:size]))
        if known:
            return known
    top = parts[0]
    if top in sys.stdlib_module_names:
        return None
    return re.sub(r"[-_.]+", "-", top).lower().strip("-") or None
