"""Hard-coded secrets: known formats anywhere, and literals assigned to names that say what they are."""

from __future__ import annotations

import re

from agents.gates.base import RawFinding, Severity
from agents.gates.kinds import text_languages
from agents.gates.scanner import Scan, Stage, canary
from agents.gates.source import Unit
from agents.secrets.disguise import find_disguised
from agents.secrets.formats import WHOLE_KINDS, find_known, formats, is_placeholder
from agents.secrets.names import find_assigned

_ADVICE = "Read it from the environment, refuse to start without it, and replace the leaked value where it was issued."
_GUESSED = ("assigned-", "random-literal")
_CANARY_TOKEN = "gh" + "p_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"


class SecretsScanner:
    """Hard-coded secrets in every text file: known formats, and random values under names that promise a secret."""

    name = "secrets"
    languages = text_languages()
    canaries = (
        canary(
            "secrets.py",
            "python",
            f'key = "{_CANARY_TOKEN}"\ndb_pass' + 'word = "Tr0ub4dor&3x"\n',
            "github-token",
            "assigned-password",
        ),
    )

    def scan(self, stage: Stage) -> Scan:
        """Look at each unit as text; a secret may stand anywhere, whole, encoded or in pieces."""
        scan = Scan(version=f"{len(formats())} formats", ran=True)
        own = [value for value in stage.policy.extra_secrets if len(value) >= 6]
        for unit in stage.units:
            scan.findings += _look(unit, own)
            scan.scanned.add(unit.name)
        return scan


def _look(unit: Unit, own: list[str]) -> list[RawFinding]:
    text = unit.data.decode("utf-16" if unit.data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8", "replace")
    findings: list[RawFinding] = []
    taken: list[tuple[int, int]] = []

    def note(kind: str, start: int, end: int, severity: Severity, confidence: str) -> None:
        if not any(a < end and start < b for a, b in taken):
            taken.append((start, end))
            findings.append(_finding(unit.name, text, start, kind, severity, confidence))

    for value in own:
        for match in re.finditer(re.escape(value), text):
            note("configured-secret", *match.span(), Severity.CRITICAL, "HIGH")
    for kind, start, end in find_known(text):
        if kind in WHOLE_KINDS or not is_placeholder(text[start:end]):
            note(kind, start, end, Severity.HIGH, "HIGH")
    for kind, start, end, sure in find_assigned(text, unit.language):
        note(kind, start, end, Severity.HIGH if sure else Severity.MEDIUM, "MEDIUM")
    for kind, start, end in find_disguised(text):
        note(f"disguised-{kind}", start, end, Severity.HIGH, "MEDIUM")
    return findings


def judge(raw: RawFinding, in_tests: bool) -> RawFinding:
    """Sample passwords are ordinary in tests; a token in a known format is not."""
    if not (in_tests and raw.rule.startswith(_GUESSED)):
        return raw
    return raw.lowered()


def _finding(unit: str, text: str, start: int, kind: str, severity: Severity, confidence: str) -> RawFinding:
    # The message never repeats the secret: reports are stored and shown.
    message = f"A hard-coded secret ({kind.replace('-', ' ')})."
    return RawFinding(unit, text.count("\n", 0, start) + 1, kind, severity, confidence, "CWE-798", message, _ADVICE)
