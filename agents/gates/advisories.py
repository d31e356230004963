"""Published advisories in the OSV format (https://ossf.github.io/osv-schema/): which versions are known bad."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packaging.version import InvalidVersion, Version

from agents.gates.base import Severity

_MAX_FILES = 200_000
_SEPARATORS = re.compile(r"[-_.]+")
# The words of the two large sources; anything else counts as HIGH.
_SEMANTIC = re.compile(r"[=v]*(\d{1,99})(?:\.(\d{1,99}))?(?:\.(\d{1,99}))?(?:-([\w.-]{1,200}))?(?:\+\S*)?")
_WORDS = {"LOW": Severity.LOW, "MODERATE": Severity.MEDIUM, "MEDIUM": Severity.MEDIUM, "CRITICAL": Severity.CRITICAL}


class AdvisoryError(ValueError):
    """The index cannot be read; the text names the file and is safe to show."""


@dataclass(frozen=True, slots=True)
class Advisory:
    """One published weakness of one package. `ranges` are (introduced, fixed, last affected), "" = open."""

    name: str
    summary: str
    severity: Severity
    ranges: tuple[tuple[str, str, str], ...]
    versions: frozenset[str]
    aliases: frozenset[str] = frozenset()
    ecosystem: str = "PyPI"  # as OSV calls it

    @property
    def numbers(self) -> frozenset[str]:
        """Everything it is called; two sources that share a number mean the same weakness."""
        return self.aliases | {self.name}

    @property
    def number(self) -> str:
        """The name that all sources share: its CVE, where it has one."""
        return min((one for one in self.numbers if one.startswith("CVE-")), default=self.name)

    def affects(self, version: str) -> bool:
        """Whether `version` is known bad. A version that cannot be compared counts as bad."""
        if version in self.versions:
            return True
        try:
            return any(self._inside(self.order(version), *bounds) for bounds in self.ranges)
        except InvalidVersion:
            return bool(self.ranges)

    def cures(self, version: str) -> list[str]:
        """The versions above `version` that end a range, lowest first; the end of its own range is the first."""
        try:
            pinned = self.order(version)
            ends = sorted({self.order(fixed): fixed for _, fixed, _ in self.ranges if fixed}.items())
            own = [b[1] for b in self.ranges if b[1] and self._inside(pinned, *b)]
        except InvalidVersion:
            return [fixed for _, fixed, _ in self.ranges if fixed][-1:]
        return list(dict.fromkeys([*own, *(text for end, text in ends if end > pinned)]))

    def order(self, version: str) -> Any:
        """What versions of this ecosystem are sorted by. Raises InvalidVersion."""
        if self.ecosystem != "npm":
            return Version(version)
        # Python's rules put 1.0.0-1 above 1.0.0 and do not know 1.0.0-canary.
        if (found := _SEMANTIC.fullmatch(version.strip())) is None:
            raise InvalidVersion(version)
        words = found[4].split(".") if found[4] else []
        before = tuple((0, int(word), "") if word.isdecimal() else (1, 0, word) for word in words)
        return tuple(int(part or 0) for part in found.groups()[:3]), not words, before

    def _inside(self, version: Any, introduced: str, fixed: str, last: str) -> bool:
        if introduced not in ("", "0") and version < self.order(introduced):
            return False
        if fixed:
            return bool(version < self.order(fixed))
        return not last or bool(version <= self.order(last))


def cure_of_all(version: str, advisories: Sequence[Advisory]) -> str:
    """The lowest named version above `version` that none of the advisories affects; "" when none is named."""
    named = {cure for one in advisories for cure in one.cures(version)}
    try:
        in_order = sorted(named, key=advisories[0].order) if named else []
    except InvalidVersion:
        return ""
    return next((cure for cure in in_order if not any(one.affects(cure) for one in advisories)), "")


Index = Mapping[tuple[str, str], Sequence[Advisory]]


def package_key(ecosystem: str, name: str) -> tuple[str, str]:
    """The one spelling of a package: names on PyPI ignore case and separators."""
    return ecosystem, _SEPARATORS.sub("-", name).lower() if ecosystem == "PyPI" else name


def load_index(place: Path) -> dict[tuple[str, str], list[Advisory]]:
    """Read a file (one record or a list of them) or every .json file below a folder.

    Raises `AdvisoryError` when something there is no readable record: half an index would look like a clean result.
    """
    files = [place] if place.is_file() else sorted(place.rglob("*.json")) if place.is_dir() else []
    if not files:
        raise AdvisoryError(f"{place}: no advisories there; name a file or folder of OSV records (.json)")
    if len(files) > _MAX_FILES:
        raise AdvisoryError(f"{place}: more than {_MAX_FILES} files; keep only the ecosystems you use")
    index: dict[tuple[str, str], list[Advisory]] = {}
    for file in files:
        try:
            document = json.loads(file.read_text(encoding="utf-8"))
            for record in document if isinstance(document, list) else [document]:
                for key, advisory in read_record(record):
                    index.setdefault(key, []).append(advisory)
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise AdvisoryError(f"{file}: not a readable OSV record ({type(error).__name__})") from None
    return index


def read_record(record: Mapping[str, Any]) -> Iterator[tuple[tuple[str, str], Advisory]]:
    """The advisories of one OSV record, one for each package that it names; a withdrawn record gives none."""
    if record.get("withdrawn"):
        return
    word = str((record.get("database_specific") or {}).get("severity", "")).upper()
    summary = str(record.get("summary") or record.get("details") or "A known weakness.").strip().split("\n")[0][:200]
    for affected in record.get("affected") or []:
        package = affected["package"]
        ecosystem = str(package["ecosystem"]).partition(":")[0]
        yield (
            package_key(ecosystem, str(package["name"])),
            Advisory(
                name=str(record["id"]),
                summary=summary,
                severity=_WORDS.get(word, Severity.HIGH),
                ranges=tuple(_bounds(affected.get("ranges") or [])),
                versions=frozenset(map(str, affected.get("versions") or [])),
                aliases=frozenset(map(str, record.get("aliases") or [])),
                ecosystem=ecosystem,
            ),
        )


def _bounds(ranges: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, str, str]]:
    for entry in ranges:
        if entry.get("type") == "GIT":
            continue
        start = ""
        for event in entry["events"]:
            if "introduced" in event:
                start = str(event["introduced"])
            elif "fixed" in event:
                yield start, str(event["fixed"]), ""
                start = ""
            elif "last_affected" in event:
                yield start, "", str(event["last_affected"])
                start = ""
        if start:
            yield start, "", ""
