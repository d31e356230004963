"""Unpacking wheels and npm's archives: no code or script of theirs runs, and nothing is written outside.

What would run by itself later is left out.
"""

from __future__ import annotations

import gzip
import re
import stat
import sys
import tarfile
import zipfile
import zlib
from functools import cache
from pathlib import Path, PurePosixPath
from typing import IO

from sandbox.base import PackageRefused
from sandbox.package_index.names import base_packages

MAX_UNPACKED = 600 * 1024 * 1024
MAX_MEMBERS = 60_000
MAX_RATIO, ANY_RATIO = 200, 8 * 1024 * 1024  # unpacked to packed, for members of more bytes than this
# Every Python that starts imports these, and a test run reads `conftest`.
SELF_STARTING = frozenset({"sitecustomize", "usercustomize", "conftest"})
# The tools whose word is believed: a package that brings a module of this name would speak for them.
BELIEVED = frozenset(
    "pytest _pytest pluggy iniconfig coverage pytest_cov hypothesis _hypothesis_pytestplugin pip".split()
)
TEST_PLUGIN = re.compile(rb"^\s*\[\s*pytest11\s*\]", re.MULTILINE)


def unpack_wheel(wheel: Path, target: Path, room: int = MAX_UNPACKED, *, plugins: bool = True) -> int:
    """Unpack a wheel's modules without running anything; the bytes written.

    Left out: `.pth` files and start-up modules, scripts and data files, bytecode, and unless `plugins` the entry points
    of a test plug-in. Raises PackageRefused for what is not a plain wheel or would stand before the standard library or
    the test tools.
    """
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
                bomb = member.file_size > max(ANY_RATIO, MAX_RATIO * member.compress_size)
                if bomb or member.file_size > room - written:
                    raise PackageRefused(name, f"{member.filename[:80]!r} unpacks to too much")
                if not plugins and place.name == "entry_points.txt" and TEST_PLUGIN.search(archive.read(member)):
                    continue
                file = target / place
                file.parent.mkdir(parents=True, exist_ok=True)
                with archive.open(member) as source, file.open("wb") as out:
                    written += copy(source, out, member.file_size, name)
                file.chmod(0o755 if file.suffix == ".so" else 0o644)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, OSError, ValueError) as error:
        raise PackageRefused(name, f"is not a readable wheel: {error}") from None
    return written


def copy(source: IO[bytes], out: IO[bytes], size: int, name: str) -> int:
    """Copy what an archive's directory promised, and not a byte more."""
    copied = 0
    while piece := source.read(1 << 20):
        copied += len(piece)
        if copied > size:
            raise PackageRefused(name, "unpacks to more than it declares")
        out.write(piece)
    return copied


def inner_path(package: str, path: str) -> PurePosixPath:
    """A member's path; raises PackageRefused when it leads out of its folder."""
    found = PurePosixPath(path)
    odd = "\\" in path or ":" in path or "\0" in path
    if found.is_absolute() or ".." in found.parts or odd or not found.parts:
        raise PackageRefused(package, f"{path[:80]!r} would be written outside of its folder")
    return found


def _place(wheel: str, member: zipfile.ZipInfo) -> PurePosixPath | None:
    """Where a member belongs below the package folder; None for what is left out."""
    path = inner_path(wheel, member.filename)
    if stat.S_ISLNK(member.external_attr >> 16):
        raise PackageRefused(wheel, f"{member.filename[:80]!r} is a link")
    if member.is_dir():
        return None
    parts = path.parts
    if parts[0].endswith(".data"):
        if len(parts) < 3 or parts[1] not in ("purelib", "platlib"):
            return None  # scripts, headers and data files have no place in a folder of modules
        parts = parts[2:]
    top = parts[0].split(".")[0]
    # Bytecode cannot be reviewed, and an old `.pyc` takes precedence over the source next to it.
    if top in SELF_STARTING or "__pycache__" in parts or parts[-1].endswith((".pyc", ".pyo", ".egg-link")):
        return None
    if len(parts) == 1 and parts[0].endswith(".pth"):
        return None
    module = len(parts) > 1 or parts[0].endswith((".py", ".so"))
    if module and not parts[0].endswith((".dist-info", ".libs")) and top in _taken():
        raise PackageRefused(wheel, f"brings a module {top!r} that would shadow the real one")
    return PurePosixPath(*parts)


@cache
def _taken() -> frozenset[str]:
    return sys.stdlib_module_names | BELIEVED | {name.replace("-", "_") for name in base_packages()}


def unpack_tarball(tarball: Path, target: Path, room: int = MAX_UNPACKED) -> int:
    """Unpack a package below `target` without its topmost folder; the bytes written. Raises PackageRefused."""
    name, written = tarball.name, 0
    room = min(room, max(ANY_RATIO, MAX_RATIO * tarball.stat().st_size))
    try:
        with tarfile.open(tarball, "r:gz") as archive:
            for count, member in enumerate(archive):
                if count > MAX_MEMBERS:
                    raise PackageRefused(name, f"holds more than {MAX_MEMBERS} files")
                path = inner_path(name, member.name)
                if member.issym() or member.islnk():
                    raise PackageRefused(name, f"{member.name[:80]!r} is a link")
                if member.isdir() or len(path.parts) < 2:
                    continue
                if not member.isreg():
                    raise PackageRefused(name, f"{member.name[:80]!r} is not a regular file")
                # A folder of its own dependencies would stand before those that were chosen and checked.
                place = PurePosixPath(*path.parts[1:])
                if "node_modules" in place.parts:
                    continue
                if member.size > room - written:
                    raise PackageRefused(name, f"{member.name[:80]!r} unpacks to too much")
                source = archive.extractfile(member)
                if source is None:
                    continue
                file = target / place
                file.parent.mkdir(parents=True, exist_ok=True)
                with source, file.open("wb") as out:
                    written += copy(source, out, member.size, name)
                file.chmod(0o755 if member.mode & 0o100 else 0o644)
    except (tarfile.TarError, gzip.BadGzipFile, zlib.error, EOFError, OSError, ValueError) as error:
        raise PackageRefused(name, f"is not a readable package: {error}") from None
    return written
