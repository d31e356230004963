"""Bandit, run in this process: the same findings as its command, fifty times faster once imported."""

from __future__ import annotations

import ast
import threading
import time
import tomllib
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from agents.gates.base import RawFinding, Severity
from agents.gates.scanner import Scan, Stage, canary
from agents.gates.source import Unit
from agents.gates.taint import address_is_checked, first_argument_is_constant, reads_own_pickle, sql_is_settled
from agents.languages.python import syntax
from agents.languages.python.quiet import quiet

# Bandit keeps plugins and a scope in class and module globals.
_LOCK = threading.Lock()
# Ordinary in tests: asserting, fixed sample passwords, scratch paths, a listening test server.
_QUIET_IN_TESTS = frozenset({"B101"})
_LOW_IN_TESTS = frozenset({"B104", "B105", "B106", "B107", "B108", "B113"})


@cache
def remediation_table() -> dict[str, str]:
    """What to do about each Bandit test id."""
    text = (Path(__file__).parent / "remediation.toml").read_text(encoding="utf-8")
    table: dict[str, str] = tomllib.loads(text)["bandit"]
    return table


class BanditScanner:
    """Bandit's static checks for Python. `# nosec` and configuration files have no effect."""

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
                with syntax.TURN:
                    manager.run_tests()
        for path, why in manager.get_skipped():
            scan.failures[by_path[str(path)].name] = str(why)
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
    """Take the known false alarms out: test idioms, and calls whose words show that they are in order."""
    if in_tests and raw.rule in _QUIET_IN_TESTS:
        return None
    if not ((in_tests and raw.rule in _LOW_IN_TESTS) or _in_order(raw, unit.data)):
        return raw
    return raw.lowered()


def _in_order(raw: RawFinding, data: bytes) -> bool:
    if raw.rule == "B413":
        # The name `Crypto` was pyCrypto's, which died in 2014; today pycryptodome owns it. Weak ciphers have own rules.
        return True
    if raw.rule == "B402":
        return _only_encrypted_ftp(data, raw.line)
    if raw.rule == "B601":
        return first_argument_is_constant(data, raw.line, "exec_command")
    if raw.rule == "B301":
        return reads_own_pickle(data, raw.line)
    if raw.rule == "B310":
        return address_is_checked(data, raw.line)
    return raw.rule == "B608" and sql_is_settled(data, raw.line)


def _only_encrypted_ftp(data: bytes, line: int) -> bool:
    imports = [n for n in ast.walk(syntax.module(data)) if isinstance(n, ast.ImportFrom) and n.lineno == line]
    names = {alias.name for node in imports for alias in node.names}
    return bool(names) and names <= {"FTP_TLS", "all_errors", "error_perm", "error_temp"}
