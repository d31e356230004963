"""Bandit, run in this process: the same findings as its command, fifty times faster once imported."""

from __future__ import annotations

import ast
import re
import threading
import time
import tomllib
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from agents.gates.base import Severity
from agents.gates.quiet import quiet
from agents.gates.scanner import RawFinding, Scan, Stage, canary
from agents.gates.source import Unit

# Bandit keeps plugins and a scope in class and module globals.
_LOCK = threading.Lock()
# Ordinary in tests: asserting, fixed sample passwords, scratch paths, a listening test server.
_QUIET_IN_TESTS = frozenset({"B101"})
_LOW_IN_TESTS = frozenset({"B104", "B105", "B106", "B107", "B108", "B113"})
_CONSTANT_NAME = re.compile(r"^_?[A-Z][A-Z0-9_]*$")


@cache
def remediation_table() -> dict[str, str]:
    """What to do about each Bandit test id."""
    text = (Path(__file__).parent / "remediation.toml").read_text(encoding="utf-8")
    table: dict[str, str] = tomllib.loads(text)["bandit"]
    return table


class BanditScanner:
    """Static checks for Python. `# nosec` and configuration files have no effect."""

    name = "bandit"
    languages = frozenset({"python"})
    canaries = (
        canary(
            "bandit.py",
            "python",
            "import subprocess, hashlib\nsubprocess.call(x, shell=True)  # nosec\nhashlib.md5(b'')\n",
            "B602",
            "B324",
        ),
    )

    def scan(self, stage: Stage) -> Scan:
        """Scan file by file, so that the deadline is met between files."""
        folder = stage.write()
        scan = Scan(version=version("bandit"))
        by_path = {str(folder / unit.name): unit for unit in stage.units}
        with _LOCK, quiet():
            manager = _manager()
            for path in by_path:
                if time.monotonic() > stage.deadline:
                    scan.problem = "timed out"
                    return scan
                manager.files_list = [path]
                manager.run_tests()
        for path, why in manager.get_skipped():
            unit = by_path[str(path)]
            scan.problem = scan.problem or f"{unit.path or 'the canary'} was not scanned: {why}"
        skipped = {str(path) for path, _ in manager.get_skipped()}
        scan.scanned = {unit.name for path, unit in by_path.items() if path not in skipped}
        for issue in manager.get_issue_list():
            scan.findings.append(
                RawFinding(
                    unit=by_path[issue.fname].name,
                    line=issue.lineno,
                    rule=issue.test_id,
                    severity=Severity.read(issue.severity),
                    confidence=str(issue.confidence),
                    cwe=f"CWE-{issue.cwe.id}" if issue.cwe and issue.cwe.id else "",
                    message=issue.text,
                    remediation=remediation_table().get(issue.test_id, remediation_table()["default"]),
                )
            )
        scan.ran = True
        return scan


def _manager() -> Any:
    from bandit.core.config import BanditConfig
    from bandit.core.manager import BanditManager

    # debug makes a crash inside a plugin skip the file, which blocks; without it the crash is only logged.
    return BanditManager(BanditConfig(), "file", debug=True, ignore_nosec=True)


def judge(raw: RawFinding, unit: Unit, in_tests: bool) -> RawFinding | None:
    """Take the known false alarms out: test idioms, and SQL whose inserted parts are constants or placeholders."""
    if in_tests and raw.rule in _QUIET_IN_TESTS:
        return None
    low = (in_tests and raw.rule in _LOW_IN_TESTS) or (raw.rule == "B608" and _only_constants(unit.data, raw.line))
    if not low:
        return raw
    return RawFinding(raw.unit, raw.line, raw.rule, Severity.LOW, "LOW", raw.cwe, raw.message, raw.remediation)


def _only_constants(data: bytes, line: int) -> bool:
    try:
        module = ast.parse(data)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    marks = {
        target.id
        for node in ast.walk(module)
        if isinstance(node, ast.Assign) and _is_placeholders(node.value)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    strings = [n for n in ast.walk(module) if isinstance(n, ast.JoinedStr) and n.lineno <= line <= (n.end_lineno or 0)]
    values = [v.value for n in strings for v in n.values if isinstance(v, ast.FormattedValue)]
    return bool(strings) and all(_is_harmless(value, marks) for value in values)


def _is_harmless(node: ast.expr, marks: set[str]) -> bool:
    if isinstance(node, ast.Name):
        return node.id in marks or bool(_CONSTANT_NAME.match(node.id))
    return isinstance(node, ast.Constant) or _is_placeholders(node)


def _is_placeholders(node: ast.expr) -> bool:
    """`",".join("?" for _ in ids)` and `",".join(["?"] * len(ids))`: as many marks as values, no data."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "join"):
        return False
    if not (isinstance(node.func.value, ast.Constant) and len(node.args) == 1):
        return False
    argument = node.args[0]
    if isinstance(argument, ast.BinOp) and isinstance(argument.op, ast.Mult):
        argument = argument.left
    parts: list[ast.expr] = [argument]
    if isinstance(argument, ast.GeneratorExp | ast.ListComp):
        parts = [argument.elt]
    elif isinstance(argument, ast.List):
        parts = argument.elts
    return all(isinstance(part, ast.Constant) and part.value in ("?", "%s") for part in parts)
