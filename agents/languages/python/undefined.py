"""Names that a module uses and nothing in it defines, found by ruff, which only reads."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

_SECONDS = 30


def undefined_names(source: str) -> list[tuple[int, str]]:
    """Lines and names; [] also where ruff is missing, fails, or cannot read the source."""
    beside = Path(sys.executable).parent / "ruff"
    program = str(beside) if beside.exists() else shutil.which("ruff")
    if program is None:
        return []
    options = ["--isolated", "--no-cache", "--quiet", "--select", "F821", "--output-format", "json"]
    argv = [program, "check", *options, "--stdin-filename", "module.py", "-"]
    try:
        done = subprocess.run(argv, input=source.encode("utf-8", "replace"), capture_output=True, timeout=_SECONDS)
        rows = json.loads(done.stdout)
    except (OSError, subprocess.TimeoutExpired, ValueError):
        return []
    found = [(row["location"]["row"], str(row["message"])) for row in rows if row["code"] == "F821"]
    return [(line, message.split("`")[1]) for line, message in found if message.count("`") > 1]
