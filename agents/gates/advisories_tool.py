"""Pinned dependencies against an index of published advisories; without an index it says that it did not look."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from agents.gates.advisories import Advisory, AdvisoryError, Index, load_index, package_key
from agents.gates.base import RawFinding, Severity, own_finding
from agents.gates.scanner import Scan, Stage, canary
from agents.gates.source import Unit

_PIN = re.compile(r"^\s*([A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:\[[^\]]*\])?\s*===?\s*([A-Za-z0-9.!+_-]+)")
_NAME = re.compile(r"^\s*([A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:\[|[<>=!~;@]|$)")
# A package that nobody can publish (the name is not allowed), so that every run can prove that matching works.
_CANARY = Advisory("AISWE-CANARY", "Made up.", Severity.HIGH, (("0", "2", ""),), frozenset())
_CANARY_INDEX = {package_key("PyPI", "aiswe--canary--"): [_CANARY]}
RULE = "known-vulnerability"


@dataclass(frozen=True, slots=True)
class _Pin:
    ecosystem: str
    name: str
    version: str
    line: int


@cache
def _index(place: str, stamp: int) -> Index:
    return load_index(Path(place))


class AdvisoriesScanner:
    """Pinned packages of requirements files and package-lock.json, against the OSV records in `AISWE_ADVISORIES`."""

    name = "advisories"
    languages = frozenset({"dependencies"})
    canaries = (canary("requirements.txt", "dependencies", "aiswe--canary-- == 1.5\n", RULE),)

    def scan(self, stage: Stage) -> Scan:
        """Look every pinned version up. No index: an INFO finding for each file, never a silent pass."""
        place = os.environ.get("AISWE_ADVISORIES", "").strip()
        scan = Scan(version="no index")
        index: Index = {}
        if place:
            try:
                index = _index(place, _stamp(Path(place)))
            except AdvisoryError as error:
                scan.problem = f"has no usable index: {error} (AISWE_ADVISORIES)"
                return scan
            scan.version = f"{len(index)} packages"
        for unit in stage.units:
            try:
                pins, loose = _read(unit)
            except (ValueError, TypeError, AttributeError, RecursionError):
                scan.problem = scan.problem or f"could not read {unit.path or 'the canary'} as JSON"
                continue
            scan.scanned.add(unit.name)
            scan.findings.extend(_judge(unit, pins, {**index, **_CANARY_INDEX}))
            if unit.path and not place:
                scan.findings.append(own_finding("dependencies-not-checked", unit.name, 1, count=len(pins)))
            scan.findings += [own_finding("dependency-not-pinned", unit.name, line, name=name) for name, line in loose]
        scan.ran = True
        return scan


def _stamp(place: Path) -> int:
    try:
        return place.stat().st_mtime_ns
    except OSError:
        return 0


def _read(unit: Unit) -> tuple[list[_Pin], list[tuple[str, int]]]:
    text = unit.data.decode("utf-8", "replace")
    if unit.name.endswith(".json"):
        return list(_lock_file(text)), []
    pins: list[_Pin] = []
    loose: list[tuple[str, int]] = []
    for number, line in enumerate(text.splitlines(), 1):
        if pin := _PIN.match(line):
            pins.append(_Pin("PyPI", pin[1], pin[2], number))
        elif (named := _NAME.match(line.partition("#")[0].rstrip().removesuffix("\\"))) and "://" not in line:
            loose.append((named[1], number))
    return pins, loose


def _lock_file(text: str) -> Iterator[_Pin]:
    document = json.loads(text)
    lines = text.splitlines()
    entries = [(path.rpartition("node_modules/")[2], entry) for path, entry in document.get("packages", {}).items()]
    entries += list(document.get("dependencies", {}).items()) if not entries else []
    for name, entry in entries:
        if name and isinstance(entry, dict) and isinstance(entry.get("version"), str):
            marks = (f'"node_modules/{name}"', f'"{name}": {{')
            line = next((n for n, row in enumerate(lines, 1) if any(mark in row for mark in marks)), 1)
            yield _Pin("npm", name, entry["version"], line)


def _judge(unit: Unit, pins: list[_Pin], index: Index) -> Iterator[RawFinding]:
    for pin in pins:
        for advisory in index.get(package_key(pin.ecosystem, pin.name), ()):
            if advisory.affects(pin.version):
                hint = f"Use {pin.name} {advisory.fixed} or newer." if advisory.fixed else "Use another package."
                yield RawFinding(
                    *(unit.name, pin.line, RULE, advisory.severity, "HIGH", "CWE-1395"),
                    f"{pin.name} {pin.version}: {advisory.name}: {advisory.summary}",
                    hint,
                )
