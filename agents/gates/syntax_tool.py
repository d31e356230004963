"""Every Python file must parse: what does not parse is not scanned by anything else."""

from __future__ import annotations

import io
import re
import sys
import tokenize
import unicodedata
import warnings

from agents.gates.base import Severity
from agents.gates.quiet import quiet
from agents.gates.scanner import RawFinding, Scan, Stage, canary
from agents.gates.source import Unit

_COOKIE = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
# What the compiler itself warns of: the beginning of its words, our rule, CWE, remedy.
_WARNINGS = (
    ('"is', "identity-of-value", "CWE-595", "Compare values with == or !=."),
    ("assertion is always true", "assert-always-true", "CWE-571", "Remove the parentheses: assert condition, message."),
)
_BIDI = re.compile("[\u202a-\u202e\u2066-\u2069]")


class SyntaxScanner:
    """Python that does not compile (it is not run), text that reads differently than it runs, vacuous assertions."""

    name = "syntax"
    languages = frozenset({"python", "javascript", "typescript", "shell", "template"})
    canaries = (
        canary("syntax.py", "python", "def broken(:\n", "syntax-error"),
        canary("syntax.js", "javascript", "let a = 1; // \u202e\n", "bidirectional-text"),
    )

    def scan(self, stage: Stage) -> Scan:
        """Check every unit."""
        scan = Scan(version=".".join(map(str, sys.version_info[:3])), ran=True)
        for unit in stage.units:
            scan.scanned.add(unit.name)
            if _BIDI.search(unit.data.decode("utf-8", "replace")):
                line = _line_of(unit, _BIDI)
                scan.findings.append(
                    _finding(
                        unit,
                        line,
                        "bidirectional-text",
                        "CWE-1007",
                        "Invisible characters make this line read differently than it runs.",
                        "Remove the bidirectional control characters.",
                    )
                )
            if unit.language == "python":
                scan.findings.extend(_check_python(unit))
        return scan


def _line_of(unit: Unit, pattern: re.Pattern[str]) -> int:
    lines = unit.data.decode("utf-8", "replace").split("\n")
    return next((number for number, line in enumerate(lines, 1) if pattern.search(line)), 1)


def _check_python(unit: Unit) -> list[RawFinding]:
    found: list[RawFinding] = []
    for number, line in enumerate(unit.data.split(b"\n", 2)[:2], 1):
        cookie = _COOKIE.match(line)
        if cookie and cookie[1].lower().replace(b"_", b"-") not in (b"utf-8", b"utf8", b"ascii", b"us-ascii"):
            found.append(
                _finding(
                    unit,
                    number,
                    "odd-encoding",
                    "CWE-838",
                    "The file is not UTF-8, so scanners may read other text than Python does.",
                    "Save it as UTF-8 and remove the coding line.",
                )
            )
    try:
        with quiet(), warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            compile(unit.data, unit.path or unit.name, "exec", dont_inherit=True)
        found.extend(_warned(unit, warned))
    except SyntaxError as error:
        message = f"Does not parse: {error.msg}." if error.msg else "Does not parse."
        found.append(
            _finding(
                unit,
                error.lineno or 1,
                "syntax-error",
                "CWE-1076",
                message,
                "Correct the syntax; the rest of the file was not checked.",
            )
        )
        return found
    except (ValueError, RecursionError, MemoryError, OverflowError) as error:
        found.append(
            _finding(
                unit,
                1,
                "syntax-error",
                "CWE-1076",
                f"Does not parse: {type(error).__name__}.",
                "Simplify the file; it was not checked.",
            )
        )
        return found
    if not unit.data.isascii():
        found.extend(_disguised_names(unit))
    return found


def _warned(unit: Unit, warned: list[warnings.WarningMessage]) -> list[RawFinding]:
    """The few of the compiler's warnings that say that a check does not check."""
    return [
        RawFinding(unit.name, warning.lineno, rule, Severity.MEDIUM, "HIGH", cwe, f"{warning.message}", remediation)
        for warning in warned
        for beginning, rule, cwe, remediation in _WARNINGS
        if str(warning.message).startswith(beginning)
    ]


def _disguised_names(unit: Unit) -> list[RawFinding]:
    """Python folds look-alike letters (a mathematical e into e); scanners that compare bytes do not."""
    try:
        tokens = list(tokenize.tokenize(io.BytesIO(unit.data).readline))
    except (tokenize.TokenError, SyntaxError, ValueError):
        return [_finding(unit, 1, "syntax-error", "CWE-1076", "Could not be split into tokens.", "Simplify the file.")]
    return [
        _finding(
            unit,
            token.start[0],
            "disguised-name",
            "CWE-1007",
            "A name is written in look-alike letters.",
            "Write names in plain letters.",
        )
        for token in tokens
        if token.type == tokenize.NAME and unicodedata.normalize("NFKC", token.string) != token.string
    ]


def _finding(unit: Unit, line: int, rule: str, cwe: str, message: str, remediation: str) -> RawFinding:
    return RawFinding(unit.name, line, rule, Severity.HIGH, "HIGH", cwe, message, remediation)
