"""Hard-coded secrets: known formats anywhere, and literals assigned to names that say what they are."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator

from agents.gates.base import Severity
from agents.gates.scanner import RawFinding, Scan, Stage, canary
from agents.gates.secret_formats import FORMATS, find_known, is_placeholder

_ADVICE = "Read it from the environment, refuse to start without it, and replace the leaked value where it was issued."
_ASSIGNED = re.compile(
    r"""(?ix)
    (?P<name>[a-z0-9_.\-]{0,60}?(?P<word>passwords?|passwd|passphrase|pwd|secret|secret[_-]?key|token|api[_-]?key|apikey
        |access[_-]?key|auth[_-]?key|private[_-]?key|encryption[_-]?key|signing[_-]?key|client[_-]?secret|credentials?))
    ["']?\]?\s{0,4}(?::\s{0,3}[a-z][a-z0-9_.\[\] |]{0,30}\s{0,3}=|:=|=>|=(?!=)|:)\s{0,4}
    (?P<prefix>[rbuf]{0,2})(?P<quote>["'`])(?P<value>[^"'`\r\n]{6,256})(?P=quote)
    """
)
_ENVIRONMENT_LINE = re.compile(
    r"(?im)^\s*(?:export\s+|ENV\s+|ARG\s+)?(?P<name>[A-Z][A-Z0-9_]{0,60}(?P<word>PASSWORD|PASSWD|SECRET|SECRET_KEY|TOKEN|API_KEY|ACCESS_KEY|PRIVATE_KEY))"
    r"\s{0,2}[=:]\s{0,2}(?P<value>[^\s\"'#]{8,256})\s*$"
)
_PASSWORD_WORDS = ("pass", "pwd")
_NAMES_NOT_SECRETS = re.compile(
    r"(?i)(token_?(type|url|name|header|field|limit|count|regex|pattern|path|endpoint|kind|class)|(url|path|file|regex|pattern|label|title|text|message|error|help|hint|prompt|name|field|param|header|id|hash(ed)?)$"
    r"|(?:^|[_.])(no|invalid|wrong|missing|bad|hashed|encrypted|masked|public)_?)"
)
_LOOKUP = re.compile(r"environ|getenv|process\.env|secrets\.|keyring|vault", re.IGNORECASE)


def entropy(text: str) -> float:
    """Bits per character."""
    counts = Counter(text)
    return -sum(n / len(text) * math.log2(n / len(text)) for n in counts.values())


def find_assigned(text: str) -> Iterator[tuple[str, int, int, Severity]]:
    """Literals given to secret-like names: kind, start, end of the value, and how sure that it is one."""
    for pattern in (_ASSIGNED, _ENVIRONMENT_LINE):
        for match in pattern.finditer(text):
            value = match["value"]
            line_end = text.find("\n", match.end())
            line = text[text.rfind("\n", 0, match.start()) + 1 : line_end if line_end >= 0 else len(text)]
            if is_placeholder(value) or _NAMES_NOT_SECRETS.search(match["name"]) or _LOOKUP.search(line):
                continue
            severity = _weigh(match["word"].lower(), value)
            if severity:
                yield f"assigned-{match['word'].lower().replace('_', '-')}", *match.span("value"), severity


def _weigh(word: str, value: str) -> Severity | None:
    """Words of prose are no secrets; passwords may be short, keys must look random."""
    if " " in value.strip() or value.startswith(("/", "./", "http://", "https://", "--")) or "{" in value:
        return None
    mixed = (
        bool(re.search(r"\d", value)) + bool(re.search(r"[A-Za-z]", value)) + bool(re.search(r"[^A-Za-z0-9]", value))
    )
    bits = entropy(value)
    if word.startswith(_PASSWORD_WORDS):
        return Severity.HIGH if mixed >= 2 and bits >= 2.5 else Severity.MEDIUM
    if len(value) >= 16 and bits >= 3.2 and re.search(r"\d", value) and re.search(r"[A-Za-z]", value):
        return Severity.HIGH
    return Severity.MEDIUM if mixed >= 2 and bits >= 2.8 and len(value) >= 10 else None


_CANARY_TOKEN = "gh" + "p_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"


class SecretsScanner:
    """Secrets in every text file, whatever its language."""

    name = "secrets"
    languages = frozenset({"python", "javascript", "typescript", "template", "docker", "compose", "shell", "text"})
    canaries = (
        canary(
            "secrets.py",
            "python",
            f'key = "{_CANARY_TOKEN}"\ndb_pass' + 'word = "Tr0ub4dor&3x"\n',
            "github-token",
            "assigned-password",
        ),
    )

    def scan(self, stage: Stage) -> Scan:
        """Look at each unit line-independently; a secret may stand anywhere."""
        scan = Scan(version=f"{len(FORMATS)} formats", ran=True)
        own = [value for value in stage.policy.extra_secrets if len(value) >= 6]
        for unit in stage.units:
            text = unit.data.decode("utf-16" if unit.data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8", "replace")
            taken: list[tuple[int, int]] = []
            for kind, start, end in find_known(text):
                if not is_placeholder(text[start:end]) or kind == "private-key":
                    taken.append((start, end))
                    scan.findings.append(_finding(unit.name, text, start, kind, Severity.HIGH, "HIGH"))
            for value in own:
                for match in re.finditer(re.escape(value), text):
                    scan.findings.append(
                        _finding(unit.name, text, match.start(), "configured-secret", Severity.CRITICAL, "HIGH")
                    )
            for kind, start, end, severity in find_assigned(text):
                if not any(a <= start < b or start <= a < end for a, b in taken):
                    scan.findings.append(_finding(unit.name, text, start, kind, severity, "MEDIUM"))
            scan.scanned.add(unit.name)
        return scan


def judge(raw: RawFinding, in_tests: bool) -> RawFinding:
    """Sample passwords are ordinary in tests; a token in a known format is not."""
    if not (in_tests and raw.rule.startswith("assigned-")):
        return raw
    return RawFinding(raw.unit, raw.line, raw.rule, Severity.LOW, "LOW", raw.cwe, raw.message, raw.remediation)


def _finding(unit: str, text: str, start: int, kind: str, severity: Severity, confidence: str) -> RawFinding:
    # The message never repeats the secret: reports are stored and shown.
    message = f"A hard-coded secret ({kind.replace('-', ' ')})."
    return RawFinding(unit, text.count("\n", 0, start) + 1, kind, severity, confidence, "CWE-798", message, _ADVICE)
