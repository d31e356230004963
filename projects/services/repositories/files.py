"""Files of a source that is no git repository: a folder, or an archive that somebody uploaded."""

from __future__ import annotations

import lzma
import os
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import IO

from agents.languages.registry import languages
from agents.workspace.addresses import SourceRefused
from agents.workspace.fetching import PlainFile
from sandbox.base import PackageRefused
from sandbox.package_index.archives import ANY_RATIO, MAX_RATIO, inner_path

MAX_FILES, MAX_PATH = 60_000, 400
_UNREADABLE: tuple[type[Exception], ...] = (
    *(PackageRefused, tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError),
    *(EOFError, OSError, ValueError, KeyError, NotImplementedError, RuntimeError),
)
_LINK, _PROGRAM, _PLAIN = "120000", "100755", "100644"
# What tools leave behind, and git's own folder: its hooks and settings are nobody's code.
_IGNORED = [pattern for one in languages() for pattern in one.ignored]
_LEFT_OUT = frozenset(
    [
        *".git .tox .nox .mypy_cache .ruff_cache .eggs __MACOSX".split(),
        *(one.rstrip("/") for one in _IGNORED if one.endswith("/")),
    ]
)
_ENDINGS = tuple(one.removeprefix("*") for one in _IGNORED if one.startswith("*."))


def read_archive(file: IO[bytes], name: str, *, megabytes: int) -> list[PlainFile]:
    """The files of a zip or tar archive (also .gz, .bz2, .xz) without their one topmost folder.

    Raises SourceRefused for more files or bytes than is allowed, and for members that lead out of it.
    """
    size = file.seek(0, os.SEEK_END)
    room = min(megabytes * 1_000_000, max(ANY_RATIO, MAX_RATIO * size))
    file.seek(0)
    try:
        is_zip = zipfile.is_zipfile(file)
        file.seek(0)
        found: dict[str, PlainFile] = {}
        for one in (_zip_files if is_zip else _tar_files)(file, name, room):
            room -= len(one.content)
            if room < 0 or len(found) > MAX_FILES:
                raise SourceRefused(f"{name} unpacks to too much (more than {megabytes} MB or {MAX_FILES:,} files).")
            found[one.path] = one
    except tarfile.ReadError:  # its text is a list of what was tried
        raise SourceRefused(f"{name} cannot be unpacked: it is not a complete zip or tar archive.") from None
    except _UNREADABLE as error:
        raise SourceRefused(f"{name} cannot be unpacked as a zip or tar archive: {error}") from None
    return [one for one in _below_top([*found.values()]) if not _is_left_out(one.path)]


def _tar_files(file: IO[bytes], name: str, room: int) -> Iterator[PlainFile]:
    links: list[tuple[str, tarfile.TarInfo]] = []
    with tarfile.open(fileobj=file, mode="r:*") as archive:
        for member in archive:
            path = _checked(name, member.name) if not member.isdir() else ""
            if not path:
                continue
            if member.issym():
                yield _link(name, path, member.linkname)
            elif member.islnk():
                _checked(name, member.linkname)
                links.append((path, member))
            elif member.size > room:
                raise SourceRefused(f"{name}: {member.name[:80]!r} unpacks to too much.")
            elif not member.isreg():
                raise SourceRefused(f"{name}: {member.name[:80]!r} is a device or a pipe.")
            elif source := archive.extractfile(member):
                content = source.read(member.size)
                yield PlainFile(path, content, _PROGRAM if member.mode & 0o100 else _PLAIN)
        for path, member in links:  # another name of a file in the same archive
            source = archive.extractfile(member)
            if source is None:
                raise SourceRefused(f"{name}: {path[:80]!r} is a link to something that is not a file.")
            yield PlainFile(path, source.read())


def _zip_files(file: IO[bytes], name: str, room: int) -> Iterator[PlainFile]:
    with zipfile.ZipFile(file) as archive:
        for member in archive.infolist():
            if member.is_dir():
                continue
            path, mode = _checked(name, member.filename), member.external_attr >> 16
            if member.file_size > room or member.file_size > max(ANY_RATIO, MAX_RATIO * member.compress_size):
                raise SourceRefused(f"{name}: {member.filename[:80]!r} unpacks to too much.")
            with archive.open(member) as source:
                content = source.read(member.file_size + 1)
            if len(content) > member.file_size:
                raise SourceRefused(f"{name}: {member.filename[:80]!r} unpacks to more than it declares.")
            if stat.S_ISLNK(mode):
                yield _link(name, path, content.decode("utf-8", "surrogateescape"))
            else:
                yield PlainFile(path, content, _PROGRAM if mode & 0o100 else _PLAIN)


def _checked(archive: str, path: str) -> str:
    """A member's path below its archive. Raises PackageRefused and SourceRefused."""
    found = str(inner_path(archive, path))
    if len(found) > MAX_PATH or any(ord(letter) < 32 for letter in found):
        raise SourceRefused(f"{archive}: a path is longer than {MAX_PATH} letters or holds control characters.")
    return found


def _link(archive: str, path: str, target: str) -> PlainFile:
    if not leads_inside(path, target):
        raise SourceRefused(f"{archive}: the link {path[:80]!r} leads out of it.")
    return PlainFile(path, target.encode("utf-8", "surrogateescape"), _LINK)


def leads_inside(path: str, target: str) -> bool:
    """Whether a link at `path` leads to a place below the same topmost folder."""
    if target.startswith("/") or "\0" in target or "\\" in target:
        return False
    depth = len(PurePosixPath(path).parts) - 1
    for part in target.split("/"):
        depth += -1 if part == ".." else part not in ("", ".")
        if depth < 0:
            return False
    return True


def _below_top(files: list[PlainFile]) -> list[PlainFile]:
    """Without the one folder that holds them all, as archives of a release have it."""
    tops = {one.path.partition("/")[0] for one in files}
    if len(tops) != 1 or any("/" not in one.path for one in files):
        return files
    for one in files:
        if one.mode == _LINK and not leads_inside(one.path.partition("/")[2], one.content.decode("utf-8", "replace")):
            raise SourceRefused(f"The link {one.path[:80]!r} leads out of the archive's folder.")
    return [PlainFile(one.path.partition("/")[2], one.content, one.mode) for one in files]


def _is_left_out(path: str) -> bool:
    return bool(_LEFT_OUT & set(path.split("/"))) or path.endswith(_ENDINGS)


def read_folder(folder: Path, *, megabytes: int) -> tuple[list[PlainFile], list[str]]:
    """The files of a folder and what of it was left out, in sentences. Raises SourceRefused for too much of them."""
    found: list[PlainFile] = []
    outside = special = total = 0
    for above, names, files in os.walk(folder):
        names[:] = sorted(one for one in names if one not in _LEFT_OUT and not Path(above, one, "pyvenv.cfg").exists())
        linked = [one for one in names if Path(above, one).is_symlink()]
        for name in sorted([*files, *linked]):
            file = Path(above, name)
            path = file.relative_to(folder).as_posix()
            status = file.lstat()
            if _is_left_out(path):
                continue
            if stat.S_ISLNK(status.st_mode) and leads_inside(path, os.readlink(file)):
                found.append(PlainFile(path, os.fsencode(os.readlink(file)), _LINK))
            elif stat.S_ISLNK(status.st_mode):
                outside += 1
            elif not stat.S_ISREG(status.st_mode):
                special += 1
            else:
                total += status.st_size
                if total > megabytes * 1_000_000 or len(found) > MAX_FILES:
                    raise SourceRefused(f"{folder.name} holds more than {megabytes} MB or {MAX_FILES:,} files.")
                found.append(PlainFile(path, file.read_bytes(), _PROGRAM if status.st_mode & 0o100 else _PLAIN))
    notes = [f"Left out: {outside} link(s) that lead out of the folder."] * bool(outside)
    notes += [f"Left out: {special} device(s) or pipe(s)."] * bool(special)
    return found, notes
