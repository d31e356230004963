"""Fetching npm packages: npm only chooses versions; we fetch and unpack. No script of a package runs."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import platform
import re
import shutil
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from sandbox.base import PackageRefused, SandboxError
from sandbox.package_index.allowed_index import AllowedIndex
from sandbox.package_index.archives import MAX_UNPACKED, unpack_tarball
from sandbox.package_index.errors import IndexUnavailable
from sandbox.package_index.index import AWAY, IndexClient
from sandbox.package_index.names import NPM, NPM_NAME, npm_parts
from sandbox.package_index.pip import explained, run_tool
from sandbox.package_index.proxy import MAX_FETCH, IndexProxy

NPM_WORDS = ["install", "--package-lock-only", "--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier"]
NPM_WORDS += ["--no-workspaces", "--lockfile-version=3", "--fetch-retries=1", "--loglevel=error"]
NPM_WORDS += ["--engine-strict=false", "--replace-registry-host=always"]
MAX_PACKAGES = 1_500
MAX_TARBALL = 100 * 1024 * 1024
PROCESSORS = {"x86_64": "x64", "aarch64": "arm64"}
PLACE = re.compile(rf"(?:node_modules/{NPM_NAME.pattern}/?)+")


@dataclass(frozen=True)
class Module:
    """A package at its place below node_modules."""

    place: str
    name: str
    version: str
    integrity: str
    index: IndexClient = field(compare=False)
    url: str = ""


@dataclass(frozen=True)
class NpmChoice:
    """Which packages npm chose, and the lock that says so with the registry's own addresses."""

    modules: tuple[Module, ...]
    lock: str


def choose(wanted: Sequence[str], allowed_index: AllowedIndex, scratch: Path, lock: str = "") -> NpmChoice:
    """Let npm choose versions for these requirements (`npm:NAME@RANGE`), keeping to `lock` where it fits.

    Raises PackageRefused, NoSuchPackage and PackageUnlisted naming the package, and IndexUnavailable.
    """
    npm = shutil.which("npm")
    if npm is None:
        raise IndexUnavailable("npm is not installed on this machine: install Node.js 20 or newer")
    folder = scratch / "npm"
    folder.mkdir()
    manifest = {"name": "workspace", "version": "0.0.0", "private": True, "dependencies": dict(map(npm_parts, wanted))}
    (folder / "package.json").write_text(json.dumps(manifest))
    if lock:
        (folder / "package-lock.json").write_text(lock)
    with IndexProxy({"node": allowed_index}) as proxy:
        words = [npm, *NPM_WORDS, f"--registry={proxy.npm}", f"--cache={folder / 'cache'}"]
        done = run_tool(words, folder, wanted)
        if done.returncode:
            raise _explained([*allowed_index.troubles, *proxy.troubles], done.stderr, wanted)
        return _read_lock((folder / "package-lock.json").read_text(), allowed_index, wanted, _locked(lock))


def _explained(troubles: Sequence[SandboxError], said: str, wanted: Sequence[str]) -> Exception:
    for line in said.splitlines():
        if "No matching version found for" in line:
            name, versions = npm_parts(line.rpartition("No matching version found for ")[2].split(" ")[0].rstrip("."))
            return PackageRefused(NPM + name, f"no release fits {versions}, or only ones that are too new")
    return (
        explained(troubles, "", [])
        if troubles
        else PackageRefused(", ".join(wanted), f"npm cannot choose versions: {' '.join(said.split())[:300]}")
    )


def _locked(lock: str) -> dict[tuple[str, str, str], str]:
    """Where the packages of an earlier lock of ours lie, by name, version and hash: they were judged then."""
    found = {}
    for place, entry in (json.loads(lock)["packages"] if lock else {}).items():
        if place:
            name = str(entry.get("name") or place.rpartition("node_modules/")[2])
            found[name, str(entry["version"]), str(entry["integrity"])] = str(entry["resolved"])
    return found


def _read_lock(
    text: str, allowed_index: AllowedIndex, wanted: Sequence[str], locked: Mapping[tuple[str, str, str], str]
) -> NpmChoice:
    """What npm wrote, taken only as far as it agrees with what the allowed index offered."""
    try:
        document = json.loads(text)
        entries = {place: entry for place, entry in document["packages"].items() if place}
    except (ValueError, KeyError, AttributeError):
        raise PackageRefused(", ".join(wanted), "npm wrote a lock that cannot be read") from None
    if len(entries) > MAX_PACKAGES:
        raise PackageRefused(wanted[0], f"brings more than {MAX_PACKAGES} packages")
    modules = []
    for place, entry in entries.items():
        if not PLACE.fullmatch(place) or entry.get("link") or entry.get("inBundle"):
            raise PackageRefused(place[:80], "is not a plain package of the registry")
        name = str(entry.get("name") or place.rpartition("node_modules/")[2])
        version = str(entry.get("version"))
        integrity = str(entry.get("integrity"))
        address = locked.get((name, version, integrity))
        if address is None:
            offered = allowed_index.packument(name)["versions"].get(version)
            if offered is None or offered["dist"]["integrity"] != integrity:
                raise PackageRefused(NPM + name, "is not what the registry offered")
            address = str(offered["dist"]["tarball"])
        entry["resolved"] = address
        if _fits(entry):
            index = allowed_index.index_of(name)
            modules.append(Module(place, name, version, integrity, index, address))
    _drop_absent_options(entries)
    return NpmChoice(tuple(modules), json.dumps(document, indent=2) + "\n")


def _drop_absent_options(entries: Mapping[str, dict[str, Any]]) -> None:
    """Take optional dependencies that were not to be had out of the lock: `npm ci` wants all that it names."""
    for place, entry in entries.items():
        options = entry.get("optionalDependencies", {})
        for name in [name for name in options if not _is_there(name, place, entries)]:
            del options[name]
        if not options:
            entry.pop("optionalDependencies", None)


def _is_there(name: str, place: str, entries: Collection[str]) -> bool:
    """Whether Node finds a package from the one at this place: below it, or beside one of those above it."""
    above = place
    while above:
        if f"{above}/node_modules/{name}" in entries:
            return True
        above = above.rpartition("node_modules/")[0].rstrip("/")
    return f"node_modules/{name}" in entries


def _fits(entry: Mapping[str, Any]) -> bool:
    """Whether a package is for Linux, this processor and glibc; others are optional and left out."""
    here = {"os": "linux", "cpu": PROCESSORS.get(platform.machine(), platform.machine()), "libc": "glibc"}
    for key, value in here.items():
        given = entry.get(key)
        words = [given] if isinstance(given, str) else [str(word) for word in given or ()]
        banned = {word[1:] for word in words if word.startswith("!")}
        wanted = {word for word in words if not word.startswith("!")}
        if value in banned or (wanted and value not in wanted and "any" not in wanted):
            return False
    return True


def install(choice: NpmChoice, scratch: Path, target: Path) -> dict[str, str]:
    """Fetch what was chosen, check each hash, and unpack below `target`/node_modules; file names with their sha256."""
    hashes: dict[str, str] = {}
    fetched: dict[str, Path] = {}
    room, left = MAX_UNPACKED, MAX_FETCH
    for module in sorted(choice.modules, key=lambda one: one.place):
        tarball = fetched.get(module.integrity)
        if tarball is None:
            tarball = scratch / f"{len(fetched)}-{module.name.replace('/', '+')}-{module.version}.tgz"
            hashes[f"{module.name}-{module.version}.tgz"] = _fetch(module, tarball)
            fetched[module.integrity] = tarball
            left -= tarball.stat().st_size
            if left < 0:
                raise PackageRefused(NPM + module.name, f"comes with more than {MAX_FETCH >> 20} MB of packages")
        room -= unpack_tarball(tarball, target / module.place, room)
    _link_commands(target / "node_modules")
    return hashes


def _fetch(module: Module, file: Path) -> str:
    strong, plain, size = hashlib.sha512(), hashlib.sha256(), 0
    try:
        with module.index.open(module.url) as source, file.open("wb") as out:
            while piece := source.read(1 << 18):
                size += len(piece)
                if size > MAX_TARBALL:
                    raise PackageRefused(NPM + module.name, f"is larger than {MAX_TARBALL >> 20} MB")
                strong.update(piece)
                plain.update(piece)
                out.write(piece)
    except FileNotFoundError:
        raise PackageRefused(NPM + module.name, f"the registry has no file for version {module.version}") from None
    except AWAY as error:
        raise IndexUnavailable(f"the registry broke off while {module.name} was fetched: {error}") from None
    digest = "sha512-" + base64.b64encode(strong.digest()).decode()
    if digest not in module.integrity.split():
        raise PackageRefused(NPM + module.name, "is not what the registry offered: its hash differs")
    return plain.hexdigest()


def _link_commands(modules: Path) -> None:
    """`.bin` with links to the commands of the topmost packages, none of which leads out of its package."""
    folder = modules / ".bin"
    for manifest in sorted([*modules.glob("*/package.json"), *modules.glob("@*/*/package.json")]):
        try:
            given = json.loads(manifest.read_text(errors="replace"))
        except ValueError:
            continue
        found = given.get("bin") if isinstance(given, dict) else None
        commands = {str(given.get("name", "")).rpartition("/")[2]: found} if isinstance(found, str) else found
        for name, path in commands.items() if isinstance(commands, dict) else ():
            file = (manifest.parent / str(path)).resolve()
            plain = re.fullmatch(r"[A-Za-z0-9][\w.-]{0,80}", str(name))
            if plain and file.is_relative_to(manifest.parent.resolve()) and file.is_file():
                folder.mkdir(exist_ok=True)
                file.chmod(0o755)
                link = folder / str(name)
                if not link.is_symlink():
                    link.symlink_to(PurePosixPath("..") / os.path.relpath(file, modules.resolve()))
