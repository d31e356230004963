"""Known vulnerabilities and licences of the packages that a project names; what nobody could check is reported."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from agents.gates.advisories import AdvisoryError, cure_of_all
from agents.gates.advisory_sources import PackageStatus, in_snapshot, look_up, osv_files
from agents.gates.base import NOT_CHECKED, RawFinding, Severity, own_finding
from agents.gates.pins import Dependencies, Pin, read_dependencies
from agents.gates.scanner import Scan, Stage, canary
from agents.gates.source import Unit
from sandbox.base import SandboxError
from sandbox.package_index.licences import is_refused

RULE = "known-vulnerability"
COPYLEFT = ("AGPL", "GPL", "SSPL")
_SHOWN = 12


class AdvisoriesScanner:
    """Exact versions in requirements, manifests and lock files, against published advisories and the licence policy."""

    name = "advisories"
    languages = frozenset({"dependencies"})
    canaries = (canary("requirements.txt", "dependencies", "pyyaml == 3.10\n", RULE),)  # in the snapshot

    def scan(self, stage: Stage) -> Scan:
        """Look every version up. A package that no source knows is a finding, never a silent pass."""
        scan = Scan()
        read: dict[str, tuple[Unit, Dependencies]] = {}
        for unit in stage.units:
            try:
                read[unit.name] = unit, read_dependencies(unit.path or unit.name, unit.data)
            except ValueError:
                scan.scanned.add(unit.name)
                broken = own_finding("not-checked", unit.name, 1, what="it is not valid JSON or TOML")
                scan.findings.append(replace(broken, subject=hashlib.sha256(unit.data).hexdigest()))
        refused = _list_of("AISWE_REFUSED_LICENCES")
        pins = [pin for unit, found in read.values() for pin in found.pins if unit.path]
        # However slow an index is, half of the gate's time is left.
        deadline = time.monotonic() + (stage.deadline - time.monotonic()) / 2
        try:
            answers = look_up(pins, stage.policy, deadline, licences=bool(refused))
            scan.version = f"{len(files)} packages" if (files := osv_files()) else "package index"
        except AdvisoryError as error:
            scan.problem = f"has no usable index: {error} (AISWE_ADVISORIES)"
            return scan
        except SandboxError as error:
            scan.problem = f"cannot tell which index a package belongs to: {error}"
            return scan
        for name, (unit, found) in read.items():
            scan.scanned.add(name)
            scan.findings += _vulnerable(unit, found.pins, answers)
            scan.findings += _unchecked(unit, found.pins, answers)
            scan.findings += _licences(unit, found.pins, answers, refused)
            scan.findings += [
                own_finding("dependency-not-pinned", name, one.line, name=one.name) for one in found.loose
            ]
            scan.findings += [
                own_finding(
                    "not-checked", name, one.line, what=f"{one.name or 'this package'} comes from no package index"
                )
                for one in found.elsewhere
            ]
        scan.ran = True
        return scan


def _list_of(variable: str) -> list[str]:
    return [part for raw in os.environ.get(variable, "").split(",") if (part := raw.strip())]


def _vulnerable(unit: Unit, pins: Sequence[Pin], answers: Mapping[Pin, PackageStatus]) -> Iterator[RawFinding]:
    for pin in pins:
        advisories = answers[pin].advisories if unit.path else in_snapshot(pin)
        best = cure_of_all(pin.version, advisories)
        for one in advisories:
            cure = next(iter(one.cures(pin.version)), "")
            hint = f"Use {pin.name} {cure} or newer." if cure else "Use another package."
            if best and best != cure:
                hint += f" {pin.name} {best} is the lowest version without any weakness known here."
            also = sorted(one.numbers - {one.number})
            number = f"{one.number} ({', '.join(also)})" if also else one.number
            message = f"{pin.name} {pin.version}: {number}: {one.summary}"
            yield RawFinding(
                *(unit.name, pin.line, RULE, one.severity, "HIGH", "CWE-1395", message, hint),
                subject=f"{one.number} {pin.name} {pin.version}",
            )


def _unchecked(unit: Unit, pins: Sequence[Pin], answers: Mapping[Pin, PackageStatus]) -> Iterator[RawFinding]:
    """One finding for a file. It is about exactly these packages: with another one it is another finding."""
    missing = [pin for pin in pins if pin in answers and answers[pin].problem]
    names = sorted({f"{pin.name} {pin.version}" for pin in missing})
    if names:
        more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        why = "; ".join(sorted({answers[pin].problem for pin in missing})[:2]).rstrip(".")
        found = own_finding(NOT_CHECKED, unit.name, missing[0].line, names=", ".join(names[:_SHOWN]) + more, why=why)
        asks = os.environ.get("AISWE_UNCHECKED_DEPENDENCIES", "").strip() == "ask"
        yield replace(found, severity=Severity.MEDIUM if asks else found.severity, subject=" ".join(names))
    if days := max((answers[pin].days_old for pin in pins if pin in answers), default=0):
        yield own_finding("dependencies-checked-before", unit.name, 1, days=days)


def _licences(
    unit: Unit, pins: Sequence[Pin], answers: Mapping[Pin, PackageStatus], refused: Sequence[str]
) -> Iterator[RawFinding]:
    for pin in filter(answers.__contains__, pins):
        licence = answers[pin].licence
        try:
            strict = is_refused(licence, refused)
            rule = "licence-refused" if strict else "licence-copyleft" if is_refused(licence, COPYLEFT) else ""
        except ValueError:
            rule = "licence-unknown" if refused else ""
        if rule:
            facts = {"name": pin.name, "version": pin.version, "licence": licence}
            yield replace(own_finding(rule, unit.name, pin.line, **facts), subject=" ".join(facts.values()))
