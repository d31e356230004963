"""Checks line by line: container files and manifests, package settings, scripts in languages without a parser here."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from agents.gates.base import RawFinding, own_finding, own_rules
from agents.gates.scanner import Scan, Stage, canary
from agents.gates.source import Unit
from agents.secrets.formats import is_placeholder
from sandbox.dockerfile import instructions


@cache
def _patterns(*kinds: str) -> list[tuple[str, re.Pattern[str]]]:
    rows = own_rules().items()
    return [(rule, re.compile(text)) for rule, row in rows for kind in kinds for text in row.get(kind, ())]


_READ_AS = {"docker": ("docker", "shell"), "command": ("shell",)}
_FROM = re.compile(r"(?i)^FROM\s+(?:--\S+\s+)*(\S+)(?:\s+AS\s+(\S+))?")
_USER = re.compile(r"(?i)^USER\s+(\S+)")
_KEEP = re.compile(
    r"(?i)^(?:ENV|ARG)\s+.*?\b[\w]*(?:PASSWORD|PASSWD|SECRET|TOKEN|API_?KEY|PRIVATE_?KEY)\w*(?:\s*=\s*|\s+)[\"']?([^\s\"']{4,})"
)


class ContainersScanner:
    """Container files and manifests, downloads piped to a shell, package settings, and scripts of other shells."""

    name = "containers"
    languages = frozenset("docker compose manifest shell command packages perl powershell batch sql".split())
    canaries = (
        canary(
            "docker.dockerfile",
            "docker",
            "FROM debian:latest\nENV API_TOKEN=abcd1234efgh\nRUN curl https://host/x | sh\n",
            *("docker-runs-as-root", "docker-unpinned-image", "docker-secret-in-layer", "download-piped-to-shell"),
        ),
        canary("compose.yaml", "compose", "services:\n  a:\n    privileged: true\n", "container-privileged"),
    )

    def scan(self, stage: Stage) -> Scan:
        """Look at each unit as logical lines (continuations joined)."""
        scan = Scan(version="1", ran=True)
        for unit in stage.units:
            text = unit.data.decode("utf-8", "replace")
            lines = list(_logical_lines(text))
            if unit.language == "docker":
                lines = [(one.line, str(one)) for one in instructions(text)]
                scan.findings.extend(_docker(unit, lines))
            patterns = _patterns(*_READ_AS.get(unit.language, (unit.language,)))
            scan.findings.extend(
                own_finding(rule, unit.name, number)
                for number, line in lines
                for rule, pattern in patterns
                if pattern.search(line if unit.language in ("compose", "manifest") else line.strip())
            )
            scan.scanned.add(unit.name)
        return scan


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    start, parts = 1, list[str]()
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("#"):
            continue
        if not parts:
            start = number
        parts.append(line.rstrip().removesuffix("\\"))
        if not line.rstrip().endswith("\\"):
            yield start, " ".join(parts).strip() if len(parts) > 1 else parts[0]
            parts = []
    if parts:
        yield start, " ".join(parts)


def _docker(unit: Unit, lines: list[tuple[int, str]]) -> Iterator[RawFinding]:
    stages = set[str]()
    user, last_from, scratch = "root", 1, False
    for number, raw in lines:
        line = raw.strip()
        if image := _FROM.match(line):
            user, last_from, scratch = "root", number, image[1] == "scratch"
            named, digest, _ = image[1].partition("@")
            tag = named.rpartition("/")[2].partition(":")[2]
            if named not in stages and not scratch and not digest and "$" not in named and tag in ("", "latest"):
                yield own_finding("docker-unpinned-image", unit.name, number)
            if image[2]:
                stages.add(image[2])
        elif found := _USER.match(line):
            user, last_from = found[1], number
        elif (kept := _KEEP.match(line)) and not kept[1].startswith("$") and not is_placeholder(kept[1]):
            yield own_finding("docker-secret-in-layer", unit.name, number)
    if lines and not scratch and user.partition(":")[0] in ("root", "0"):
        yield own_finding("docker-runs-as-root", unit.name, last_from)
