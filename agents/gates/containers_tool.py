"""Few checks for container files and shell scripts: who runs it, what it pulls, what it gives away."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from agents.gates.base import Severity
from agents.gates.scanner import RawFinding, Scan, Stage, canary
from agents.gates.secret_formats import is_placeholder
from agents.gates.source import Unit


@dataclass(frozen=True, slots=True)
class _Rule:
    rule: str
    severity: Severity
    cwe: str
    message: str
    remediation: str

    def at(self, unit: Unit, line: int) -> RawFinding:
        return RawFinding(unit.name, line, self.rule, self.severity, "HIGH", self.cwe, self.message, self.remediation)


_ROOT = _Rule(
    "docker-runs-as-root",
    Severity.MEDIUM,
    "CWE-250",
    "The container runs as root.",
    "Add a user and end with USER <name>.",
)
_LATEST = _Rule(
    "docker-unpinned-image",
    Severity.LOW,
    "CWE-1357",
    "The base image has no fixed version.",
    "Name a version, best with its digest.",
)
_SECRET = _Rule(
    "docker-secret-in-layer",
    Severity.HIGH,
    "CWE-798",
    "A secret stays readable in the image.",
    "Pass it at run time, or as a build secret (RUN --mount=type=secret).",
)
_PIPE = _Rule(
    "download-piped-to-shell",
    Severity.HIGH,
    "CWE-494",
    "Whatever the network answers is run.",
    "Download to a file, check its hash, then run it.",
)
_ADD = _Rule(
    "docker-add-from-url",
    Severity.MEDIUM,
    "CWE-494",
    "A download without a check goes into the image.",
    "Use ADD --checksum=sha256:… or COPY.",
)
_SOCKET = _Rule(
    "container-engine-socket",
    Severity.HIGH,
    "CWE-250",
    "The container can steer the machine's container engine.",
    "Do not mount docker.sock.",
)
_PRIVILEGED = _Rule(
    "container-privileged",
    Severity.HIGH,
    "CWE-250",
    "The container has all rights of the machine.",
    "Remove privileged; add single capabilities.",
)
_HOST = _Rule(
    "container-host-namespace",
    Severity.MEDIUM,
    "CWE-250",
    "The container shares the machine's network or processes.",
    "Use a network of its own.",
)

_CAPABILITIES = _Rule(
    "container-extra-capabilities",
    Severity.MEDIUM,
    "CWE-250",
    "The container gets rights that can reach the machine.",
    "Leave cap_add and security_opt out, or name the one harmless capability.",
)
_HOST_FILES = _Rule(
    "container-mounts-system",
    Severity.HIGH,
    "CWE-668",
    "The container can change the machine's own files.",
    "Mount a folder of the project, read-only where possible.",
)
_UNVERIFIED = _Rule(
    "docker-unverified-packages",
    Severity.MEDIUM,
    "CWE-494",
    "Packages are installed without a check of where they come from.",
    "Remove the option that switches the check off.",
)
_SUDO = _Rule(
    "docker-open-rights",
    Severity.MEDIUM,
    "CWE-732",
    "Everybody in the image may write or become root.",
    "Give single files to the user that needs them; no chmod 777, no sudo.",
)

_FROM = re.compile(r"(?i)^FROM\s+(?:--\S+\s+)*(\S+)(?:\s+AS\s+(\S+))?")
_USER = re.compile(r"(?i)^USER\s+(\S+)")
_KEEP = re.compile(
    r"(?i)^(?:ENV|ARG)\s+.*?\b[\w]*(?:PASSWORD|PASSWD|SECRET|TOKEN|API_?KEY|PRIVATE_?KEY)\w*(?:\s*=\s*|\s+)[\"']?([^\s\"']{4,})"
)
_CURL = re.compile(
    r"\b(?:curl|wget|fetch)\b[^|;&\n]*\|\s*(?:sudo\s+(?:-\S+\s+)*)?(?:env\s+)?(?:/\S*/)?(?:ba|z|da|k)?sh\b|\b(?:ba|z|da)?sh\s+(?:-c\s+[\"']?)?[<$(]+\s*\(?(?:curl|wget)\b|\|\s*(?:sudo\s+)?python[\d.]*\s*(?:-\s*)?$"
)
_NO_CHECK = re.compile(
    r"(?i)^RUN\b.*(?:--allow-unauthenticated|--force-yes|--trusted-host|--nogpgcheck|--no-check-certificate|"
    r"--allow-untrusted|\bcurl\b[^|;&]*\s(?:-k|--insecure)\b|strict-ssl\s+false|http\.sslVerify\s+false)"
)
_OPEN_RIGHTS = re.compile(r"(?i)^RUN\b.*(?:\bchmod\s+(?:-R\s+)?0?777\b|NOPASSWD|\bsudo\s+\w)")
_COMPOSE = (
    (re.compile(r"^\s*privileged:\s*[\"']?(?:true|yes|on)\b", re.IGNORECASE), _PRIVILEGED),
    (re.compile(r"docker\.sock"), _SOCKET),
    (re.compile(r"^\s*(?:network_mode|pid|ipc|userns_mode|uts):\s*[\"']?host\b"), _HOST),
    (
        re.compile(r"^\s*-\s*[\"']?(?:CAP_)?(?:ALL|SYS_(?:ADMIN|PTRACE|MODULE|RAWIO)|NET_ADMIN|DAC_READ_SEARCH)\b"),
        _CAPABILITIES,
    ),
    (re.compile(r"(?:seccomp|apparmor)[:=]\s*unconfined|label[:=]\s*disable"), _CAPABILITIES),
    (re.compile(r"^\s*-\s*[\"']?/(?:etc|root|proc|sys|dev|boot|usr|var/lib/docker)?/?:(?!.*:ro\b)"), _HOST_FILES),
    (re.compile(r"^\s*user:\s*[\"']?(?:root|0)(?::|[\"']?\s*$)"), _ROOT),
    (re.compile(r"^\s*image:\s*[\"']?[^\s\"':@$]+(?:/[^\s\"':@$]+)*(?::latest)?[\"']?\s*$"), _LATEST),
)


class ContainersScanner:
    """Dockerfiles, compose files, and downloads piped to a shell in scripts."""

    name = "containers"
    languages = frozenset({"docker", "compose", "shell"})
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
            lines = list(_logical_lines(unit.data.decode("utf-8", "replace")))
            if unit.language == "docker":
                scan.findings.extend(_docker(unit, lines))
            if unit.language == "compose":
                scan.findings.extend(
                    rule.at(unit, n) for n, line in lines for pattern, rule in _COMPOSE if pattern.search(line)
                )
            else:
                scan.findings.extend(_PIPE.at(unit, n) for n, line in lines if _CURL.search(line))
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
    stages: set[str] = set()
    user, last_from, scratch = "root", 1, False
    for number, raw in lines:
        line = raw.strip()
        if image := _FROM.match(line):
            user, last_from, scratch = "root", number, image[1] == "scratch"
            named, digest, _ = image[1].partition("@")
            tag = named.rpartition("/")[2].partition(":")[2]
            if named not in stages and not scratch and not digest and "$" not in named and tag in ("", "latest"):
                yield _LATEST.at(unit, number)
            if image[2]:
                stages.add(image[2])
        elif found := _USER.match(line):
            user, last_from = found[1], number
        elif kept := _KEEP.match(line):
            if not kept[1].startswith("$") and not is_placeholder(kept[1]):
                yield _SECRET.at(unit, number)
        elif _NO_CHECK.search(line):
            yield _UNVERIFIED.at(unit, number)
        elif _OPEN_RIGHTS.search(line):
            yield _SUDO.at(unit, number)
        elif re.match(r"(?i)^ADD\s+(?!.*--checksum)(?:--\S+\s+)*https?://", line):
            yield _ADD.at(unit, number)
    if lines and not scratch and user.partition(":")[0] in ("root", "0"):
        yield _ROOT.at(unit, last_from)
