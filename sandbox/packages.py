"""Packages for sandboxed code: names judged against an allow-list, wheels fetched outside and unpacked without running them."""

from __future__ import annotations

import contextlib
import difflib
import hashlib
import json
import os
import platform
import shutil
import stat
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path, PurePosixPath
from typing import IO

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename

from sandbox.base import PackageRefused, PackageSet, SandboxError

ALLOWLIST = Path(__file__).with_name("allowlist.toml")
LOCK = Path(__file__).resolve().parent.parent / "requirements" / "sandbox.lock.txt"
PYTHON_VERSION = "3.11"
MAX_LINE = 500
MAX_PACKAGES = 60
MAX_UNPACKED = 600 * 1024 * 1024
MAX_MEMBERS = 60_000
MAX_RATIO = 200  # unpacked to packed; source text stays far below
FETCH_SECONDS = 300.0


class Judgement(StrEnum):
    """What is to be done with a requirement."""

    ALLOWED = "allowed"
    NEEDS_APPROVAL = "needs_approval"
    REFUSED = "refused"


@dataclass(frozen=True)
class Verdict:
    """The judgement of one requirement line, with the reason and the well-known names that it resembles."""

    judgement: Judgement
    name: str
    reason: str
    look_alikes: tuple[str, ...] = ()

    @property
    def allowed(self) -> bool:
        """True when nobody needs to be asked."""
        return self.judgement is Judgement.ALLOWED


def read_allowlist(path: Path = ALLOWLIST, ecosystem: str = "python") -> frozenset[str]:
    """The allowed names of an ecosystem, normalised; raises SandboxError when the file is not what it should be."""
    try:
        table = tomllib.loads(path.read_text())[ecosystem]["names"]
        return frozenset(canonicalize_name(name) for name in table)
    except (OSError, tomllib.TOMLDecodeError, KeyError, TypeError) as error:
        raise SandboxError(f"cannot read the allow-list {path} for {ecosystem}: {error}") from None


def base_packages(lock: Path = LOCK) -> dict[str, str]:
    """What the sandbox's own environment holds: normalised name to version."""
    with contextlib.suppress(OSError):
        lines = [line.split(";")[0].strip().rstrip("\\").strip() for line in lock.read_text().splitlines()]
        pairs = (line.split("==", 1) for line in lines if "==" in line and not line.startswith(("#", "-")))
        return {canonicalize_name(name): version.strip() for name, version in pairs}
    return {}


class PackageSupply:
    """Judges requirement lines and fetches what is allowed into a cache shared by all sandboxes."""

    def __init__(
        self,
        cache: Path,
        allowlist: Iterable[str] | None = None,
        *,
        approved: Iterable[str] = (),
        pip_options: Sequence[str] = (),
    ) -> None:
        """`approved` are names that a person allowed; `pip_options` choose another index (tests, mirrors)."""
        names = read_allowlist() if allowlist is None else allowlist
        self._known = frozenset(canonicalize_name(name) for name in names)
        self._allowed = self._known | {canonicalize_name(name) for name in approved}
        self._cache, self._pip_options = cache, tuple(pip_options)
        self._base = base_packages()

    def check(self, requirement_line: str) -> Verdict:
        """Judge one line of a requirements file."""
        line = requirement_line.strip()
        shown = line if len(line) <= 80 else line[:77] + "…"

        def refused(reason: str) -> Verdict:
            return Verdict(Judgement.REFUSED, shown, reason)

        if len(line) > MAX_LINE or "\n" in line or "\r" in line:
            return refused("not one requirement on one line")
        line = line.split(" #")[0].strip()
        if line.startswith("-"):
            return refused("options are not allowed: only a package's name, with versions")
        if "://" in line or line.startswith((".", "/", "~")) or line.endswith((".whl", ".gz", ".zip")):
            return refused("addresses and files are not allowed: only a package's name, with versions")
        try:
            requirement = Requirement(line)
        except InvalidRequirement as error:
            return refused(f"not a requirement: {str(error).splitlines()[0]}")
        if requirement.url:
            return refused("addresses and files are not allowed: only a package's name, with versions")
        name = canonicalize_name(requirement.name)
        if name in self._base:
            version = self._base[name]
            if requirement.specifier.contains(version, prereleases=True):
                return Verdict(Judgement.ALLOWED, name, f"already in the sandbox ({version})")
            return Verdict(
                Judgement.REFUSED, name, f"the sandbox has {name} {version}; another version cannot replace it"
            )
        if name in self._allowed:
            return Verdict(Judgement.ALLOWED, name, "on the allow-list")
        alike = self._look_alikes(name)
        if alike:
            return Verdict(
                Judgement.NEEDS_APPROVAL, name, f"not on the allow-list, and looks like {', '.join(alike)}", alike
            )
        return Verdict(Judgement.NEEDS_APPROVAL, name, "not on the allow-list: a person must approve it")

    def _look_alikes(self, name: str) -> tuple[str, ...]:
        """Allowed names that a typing error or a trick turns into `name`."""
        squeezed = name.replace("-", "")
        trimmed = squeezed.removeprefix("python").removeprefix("py")
        same = [known for known in self._known if known.replace("-", "") in (squeezed, trimmed) and known != name]
        near = difflib.get_close_matches(name, self._known, n=3, cutoff=0.82)
        return tuple(dict.fromkeys([*sorted(same), *near]))[:3]

    def fetch(self, requirements: Sequence[str]) -> PackageSet:
        """Download the wheels of allowed requirements, with all they need, and unpack them; cached by content.

        Raises PackageRefused naming the package when one is not allowed, does not exist, has no wheel, needs something
        that is not allowed, or holds what a wheel must not; SandboxError when no index answers.
        """
        wanted = []
        for line in requirements:
            if not line.strip() or line.strip().startswith("#"):
                continue
            verdict = self.check(line)
            if not verdict.allowed:
                raise PackageRefused(verdict.name, verdict.reason)
            if verdict.name not in self._base:
                wanted.append(line.split(" #")[0].strip())
        if not wanted:
            return PackageSet(self._cache / "none")
        if len(wanted) > MAX_PACKAGES:
            raise PackageRefused(wanted[MAX_PACKAGES], f"more than {MAX_PACKAGES} packages at once")
        self._cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="fetch-", dir=self._cache) as scratch:
            wheels = self._download(sorted(wanted), Path(scratch))
            hashes = {wheel.name: hashlib.sha256(wheel.read_bytes()).hexdigest() for wheel in wheels}
            names = self._admit(wheels)
            content = hashlib.sha256("\n".join(sorted(hashes.values())).encode()).hexdigest()[:32]
            folder = self._cache / content
            if not _complete(folder, hashes):
                _install(wheels, Path(scratch) / "unpacked", folder, hashes)
        return PackageSet(folder, tuple(sorted(names)), hashes)

    def _download(self, wanted: Sequence[str], scratch: Path) -> list[Path]:
        target = scratch / "wheels"
        constraints = scratch / "constraints.txt"
        constraints.write_text("".join(f"{name}=={version}\n" for name, version in self._base.items()))
        words = [sys.executable, "-m", "pip", "download", "--quiet", "--no-input", "--disable-pip-version-check"]
        words += [
            "--only-binary",
            ":all:",
            "--python-version",
            PYTHON_VERSION,
            "--implementation",
            "cp",
            *platform_tags(),
        ]
        # Our pins win over what a package would like: the sandbox's own environment is never replaced.
        words += ["--constraint", str(constraints), "--dest", str(target), *self._pip_options, "--", *wanted]
        try:
            done = subprocess.run(
                words,
                capture_output=True,
                text=True,
                timeout=FETCH_SECONDS,
                check=False,
                cwd=scratch,
                env=_pip_environment(),
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise SandboxError(f"cannot fetch {', '.join(wanted)}: {error}") from None
        if done.returncode:
            raise _explained(done.stderr, wanted)
        return [
            wheel for wheel in sorted(target.glob("*")) if canonicalize_name(wheel.name.split("-")[0]) not in self._base
        ]

    def _admit(self, wheels: Iterable[Path]) -> list[str]:
        """The names of the wheels, dependencies included; each must be on the allow-list."""
        names = []
        for wheel in wheels:
            try:
                name = parse_wheel_filename(wheel.name)[0]
            except InvalidWheelFilename:
                raise PackageRefused(wheel.name, "is not a wheel: only wheels are unpacked, nothing is built") from None
            if name not in self._allowed:
                raise PackageRefused(
                    name, "comes along as a dependency and is not on the allow-list: a person must approve it"
                )
            names.append(str(name))
        return names


def platform_tags() -> list[str]:
    """pip's words for the wheels that run in the image, newest first."""
    machine = platform.machine()
    return [
        word for glibc in ("2_36", "2_34", "2_28", "2_17") for word in ("--platform", f"manylinux_{glibc}_{machine}")
    ] + [
        "--platform",
        f"manylinux2014_{machine}",
    ]


def _pip_environment() -> dict[str, str]:
    """pip's own settings and the network's, nothing else of the worker's environment."""
    kept = (
        "PATH",
        "HOME",
        "LANG",
        "SSL_CERT_FILE",
        "SSL_CERT_DIR",
        "REQUESTS_CA_BUNDLE",
        "CURL_CA_BUNDLE",
        "XDG_CONFIG_HOME",
    )
    proxies = ("http_proxy", "https_proxy", "no_proxy", "all_proxy")
    return {
        key: value
        for key, value in os.environ.items()
        if key in kept or key.lower() in proxies or (key.startswith("PIP_") and key not in ("PIP_TARGET", "PIP_PREFIX"))
    }


def _explained(said: str, wanted: Sequence[str]) -> SandboxError:
    """What pip's error means, as ours."""
    errors = [line.removeprefix("ERROR: ") for line in said.splitlines() if line.startswith("ERROR")]
    text = " ".join(errors)[:400] or said.strip()[-400:]
    network = (
        "Temporary failure in name resolution",
        "NewConnectionError",
        "ConnectTimeout",
        "Network is unreachable",
        "ProxyError",
    )
    if any(word in said for word in network):
        return SandboxError(f"no package index answers, {', '.join(wanted)} cannot be fetched: {text}")
    for line in wanted:
        name = canonicalize_name(Requirement(line).name)
        if f"No matching distribution found for {Requirement(line).name}" in said:
            return PackageRefused(name, "no such package, no such version, or no wheel for the sandbox's Python")
    return PackageRefused(", ".join(wanted), f"cannot be fetched as wheels: {text}")


def _complete(folder: Path, hashes: Mapping[str, str]) -> bool:
    try:
        return bool(json.loads((folder / ".aiswe-wheels.json").read_text()) == dict(hashes))
    except (OSError, ValueError):
        return False


def _install(wheels: Sequence[Path], unpacked: Path, folder: Path, hashes: Mapping[str, str]) -> None:
    unpacked.mkdir()
    room = MAX_UNPACKED
    for wheel in wheels:
        room -= unpack_wheel(wheel, unpacked, room)
    (unpacked / ".aiswe-wheels.json").write_text(json.dumps(dict(hashes)))
    unpacked.chmod(0o755)
    if folder.exists():
        shutil.rmtree(folder)
    try:
        unpacked.rename(folder)  # in one step: another worker sees all of it or nothing
    except OSError:
        if not _complete(folder, hashes):
            raise SandboxError(f"cannot write the package cache {folder}") from None


def unpack_wheel(wheel: Path, target: Path, room: int = MAX_UNPACKED) -> int:
    """Unpack a wheel's modules without running anything; the bytes written. Raises PackageRefused for what is not a plain wheel."""
    name, written = wheel.name, 0
    try:
        with zipfile.ZipFile(wheel) as archive:
            members = archive.infolist()
            if len(members) > MAX_MEMBERS:
                raise PackageRefused(name, f"holds more than {MAX_MEMBERS} files")
            for member in members:
                place = _place(name, member)
                if place is None:
                    continue
                if member.file_size > room - written or member.file_size > MAX_RATIO * max(member.compress_size, 1024):
                    raise PackageRefused(name, f"{member.filename[:80]!r} unpacks to too much")
                file = target / place
                file.parent.mkdir(parents=True, exist_ok=True)
                with archive.open(member) as source, file.open("wb") as out:
                    written += _copy(source, out, member.file_size, name)
                file.chmod(0o755 if file.suffix == ".so" else 0o644)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, OSError, ValueError) as error:
        raise PackageRefused(name, f"is not a readable wheel: {error}") from None
    return written


def _copy(source: IO[bytes], out: IO[bytes], size: int, name: str) -> int:
    """Copy what the archive's directory promised, and not a byte more."""
    copied = 0
    while piece := source.read(1 << 20):
        copied += len(piece)
        if copied > size:
            raise PackageRefused(name, "unpacks to more than it declares")
        out.write(piece)
    return copied


def _place(wheel: str, member: zipfile.ZipInfo) -> PurePosixPath | None:
    """Where a member belongs below the package folder; None for what is left out."""
    path = PurePosixPath(member.filename)
    if path.is_absolute() or ".." in path.parts or "\\" in member.filename or ":" in member.filename or not path.parts:
        raise PackageRefused(wheel, f"{member.filename[:80]!r} would be written outside of its folder")
    if stat.S_ISLNK(member.external_attr >> 16):
        raise PackageRefused(wheel, f"{member.filename[:80]!r} is a link")
    if member.is_dir():
        return None
    parts = path.parts
    if parts[0].endswith(".data"):
        if len(parts) < 3 or parts[1] not in ("purelib", "platlib"):
            return None  # scripts, headers and data files have no place in a folder of modules
        parts = parts[2:]
    # `.pth` lines are run by every Python that starts; `sitecustomize` likewise.
    if len(parts) == 1 and (parts[0].endswith(".pth") or parts[0] in ("sitecustomize.py", "usercustomize.py")):
        return None
    return PurePosixPath(*parts)
