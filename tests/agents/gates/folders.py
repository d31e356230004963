"""Folders of code for the gates, and the mark of tests that need Semgrep."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from agents.gates.base import Disposition
from agents.gates.semgrep_tool import find_semgrep

needs_semgrep = pytest.mark.skipif(
    find_semgrep() is None, reason="semgrep is not installed (requirements/semgrep.lock.txt)"
)


def write(root: Path, files: Mapping[str, str | bytes]) -> Path:
    """Write the files below the folder, which need not be there, and return it."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return root


def program(path: Path, text: str) -> Path:
    """An executable script."""
    path.write_text(text)
    path.chmod(0o755)
    return path


def until_tomorrow(*marks: str) -> dict[str, Disposition]:
    """A person's decisions about findings with these fingerprints."""
    return dict.fromkeys(marks, Disposition("only in a demo", datetime.now(UTC) + timedelta(days=1)))
