"""What an index tells about a package, for the person who decides about it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from packaging.version import InvalidVersion, Version

from sandbox.package_index.index import Page, moment, times_of

FEW_RELEASES, YOUNG_DAYS, QUIET_DAYS = 3, 90, 5 * 365


@dataclass(frozen=True)
class Facts:
    """Age, releases and form of a package; a date is None where the index does not tell it."""

    releases: int
    first: datetime | None
    newest: datetime | None
    version: str  # the newest one
    status: str = ""  # "quarantined", "archived", "deprecated: …"
    built: bool = True  # there is something that needs no building
    scripts: tuple[str, ...] = ()  # steps that its installer would run; they never are
    index: str = ""

    def age_days(self, now: datetime | None = None) -> int | None:
        """Days since the first release."""
        return None if self.first is None else ((now or datetime.now(UTC)) - self.first).days

    def warnings(self) -> list[str]:
        """What should make a person look twice, one sentence each."""
        found = []
        age = self.age_days()
        if age is not None and age < YOUNG_DAYS:
            found.append(f"It is {age} day{'s' if age != 1 else ''} old.")
        if self.releases < FEW_RELEASES:
            found.append(f"It has {self.releases} release{'s' if self.releases != 1 else ''}.")
        if self.newest is not None and (datetime.now(UTC) - self.newest).days > QUIET_DAYS:
            found.append(f"Its newest release is from {self.newest.year}.")
        if self.first is None:
            found.append("The index does not tell its age.")
        if self.status:
            found.append(f"The index marks it as {self.status}.")
        if not self.built:
            found.append("It has no wheel: it would have to be built, which is never done.")
        if self.scripts:
            found.append(f"Its installer would run {', '.join(self.scripts)}; it is not run here.")
        return found

    def to_json(self) -> dict[str, Any]:
        """The facts as plain data for a question and its page."""
        return {
            "releases": self.releases,
            "version": self.version,
            "status": self.status,
            "built": self.built,
            "first": self.first.date().isoformat() if self.first else "",
            "newest": self.newest.date().isoformat() if self.newest else "",
            "age_days": self.age_days(),
            "scripts": list(self.scripts),
            "index": self.index,
            "warnings": self.warnings(),
        }


def of_page(page: Page, index: str) -> Facts:
    """The facts of a Python package."""
    dates = [file.uploaded for file in page.files if file.uploaded]
    versions = {file.version for file in page.files}
    return Facts(
        len(versions),
        min(dates, default=None),
        max(dates, default=None),
        newest_version(versions),
        page.status,
        any(file.wheel for file in page.files),
        index=index,
    )


def newest_version(versions: Iterable[str]) -> str:
    """The highest of them that is no pre-release, else the highest."""
    known = []
    for text in versions:
        try:
            known.append(Version(text))
        except InvalidVersion:
            continue
    final = [version for version in known if not version.is_prerelease]
    return str(max(final or known, default=""))


def of_packument(document: dict[str, Any], index: str) -> Facts:
    """The facts of an npm package."""
    versions = document["versions"]
    times = times_of(document)
    dates = [found for version in versions if (found := moment(times.get(version)))]
    tags = document.get("dist-tags")
    latest = str(tags.get("latest", "")) if isinstance(tags, dict) else ""
    newest = versions.get(latest) if isinstance(versions.get(latest), dict) else {}
    gone = newest.get("deprecated")
    return Facts(
        len(versions),
        min(dates, default=None),
        max(dates, default=None),
        latest,
        f"deprecated: {str(gone)[:120]}" if gone else "",
        True,
        install_scripts(newest),
        index,
    )


def install_scripts(manifest: dict[str, Any]) -> tuple[str, ...]:
    """The steps that npm would run when it installs this."""
    scripts = manifest.get("scripts")
    names = ("preinstall", "install", "postinstall")
    return tuple(name for name in names if isinstance(scripts, dict) and scripts.get(name))
