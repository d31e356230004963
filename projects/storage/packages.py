"""Packages for a project: the allow-lists, what people approved for this project, and what it fetched before."""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from django.conf import settings
from pydantic import TypeAdapter

from agents.gates.base import Policy
from projects.models import Approval, Project
from projects.storage.paths import home
from sandbox.base import PackageSet
from sandbox.package_index.facts import Facts
from sandbox.package_index.locks import learned, read_lock, write_lock
from sandbox.package_index.names import NameVerdict
from sandbox.package_index.resolving import Resolution
from sandbox.packages import PackageSupply

_PACKAGES = TypeAdapter(PackageSet)


def allowlist_files(slug: str = "") -> list[Path]:
    """The operator's files that add to the product's allow-lists: for all projects, then for this one.

    They lie outside of every repository, so that no agent writes them.
    """
    everywhere = [Path(settings.PACKAGES_FILE).expanduser()] if settings.PACKAGES_FILE else []
    return [*everywhere, home() / "packages" / "projects" / f"{slug}.toml"] if slug else everywhere


def gate_policy() -> Policy:
    """The product's policy of the gates, with what this installation knows about packages."""
    packages = home() / "packages"
    # A name that one project reserves for its own index must not be told to another.
    lists = (*allowlist_files(), *sorted((packages / "projects").glob("*.toml")))
    return Policy(answers=packages / "advisories", package_lists=lists)


def memory_of(project: Project) -> Path:
    """The file that remembers which versions a project fetched, with their hashes."""
    return home() / "packages" / "projects" / f"{project.slug}.lock.json"


def names_asked(approval: Approval) -> list[str]:
    """The packages that a question is about: those it lists, else the one of its subject."""
    return [*approval.payload.get("packages", [approval.subject])]


def supply_of(project: Project) -> PackageSupply:
    """What may be used in this project now."""
    rows = Approval.objects.filter(project=project, kind=Approval.Kind.PACKAGE, status=Approval.Status.APPROVED)
    return PackageSupply(
        home() / "packages",
        approved=sorted({name for row in rows for name in names_asked(row)}),
        more=allowlist_files(project.slug),
        lock=read_lock(memory_of(project)),
    )


class ProjectSupply:
    """Implements agents.engine.contracts.Supply. The same requirements give the same files again, also without an
    index.
    """

    def __init__(self, project: Project) -> None:
        self._project, self._memory = project, memory_of(project)

    def check(self, requirement: str) -> NameVerdict:
        return supply_of(self._project).check(requirement)

    def look_up(self, requirement: str) -> Facts:
        return supply_of(self._project).look_up(requirement)

    def resolve(self, requirements: Sequence[str], runtime: str = "") -> Resolution:
        return supply_of(self._project).resolve(requirements, runtime)

    def fetch(self, requirements: Sequence[str]) -> PackageSet:
        with _alone(self._memory):
            supply = supply_of(self._project)
            kept = self._memory.parent / self._project.slug / f"{_name_of(supply, requirements)}.json"
            known = _read(kept)
            if known is None:
                known = supply.fetch(requirements)
                if known.locks:
                    write_lock(self._memory, learned(read_lock(self._memory), known.locks))
                _write(kept, known)
            return known


@contextmanager
def _alone(memory: Path) -> Iterator[None]:
    """One fetch of a project at a time, in all processes of this machine: its memory is read, added to and written."""
    memory.parent.mkdir(parents=True, exist_ok=True)
    with memory.with_suffix(".turn").open("w") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        yield


def _name_of(supply: PackageSupply, requirements: Sequence[str]) -> str:
    """One name for the same requirements under the same judgement: a name that lost its permission is judged anew."""
    judged = [f"{line} {supply.check(line).judgement.value}" for line in sorted(requirements)]
    return hashlib.sha256("\n".join(judged).encode()).hexdigest()[:32]


def _read(file: Path) -> PackageSet | None:
    try:
        found = _PACKAGES.validate_json(file.read_bytes())
    except (OSError, ValueError):
        return None
    return found if found.folder.is_dir() or not found.names else None


def _write(file: Path, found: PackageSet) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    scratch = file.with_suffix(f".{os.getpid()}.new")
    scratch.write_bytes(_PACKAGES.dump_json(found))
    scratch.replace(file)
