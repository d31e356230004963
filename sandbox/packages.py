"""Packages for sandboxed code: names judged against allow-lists, files fetched outside and unpacked without running
them.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import shutil
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from sandbox.base import PackageRefused, PackageSet, SandboxError
from sandbox.package_index import npm
from sandbox.package_index.allowed_index import AllowedIndex, Request
from sandbox.package_index.allowlist import NODE, PYTHON, AllowList, load, plain
from sandbox.package_index.archives import MAX_UNPACKED, unpack_wheel
from sandbox.package_index.errors import NoSuchPackage, PackageUnlisted
from sandbox.package_index.facts import Facts
from sandbox.package_index.index import npm_registry, python_index
from sandbox.package_index.locks import Lock, requirements_lock
from sandbox.package_index.names import (
    NPM,
    Judgement,
    NameVerdict,
    base_packages,
    is_npm,
    judge,
    npm_parts,
    without_comment,
)
from sandbox.package_index.pip import Wheel, download_wheels, unlisted_of
from sandbox.package_index.resolving import Resolution, resolve_python

MAX_PACKAGES = 60
SCRATCH, LEFT_SECONDS = "fetch-", 24 * 3600.0
MARK = ".aiswe-packages.json"


class PackageSupply:
    """Judges requirements and fetches what is allowed into a cache shared by all sandboxes."""

    def __init__(
        self,
        cache: Path,
        allowlist: Iterable[str] | None = None,
        *,
        approved: Iterable[str] = (),
        more: Sequence[Path] = (),
        index: str = "",
        registry: str = "",
        lock: Lock | None = None,
    ) -> None:
        """`approved` are names that a person allowed (`npm:` before npm's), `more` files that add to the allow-lists.

        `index` and `registry` are addresses of package indexes instead of the configured ones; `lock` is what was
        fetched before, which stays as it is. `allowlist` replaces the product's own names for Python.
        """
        self._lists: dict[str, AllowList] = {name: load(name, *more) for name in (PYTHON, NODE)}
        if allowlist is not None:
            names = frozenset(plain(name, PYTHON) for name in allowlist)
            self._lists[PYTHON] = AllowList(names)
        self._approved = frozenset(name if is_npm(name) else canonicalize_name(name) for name in approved)
        self._cache, self._base = cache, base_packages()
        self._addresses = {PYTHON: index or python_index(), NODE: registry or npm_registry()}
        self._lock = lock or Lock()
        self.log: list[Request] = []  # every name an installer asked for in fetch(), and what it got

    def check(self, requirement_line: str) -> NameVerdict:
        """Judge one line of a requirements file, or `npm:NAME@RANGE`; nothing is asked of any index."""
        return judge(requirement_line, self._lists, self._approved, self._base)

    def look_up(self, requirement: str) -> Facts:
        """What the index knows about a name; raises NoSuchPackage for a made-up one, and IndexUnavailable."""
        if is_npm(requirement):
            return self._allowed_index(NODE, {}).facts(npm_parts(requirement)[0])
        try:
            name = canonicalize_name(Requirement(without_comment(requirement)).name)
        except InvalidRequirement as error:
            raise PackageRefused(requirement[:80], f"not a requirement: {str(error).splitlines()[0]}") from None
        return self._allowed_index(PYTHON, {}).facts(name)

    def fetch(self, requirements: Sequence[str]) -> PackageSet:
        """Download allowed requirements, with all they need, and unpack them; cached by content.

        Raises PackageRefused naming the package when one is not allowed, has no wheel or holds what it must not;
        NoSuchPackage when it does not exist; PackageUnlisted when it needs what is not allowed; IndexUnavailable when
        no index answers.
        """
        wanted = self._wanted(requirements)
        if not wanted:
            return PackageSet(self._cache / "none")
        self._cache.mkdir(parents=True, exist_ok=True)
        _sweep(self._cache)
        with tempfile.TemporaryDirectory(prefix=SCRATCH, dir=self._cache) as folder:
            scratch = Path(folder)
            wheels, reached = self._wheels([line for line in wanted if not is_npm(line)], scratch)
            modules = [line for line in wanted if is_npm(line)]
            index = self._allowed_index(NODE, {})
            choice = npm.choose(modules, index, scratch, self._lock.npm) if modules else npm.NpmChoice((), "")
            hashes = {wheel.path.name: wheel.sha256 for wheel in wheels}
            chosen = {f"{one.name}-{one.version}.tgz": one.integrity for one in choice.modules}
            content = _content_of(hashes, choice)
            place = self._cache / content
            if not _mark_of(place):
                self._install(wheels, choice, scratch, place, hashes)
            known = _mark_of(place)
        names = sorted({wheel.name for wheel in wheels} | {NPM + one.name for one in choice.modules})
        locks = {"requirements.lock.txt": requirements_lock([*wheels, *reached])} if wheels else {}
        if choice.modules:
            locks["package-lock.json"] = choice.lock
        kept = {name: value for name, value in known.items() if name in hashes or name in chosen}
        return PackageSet(place, tuple(names), kept, locks)

    def resolve(self, requirements: Sequence[str], runtime: str = "") -> Resolution:
        """Whether these requirements fit together, for all versions of Python that `runtime` names; nothing is fetched.

        Raises PackageRefused for a line that is no name of an index with versions, and IndexUnavailable.
        """
        lines = [line if is_npm(line) else without_comment(line) for line in requirements]
        for line in lines:
            # What the sandbox has already does not matter: nothing is put into it.
            if (verdict := judge(line, self._lists, self._approved, {})).judgement is Judgement.REFUSED:
                raise PackageRefused(verdict.name, verdict.reason)
        modules = [line for line in lines if is_npm(line)]
        self._cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=SCRATCH, dir=self._cache) as folder:
            if not modules:
                return resolve_python(lines, runtime, self._allowed_index(PYTHON, {}), Path(folder))
            try:
                choice = npm.choose(modules, self._allowed_index(NODE, {}), Path(folder))
            except PackageUnlisted:
                raise
            except PackageRefused as refused:
                return Resolution("npm", said=str(refused))
            return Resolution("npm", tuple(sorted(f"{one.name}=={one.version}" for one in choice.modules)))

    def _wanted(self, requirements: Sequence[str]) -> list[str]:
        wanted = []
        for line in requirements:
            if not line.strip() or line.strip().startswith("#"):
                continue
            verdict = self.check(line)
            if not verdict.allowed:
                raise PackageRefused(verdict.name, verdict.reason)
            if verdict.name not in self._base:
                wanted.append(line.strip() if is_npm(line) else without_comment(line))
        if len(wanted) > MAX_PACKAGES:
            raise PackageRefused(wanted[MAX_PACKAGES], f"more than {MAX_PACKAGES} packages in one request")
        return sorted(wanted)

    def _allowed_index(self, ecosystem: str, pins: Mapping[str, str], also: Iterable[str] = ()) -> AllowedIndex:
        known, address = self._lists[ecosystem], self._addresses[ecosystem]
        allowed_index = AllowedIndex(ecosystem, known, self._approved | set(also), address, pins)
        allowed_index.log = self.log
        return allowed_index

    def _wheels(self, wanted: Sequence[str], scratch: Path) -> tuple[list[Wheel], list[Wheel]]:
        """The wheels to unpack, and those that the sandbox has already."""
        if not wanted:
            return [], []
        pins = self._lock.fitting(wanted)
        try:
            found = self._download(wanted, scratch / "first", pins)
        except PackageUnlisted as unlisted:  # one of them: a person is asked about all
            everything = unlisted.names
            with contextlib.suppress(SandboxError):
                (scratch / "all").mkdir()
                everything = unlisted_of(wanted, self._index_for(pins), scratch / "all", self._base)
            raise PackageUnlisted(everything, unlisted.reason) from None
        except PackageRefused as refused:
            # What was locked may be what does not fit any more; without it a newer choice is allowed.
            if not pins or isinstance(refused, NoSuchPackage):
                raise
            found = self._download(wanted, scratch / "second", {})
        for wheel in found:
            self._lock.check(wheel)
        return [one for one in found if one.name not in self._base], [one for one in found if one.name in self._base]

    def _download(self, wanted: Sequence[str], scratch: Path, pins: Mapping[str, str]) -> list[Wheel]:
        scratch.mkdir()
        return download_wheels(wanted, self._index_for(pins), scratch, self._base)

    def _index_for(self, pins: Mapping[str, str]) -> AllowedIndex:
        # The sandbox's own packages are what others build on: allowed as dependencies, in the version it has.
        return self._allowed_index(PYTHON, {**pins, **self._base}, self._base)

    def _install(
        self, wheels: Sequence[Wheel], choice: npm.NpmChoice, scratch: Path, place: Path, hashes: Mapping[str, str]
    ) -> None:
        """Unpack into a folder of its own and move it into place in one step: other workers see all or nothing."""
        unpacked = scratch / "unpacked"
        unpacked.mkdir()
        room = MAX_UNPACKED
        for wheel in wheels:
            room -= unpack_wheel(wheel.path, unpacked, room, plugins=wheel.name in self._lists[PYTHON].names)
        known = {**hashes, **(npm.install(choice, scratch, unpacked) if choice.modules else {})}
        (unpacked / MARK).write_text(json.dumps(known))
        unpacked.chmod(0o755)
        if place.exists():
            shutil.rmtree(place)
        try:
            unpacked.rename(place)
        except OSError:
            if not _mark_of(place):
                raise SandboxError(f"cannot write the package cache {place}") from None


def _sweep(cache: Path) -> None:
    """Remove what a killed worker left of its fetch."""
    for left in cache.glob(f"{SCRATCH}*"):
        with contextlib.suppress(OSError):
            if time.time() - left.stat().st_mtime > LEFT_SECONDS:
                shutil.rmtree(left, ignore_errors=True)


def _content_of(hashes: Mapping[str, str], choice: npm.NpmChoice) -> str:
    """The name of the folder that holds exactly this."""
    parts = [*sorted(hashes.values()), *sorted(f"{one.place} {one.integrity}" for one in choice.modules)]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]


def _mark_of(place: Path) -> dict[str, str]:
    """The hashes of what a complete folder holds; empty for one that is not there or not complete."""
    try:
        return dict(json.loads((place / MARK).read_text()))
    except (OSError, ValueError, TypeError):
        return {}
