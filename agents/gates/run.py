"""Run the gates over a folder and give one verdict: blocked, unless every scanner proved that it looked."""

from __future__ import annotations

import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from agents.gates import bandit_tool, secrets_tool
from agents.gates.advisories_tool import AdvisoriesScanner
from agents.gates.bandit_tool import BanditScanner
from agents.gates.base import (
    Disposition,
    GateError,
    GateFinding,
    GateReport,
    Policy,
    RawFinding,
    Severity,
    ToolReport,
    fingerprint,
)
from agents.gates.commands_tool import CommandsScanner
from agents.gates.containers_tool import ContainersScanner
from agents.gates.flow_tool import FlowScanner
from agents.gates.isolation import NAMED, failures_text, scan_apart
from agents.gates.scanner import Scan, Scanner
from agents.gates.secrets_tool import SecretsScanner
from agents.gates.semgrep_tool import SemgrepScanner
from agents.gates.source import Tree, Unit, collect, is_test_path
from agents.gates.style_tool import StyleScanner
from agents.gates.surroundings import surroundings
from agents.gates.syntax_tool import SyntaxScanner
from agents.gates.taint import sql_is_settled

SCANNERS: Mapping[str, Callable[[], Scanner]] = {
    "bandit": BanditScanner,
    "semgrep": SemgrepScanner,
    "flow": FlowScanner,
    "secrets": SecretsScanner,
    "syntax": SyntaxScanner,
    "style": StyleScanner,
    "containers": ContainersScanner,
    "commands": CommandsScanner,
    "advisories": AdvisoriesScanner,
}
REPORTED_ONLY = frozenset({"style"})  # gates whose findings never block
DEFAULT_POLICY = Policy()
_NO_DISPOSITIONS: Mapping[str, Disposition] = {}


def run_gates(
    root: Path,
    *,
    tools: Sequence[str] | None = None,
    paths: Sequence[str] | None = None,
    policy: Policy = DEFAULT_POLICY,
    dispositions: Mapping[str, Disposition] = _NO_DISPOSITIONS,
) -> GateReport:
    """Scan `root` (or only the files `paths` below it) and decide.

    `dispositions` maps fingerprints to a person's decisions. Trouble with a scanner or a file blocks and is named in
    the reasons. Raises `GateError` only for a wrong request: unknown tool, missing folder, path outside the folder.
    """
    chosen = _choose(tools)
    reports: dict[str, ToolReport] = {}
    for part in collect(root, policy, paths):
        for name, report in _scan_part(chosen, part, policy, root).items():
            reports[name] = reports[name].joined(report) if name in reports else report
    return _decide(reports, policy, dispositions)


def _scan_part(chosen: Sequence[Scanner], tree: Tree, policy: Policy, root: Path) -> dict[str, ToolReport]:
    with tempfile.TemporaryDirectory(prefix="aiswe-gate-") as scratch, ThreadPoolExecutor(max_workers=2) as pool:
        # These wait for processes of their own: the others run beside them, and do not keep them from starting.
        order = sorted(chosen, key=lambda scanner: ("semgrep", "style", scanner.name).index(scanner.name))
        futures = {s.name: pool.submit(_run_one, s, tree, policy, Path(scratch) / s.name, root) for s in order}
        reports = {scanner.name: futures[scanner.name].result() for scanner in chosen}
    noted = tuple(
        _located("files", policy, one, one.unit, one.line, _mark_of_file(one, tree.digests.get(one.unit, b"")))
        for one in tree.findings
    )
    return {**reports, "files": ToolReport("files", True, "1", tree.files, "; ".join(tree.problems), noted)}


def _mark_of_file(raw: RawFinding, digest: bytes) -> str:
    # A decision about one part that is not checked must not cover another part of the same file.
    return fingerprint(raw.rule, raw.unit, digest, around=f"{raw.line} {raw.message}".encode())


def _choose(tools: Sequence[str] | None) -> list[Scanner]:
    names = list(SCANNERS) if tools is None else list(dict.fromkeys(tools))
    unknown = [name for name in names if name not in SCANNERS]
    if unknown or not names:
        known = ", ".join(SCANNERS)
        raise GateError(f"unknown gate {unknown[0]!r}; known: {known}" if unknown else f"no gate named; known: {known}")
    return [SCANNERS[name]() for name in names]


def _run_one(scanner: Scanner, tree: Tree, policy: Policy, scratch: Path, root: Path) -> ToolReport:
    started = time.monotonic()
    units = {unit.name: unit for unit in tree.units if unit.language in scanner.languages}
    scratch.mkdir()
    scan = scan_apart(scanner, list(units.values()), policy, scratch, root)
    problem = scan.problem or _doubt(units, scan)
    findings = _map(scanner, policy, units, scan)
    paths = {unit.path for name, unit in units.items() if name in scan.scanned}
    ran = scan.ran and not (problem and not scan.scanned)
    return ToolReport(scanner.name, ran, scan.version, len(paths), problem, findings, time.monotonic() - started)


def _doubt(units: Mapping[str, Unit], scan: Scan) -> str:
    """Why the scan proves nothing: it did not finish, failed on a file or left one out."""
    if not scan.ran:
        return "did not run"
    if failed := failures_text(scan, list(units.values())):
        return failed
    left_out = sorted({unit.path for name, unit in units.items() if name not in scan.scanned})
    if left_out:
        more = f" and {len(left_out) - NAMED} more" if len(left_out) > NAMED else ""
        return f"did not scan {', '.join(left_out[:NAMED])}{more}"
    return ""


def _map(scanner: Scanner, policy: Policy, units: Mapping[str, Unit], scan: Scan) -> tuple[GateFinding, ...]:
    findings: list[GateFinding] = []
    seen: Counter[tuple[str, str, bytes, bytes]] = Counter()
    for raw in sorted(set(scan.findings), key=lambda raw: (raw.unit, raw.line, raw.rule, raw.message)):
        unit = units.get(raw.unit)
        judged = _judged_safely(scanner.name, raw, unit) if unit else None
        if unit is None or judged is None:
            continue
        lines = unit.data.split(b"\n")
        code = lines[raw.line - 1] if 0 < raw.line <= len(lines) else b""
        rule = f"{raw.rule} {raw.subject}".strip()
        around = b"" if scanner.name in REPORTED_ONLY else surroundings(unit, raw.line)
        key = (rule, unit.path, b" ".join(code.split()), around)
        mark = fingerprint(rule, unit.path, code, seen[key], around)
        seen[key] += 1
        findings.append(_located(scanner.name, policy, judged, unit.path, unit.line_in_file(raw.line), mark))
    return tuple(findings)


def _located(tool: str, policy: Policy, raw: RawFinding, path: str, line: int, mark: str) -> GateFinding:
    return GateFinding(
        *(tool, raw.rule, policy.severity(raw), raw.confidence, raw.cwe, path, line, raw.message, raw.remediation, mark)
    )


def _judged_safely(tool: str, raw: RawFinding, unit: Unit) -> RawFinding | None:
    try:
        return _judge(tool, raw, unit)
    except (RecursionError, MemoryError):
        return raw  # too deep to look for what would excuse it


def _judge(tool: str, raw: RawFinding, unit: Unit) -> RawFinding | None:
    in_tests = is_test_path(unit.path)
    if raw.skip_in_tests and in_tests:
        return None
    if tool == "bandit":
        return bandit_tool.judge(raw, unit, in_tests)
    if tool == "semgrep" and raw.rule == "py-sql-built-in-call" and sql_is_settled(unit.data, raw.line):
        return None
    return secrets_tool.judge(raw, in_tests) if tool == "secrets" else raw


def _decide(reports: Mapping[str, ToolReport], policy: Policy, dispositions: Mapping[str, Disposition]) -> GateReport:
    findings = sorted(
        (finding for report in reports.values() for finding in report.findings),
        key=lambda f: (-f.severity, f.path, f.line, f.tool, f.rule),
    )
    reasons = [f"{r.name} {r.problem}" for r in reports.values() if r.problem]
    reasons += [f"{r.name} did not run" for r in reports.values() if not r.ran and not r.problem]
    reasons += [str(finding) for finding in findings if _blocks(finding, policy, dispositions)]
    return GateReport("blocked" if reasons else "pass", tuple(reasons), reports, tuple(findings))


def _blocks(finding: GateFinding, policy: Policy, dispositions: Mapping[str, Disposition]) -> bool:
    if finding.tool in REPORTED_ONLY:
        return False
    disposition = dispositions.get(finding.fingerprint)
    disposed = disposition is not None and disposition.holds()
    if finding.severity >= policy.block_at:
        return not (disposed and policy.high_may_be_disposed)
    if finding.severity == Severity.MEDIUM:
        return policy.medium == "block" or (policy.medium == "disposition" and not disposed)
    return False
