"""What the review gates hold against a change before it is written: the editor's folder has no merge to stop it."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from difflib import SequenceMatcher
from pathlib import Path

from agents.conversation.state import FileChange
from agents.gates.base import GateError
from projects.engine.building import gates

MOST_TOLD = 5


def gate_doubts(changes: Sequence[FileChange]) -> list[str]:
    """Findings at lines that are new, worded as in a verdict; a scanner that did not run is one too."""
    written = {change.path: change for change in changes if change.new is not None}
    with tempfile.TemporaryDirectory(prefix="aiswe-acp-") as name:
        root = Path(name)
        try:
            for path, change in written.items():
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_text(change.new or "", "utf-8")
            report = gates(root, list(written), {})
        except (GateError, OSError) as problem:
            return [f"the review gates did not run: {problem}"]
    places = {str(one): one for one in report.findings}
    new = {path: _new_lines(change) for path, change in written.items()}
    held = [
        reason
        for reason in report.reasons
        if (one := places.get(reason)) is None or not one.line or one.line in new.get(one.path, ())
    ]
    return held[:MOST_TOLD]


def _new_lines(change: FileChange) -> set[int]:
    """The numbers of the lines that the old text does not have."""
    old, new = (change.old or "").splitlines(), (change.new or "").splitlines()
    blocks = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    return {row + 1 for tag, _, _, start, end in blocks if tag != "equal" for row in range(start, end)}
