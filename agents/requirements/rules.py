"""The rules of extraction that are data."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any


@cache
def rules(name: str) -> dict[str, Any]:
    """The TOML file of this name in this package, read once."""
    return tomllib.loads((Path(__file__).parent / f"{name}.toml").read_text("utf-8"))
