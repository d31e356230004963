"""Every Python file must parse: what does not parse is not scanned by anything else."""

from __future__ import annotations

import io
import re
import sys
import tokenize
import unicodedata
import warnings
from collections.abc import Iterator

from agents.gates.base import RawFinding, own_finding
from agents.gates.kinds import text_languages
from agents.gates.scanner import Scan, Stage, canary
from agents.gates.source import Unit
from agents.languages.python.quiet import quiet

_COOKIE = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
# The few of the compiler's warnings that say that a check does not check: how they begin, and our rule.
_WARNINGS = {'"is': "identity-of-value", "assertion is always true": "assert-always-true"}
_BIDI = re.compile("[\u202a-\u202e\u2066-\u2069]")


class SyntaxScanner:
    """Python that does not compile (it is not run), text that reads differently than it runs, vacuous assertions."""

    name = "syntax"
    languages = text_languages() - {"text"}
    canaries = (
        canary("syntax.py", "python", "def broken(:\n", "syntax-error"),
        canary("syntax.js", "javascript", "let a = 1; // \u202e\n", "bidirectional-text"),
    )

    def scan(self, stage: Stage) -> Scan:
        """Check every unit."""
        scan = Scan(version=".".join(map(str, sys.version_info[:3])), ran=True)
        for unit in stage.units:
            scan.scanned.add(unit.name)
            lines = unit.data.decode("utf-8", "replace").split("\n")
            if line := next((number for number, line in enumerate(lines, 1) if _BIDI.search(line)), 0):
                scan.findings.append(own_finding("bidirectional-text", unit.name, line))
            if unit.language == "python":
                scan.findings.extend(_check_python(unit))
        return scan


def _check_python(unit: Unit) -> Iterator[RawFinding]:
    for number, line in enumerate(unit.data.split(b"\n", 2)[:2], 1):
        cookie = _COOKIE.match(line)
        if cookie and cookie[1].lower().replace(b"_", b"-") not in (b"utf-8", b"utf8", b"ascii", b"us-ascii"):
            yield own_finding("odd-encoding", unit.name, number)
    try:
        with quiet(), warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            compile(unit.data, unit.path or unit.name, "exec", dont_inherit=True)
    except SyntaxError as error:
        why = f": {error.msg}" if error.msg else ""
        yield own_finding("syntax-error", unit.name, error.lineno or 1, why=why)
        return
    except (ValueError, RecursionError, MemoryError, OverflowError) as error:
        yield own_finding("too-complex", unit.name, 1, why=type(error).__name__)
        return
    for warning in warned:
        for beginning, rule in _WARNINGS.items():
            if str(warning.message).startswith(beginning):
                yield own_finding(rule, unit.name, warning.lineno, warning=warning.message)
    if not unit.data.isascii():
        yield from _disguised_names(unit)


def _disguised_names(unit: Unit) -> Iterator[RawFinding]:
    """Python folds look-alike letters (a mathematical e into e); scanners that compare bytes do not."""
    try:
        tokens = list(tokenize.tokenize(io.BytesIO(unit.data).readline))
    except (tokenize.TokenError, SyntaxError, ValueError):
        yield own_finding("no-tokens", unit.name, 1)
        return
    for token in tokens:
        if token.type == tokenize.NAME and unicodedata.normalize("NFKC", token.string) != token.string:
            yield own_finding("disguised-name", unit.name, token.start[0])
