"""What an installer gets to see: allowed names, each from its one index, finished wheels, no brand-new releases."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from sandbox.base import PackageRefused, SandboxError
from sandbox.package_index import facts
from sandbox.package_index.allowlist import NODE, PYTHON, AllowList, plain
from sandbox.package_index.errors import NoSuchPackage, PackageUnlisted
from sandbox.package_index.index import IndexClient, IndexFile, Page, moment, times_of
from sandbox.package_index.names import NPM, NPM_NAME, npm_parts

Found = TypeVar("Found")
NO_SUCH = "there is no package of this name"


@dataclass(frozen=True)
class Request:
    """A line of the proxy's log: a name that an installer asked for, and what it got."""

    ecosystem: str
    name: str
    answer: str


UNLISTED = "comes along as a dependency and is not on the allow-list: a person must approve it"


class AllowedIndex:
    """The allowed part of the indexes of one ecosystem. Safe to use from several threads."""

    def __init__(
        self, ecosystem: str, known: AllowList, approved: Iterable[str], address: str, pins: Mapping[str, str]
    ) -> None:
        """`approved` are names that a person allowed, as questions name them; `pins` the only version of a name to
        show.
        """
        self._ecosystem, self._known, self._pins = ecosystem, known, dict(pins)
        prefix = NPM if ecosystem == NODE else ""
        self._approved = frozenset(name.removeprefix(prefix) for name in approved if name.startswith(prefix))
        self._indexes: dict[str, IndexClient] = {}
        self._address, self._lock = address, threading.Lock()
        self._looked: dict[str, Any] = {}  # one fetch sees one state of the index
        self.log: list[Request] = []
        self.troubles: list[SandboxError] = []
        self.unlisted: list[str] | None = None  # a list: dependencies on no list are noted there instead of refused

    def index_of(self, name: str) -> IndexClient:
        """The only index that this name may come from."""
        address = self._known.index_for(name) or self._address
        with self._lock:
            return self._indexes.setdefault(address, IndexClient(address))

    def facts(self, name: str) -> facts.Facts:
        """What the index tells about a name, allowed or not; raises NoSuchPackage and IndexUnavailable."""
        index = self.index_of(name)
        if self._ecosystem == PYTHON:
            page = index.page(name)
            if page is not None and page.files:
                return facts.of_page(page, index.address)
        else:
            document = index.packument(name)
            if document is not None:
                return facts.of_packument(document, index.address)
        raise NoSuchPackage(self._shown(name), f"{NO_SUCH} at {index.address}")

    def page(self, name: str) -> Page:
        """The wheels of an allowed Python package; raises SandboxError with the reason, which is kept in `troubles`."""
        return self._served(plain(name, PYTHON), self._page)

    def packument(self, name: str) -> dict[str, Any]:
        """The releases of an allowed npm package; raises SandboxError with the reason, which is kept in `troubles`."""
        return self._served(name, self._packument)

    def _served(self, name: str, look: Callable[[str], Found]) -> Found:
        known = self._looked.get(name)
        if known is not None:
            return known  # type: ignore[no-any-return]  # what this look found before
        try:
            found = self._looked[name] = look(name)
        except SandboxError as error:
            self._note(name, str(error), error)
            raise
        self._note(name, "served")
        return found

    def _note(self, name: str, answer: str, error: SandboxError | None = None) -> None:
        with self._lock:
            self.log.append(Request(self._ecosystem, name, answer[:200]))
            if error is not None:
                self.troubles.append(error)

    def _shown(self, name: str) -> str:
        return NPM + name if self._ecosystem == NODE else name

    def _named(self, name: str) -> bool:
        """Whether the name itself is allowed, by the list, by a person, or by having an index of its own."""
        return name in self._known.names or name in self._approved or bool(self._known.index_for(name))

    def _page(self, name: str) -> Page:
        if not self._named(name):
            if self.unlisted is None:
                raise PackageUnlisted([name], UNLISTED)
            self.unlisted.append(name)
        found = self.index_of(name).page(name)
        if found is None or not found.files:
            raise NoSuchPackage(name, NO_SUCH)
        if found.status == "quarantined":
            raise PackageRefused(name, "the index has put it into quarantine")
        wheels = [file for file in found.files if file.wheel]
        if not wheels:
            raise PackageRefused(name, "has no wheel: only wheels are unpacked, nothing is built")
        pin = self._pins.get(name)
        seen = [file for file in wheels if file.version == pin] if pin else self._ripe(name, wheels)
        if not seen:
            raise PackageRefused(name, f"version {pin}, which this project uses, is not there any more as a wheel")
        return replace(found, files=tuple(seen))

    def _ripe(self, name: str, files: list[IndexFile]) -> list[IndexFile]:
        limit = datetime.now(UTC) - timedelta(days=self._known.cooldown_days)
        ripe = [file for file in files if file.uploaded is None or file.uploaded <= limit]
        if not ripe:
            raise PackageRefused(name, self._too_new())
        return ripe

    def _too_new(self) -> str:
        days = self._known.cooldown_days
        return f"all its releases are younger than {days} days; what is that new may be stolen or a trap"

    def _packument(self, name: str) -> dict[str, Any]:
        if not NPM_NAME.fullmatch(name):
            raise PackageRefused(name[:80], "not the name of an npm package")
        if not self._named(name) and self._known.listed_only:
            raise PackageUnlisted([self._shown(name)], UNLISTED)
        index = self.index_of(name)
        document = index.packument(name)
        if document is None:
            raise NoSuchPackage(self._shown(name), NO_SUCH)
        known = facts.of_packument(document, index.address)
        age = known.age_days()
        if not self._named(name) and (age is None or age < self._known.young_days):
            young = "of unknown age" if age is None else f"only {age} days old"
            raise PackageUnlisted(
                [self._shown(name)], f"comes along as a dependency and is {young}: a person must approve it"
            )
        versions = self._ripe_versions(name, document)
        tags = document.get("dist-tags")
        latest = str(tags.get("latest", "")) if isinstance(tags, dict) else ""
        if latest not in versions:
            latest = (
                facts.newest_version(versions) if facts.newest_version(versions) in versions else list(versions)[-1]
            )
        return {"name": name, "dist-tags": {"latest": latest}, "versions": versions}

    def _ripe_versions(self, name: str, document: dict[str, Any]) -> dict[str, Any]:
        times = times_of(document)
        limit = datetime.now(UTC) - timedelta(days=self._known.cooldown_days)
        ripe, sound = [], {}
        for version, manifest in document["versions"].items():
            uploaded = moment(times.get(version))
            if uploaded is not None and uploaded > limit:
                continue
            ripe.append(version)
            if isinstance(manifest, dict) and (slim := manifest_of(name, str(version), manifest)) is not None:
                sound[str(version)] = slim
        if not ripe:
            raise PackageRefused(self._shown(name), self._too_new())
        if not sound:
            raise PackageRefused(
                self._shown(name), "no release has a strong hash and takes all it needs from the registry"
            )
        return sound


FIELDS = ("dependencies", "optionalDependencies", "peerDependencies")
KEPT = ("bin", "engines", "os", "cpu", "libc", "peerDependenciesMeta")


def manifest_of(name: str, version: str, given: dict[str, Any]) -> dict[str, Any] | None:
    """What resolving needs of a release; None for one that has no strong hash or reaches past the registry (git, URLs,
    folders).
    """
    dist = given.get("dist")
    if not isinstance(dist, dict) or "sha512-" not in str(dist.get("integrity", "")) or not dist.get("tarball"):
        return None
    slim: dict[str, Any] = {"name": name, "version": version}
    for kind in FIELDS:
        needs = given.get(kind) or {}
        if not isinstance(needs, dict) or not all(_of_registry(str(wanted)) for wanted in needs.values()):
            return None
        slim[kind] = {str(need): str(wanted) for need, wanted in needs.items()}
    slim |= {key: given[key] for key in KEPT if key in given}
    if given.get("bundleDependencies") or given.get("bundledDependencies"):
        return None  # copies of other packages inside, which nobody resolved or hashed
    if facts.install_scripts(given):
        slim["hasInstallScript"] = True
    return slim | {"dist": {"integrity": str(dist["integrity"]), "tarball": str(dist["tarball"])}}


def _of_registry(wanted: str) -> bool:
    """Whether a version range names releases of a registry, under this name or as an alias of another."""
    if wanted.startswith("npm:"):
        name, versions = npm_parts(wanted)
        return bool(NPM_NAME.fullmatch(name)) and not set(":/") & set(versions)
    return not set(":/") & set(wanted)
