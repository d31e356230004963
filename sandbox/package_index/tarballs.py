"""npm's archives, unpacked without npm: no script runs, no link is made, nothing is written outside."""

from __future__ import annotations

import gzip
import tarfile
import zlib
from pathlib import Path, PurePosixPath

from sandbox.base import PackageRefused
from sandbox.package_index.wheels import ANY_RATIO, MAX_MEMBERS, MAX_RATIO, MAX_UNPACKED, copy, inner_path


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
