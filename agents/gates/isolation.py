"""Run a scanner so that a file which breaks it costs that file alone: the file is named, the others are scanned."""

from __future__ import annotations

import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import mkdtemp

from agents.gates.base import Policy
from agents.gates.scanner import Scan, Scanner, Stage
from agents.gates.source import Unit

NAMED = 5  # files in one sentence


def scan_apart(scanner: Scanner, units: Sequence[Unit], policy: Policy, scratch: Path, root: Path) -> Scan:
    """Scan all units at once; when the scanner fails on them but not on its canaries alone, in halves."""
    deadline = time.monotonic() + policy.timeout_seconds
    scan = _attempt(scanner, units, policy, scratch, root, deadline)
    if scan.ran or not units or time.monotonic() > deadline:
        return scan
    alone = _attempt(scanner, [], policy, scratch, root, deadline)
    return _halved(scanner, units, policy, scratch, root, deadline, scan.problem) if alone.ran else scan


def failures_text(scan: Scan, units: Sequence[Unit]) -> str:
    """Which files the scanner failed on, and why; "" when it did not."""
    reasons = {unit.path or "the canary": scan.failures[unit.name] for unit in units if unit.name in scan.failures}
    said = [f"could not scan all of {path}: {why}" for path, why in sorted(reasons.items())]
    more = f"; and {len(said) - NAMED} more files" if len(said) > NAMED else ""
    return "; ".join(said[:NAMED]) + more


def _attempt(
    scanner: Scanner, units: Sequence[Unit], policy: Policy, scratch: Path, root: Path, deadline: float
) -> Scan:
    folder = Path(mkdtemp(dir=scratch))
    stage = Stage(folder, [*units, *(canary.unit for canary in scanner.canaries)], policy, deadline, root)
    try:
        scan = scanner.scan(stage)
    except Exception as error:  # noqa: BLE001 - a scanner may fail in any way; each one blocks
        return Scan(problem=f"crashed ({type(error).__name__})")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    fired = {(raw.unit, raw.rule) for raw in scan.findings}
    missed = sorted({rule for one in scanner.canaries for rule in one.rules if (one.unit.name, rule) not in fired})
    if scan.ran and missed and (scan.scanned or not scan.failures):
        silent = f"did not catch its known-bad canary ({', '.join(missed)}): its silence proves nothing"
        scan.problem = scan.problem or silent
    return scan


def _halved(
    scanner: Scanner, units: Sequence[Unit], policy: Policy, scratch: Path, root: Path, deadline: float, problem: str
) -> Scan:
    """What is found in the parts of units that failed together."""
    if len(units) == 1 or time.monotonic() > deadline:
        return Scan(ran=True, failures={unit.name: problem or "did not run" for unit in units})
    whole, middle = Scan(ran=True), len(units) // 2
    for half in (units[:middle], units[middle:]):
        scan = _attempt(scanner, half, policy, scratch, root, deadline)
        if not scan.ran:
            scan = _halved(scanner, half, policy, scratch, root, deadline, scan.problem)
        whole.version = whole.version or scan.version
        whole.problem = whole.problem or scan.problem
        whole.scanned |= scan.scanned
        whole.findings += scan.findings
        whole.failures |= scan.failures
    return whole
