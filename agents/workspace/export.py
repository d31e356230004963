"""A commit as a zip, a tar or a git bundle, made from its blobs.

`git archive` would leave out files marked `export-ignore` and rewrite those marked `export-subst`. An archive holds
what the commit holds. Archives are made while they are sent.
"""

from __future__ import annotations

import contextlib
import io
import os
import signal
import stat
import subprocess
import tarfile
import tempfile
import time
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from agents.workspace.git import GitError, git, out, read_blobs, start_git
from agents.workspace.objects import NAME
from agents.workspace.store import LINK, PROGRAM, SUBMODULE, Entries, Store

PIECE = 64 * 1024
NOTES = "refs/notes/aiswe"
_PORTION = 8_000_000  # bytes of files that are read at once; a larger file by itself
_MOST_LINK = 4_096  # bytes of a link's target


def commit_at(git_dir: Path, revision: str) -> str:
    """The full hash of the commit that a branch, a tag or a (short) hash names. Raises GitError when there is none."""
    if not revision or revision.startswith("-") or any(c in revision for c in "\x00\n^~:{ "):
        raise GitError(f"{revision[:80]!r} names no commit")
    found = git(git_dir, "rev-parse", "-q", "--verify", "--end-of-options", f"{revision}^{{commit}}", check=False)
    if found.returncode or not NAME.fullmatch(found.stdout.strip()):
        raise GitError(f"{revision[:80]!r} names no commit")
    return found.stdout.strip()


def entries(git_dir: Path, commit: str) -> Entries:
    """Everything in a commit. Raises GitError, also for a path that would leave the folder it is unpacked in."""
    found = Store(git_dir).listing(commit).entries
    for path in found:
        # Some tools read a backslash as a slash, and "C:" as a drive.
        parts = path.replace("\\", "/").split("/")
        if any(part in ("", ".", "..") or part.lower() == ".git" for part in parts) or path[1:3] in (":\\", ":/"):
            raise GitError(f"{path[:200]!r} is not a path inside a folder: the commit cannot be exported")
    return found


def end(process: subprocess.Popen[bytes]) -> None:
    """Kill what `start_git` started with all its children, and close its pipe; once more changes nothing."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    if process.stdout is not None:
        process.stdout.close()


class _Sink(io.RawIOBase):
    """A file that can only be written, and whose content is taken away piece by piece."""

    def __init__(self, change: Callable[[bytes], bytes] | None = None) -> None:
        self._held, self._change = bytearray(), change

    def writable(self) -> bool:
        return True

    def write(self, data: bytes) -> int:  # type: ignore[override]  # zipfile and tarfile hand over bytes
        self._held += self._change(bytes(data)) if self._change else data
        return len(data)

    @property
    def is_full(self) -> bool:
        """Whether there is enough to send."""
        return len(self._held) > PIECE

    def take(self) -> bytes:
        held = bytes(self._held)
        self._held.clear()
        return held


def _safe_links(git_dir: Path, found: Entries) -> set[str]:
    """The links that may be links: their targets are files or folders of the commit, reached through no other link.

    Every other link becomes a file with the target as its text, as git writes it where there are no links.
    """
    links = {path: entry.hash for path, entry in found.items() if entry.mode == LINK}
    targets = read_blobs(git_dir, links.values())
    real = found.keys() - links
    folders = {path[:cut] for path in real for cut in range(len(path)) if path[cut] == "/"}
    # Where names differ in case alone, some disks would write one file through the other's link.
    folded = Counter(path.casefold() for path in found.keys() | folders)
    safe = set()
    for path, name in links.items():
        raw = targets.get(name, b"")
        target = os.fsdecode(raw)
        parts = target.split("/")
        above = path.split("/")[:-1]
        while parts and parts[0] == ".." and above:
            parts, above = parts[1:], above[:-1]
        inside = len(raw) <= _MOST_LINK and parts and not {"", ".", ".."} & set(parts) and "\\" not in target
        if inside and "/".join([*above, *parts]) in real | folders and folded[path.casefold()] == 1:
            safe.add(path)
    return safe


def _members(git_dir: Path, commit: str) -> Iterator[tuple[tarfile.TarInfo, bytes]]:
    """Each entry as a member of an archive, with its content; a few megabytes are in memory at a time."""
    found = entries(git_dir, commit)
    safe, moment = _safe_links(git_dir, found), int(out(git_dir, "log", "-1", "--format=%ct", commit))
    for names in _portions(found):
        contents = read_blobs(git_dir, {found[path].hash for path in names if found[path].mode != SUBMODULE})
        for path in names:
            member, entry = tarfile.TarInfo(path), found[path]
            member.mtime, member.mode = moment, 0o755 if entry.mode in (PROGRAM, SUBMODULE) else 0o644
            if entry.mode == SUBMODULE:  # an empty folder
                member.type = tarfile.DIRTYPE
                yield member, b""
                continue
            if entry.hash not in contents:
                raise GitError(f"object {entry.hash[:10]} is missing or damaged")
            content = contents[entry.hash]
            if path in safe:
                member.type, member.mode, member.linkname = tarfile.SYMTYPE, 0o777, os.fsdecode(content)
            else:
                member.size = len(content)
            yield member, content


def _portions(found: Entries) -> Iterator[list[str]]:
    """The paths, as many at a time as are read at once."""
    names, size = list[str](), 0
    for path, entry in found.items():
        if names and size + entry.size > _PORTION:
            yield names
            names, size = [], 0
        names.append(path)
        size += entry.size
    yield names


def zip_of(git_dir: Path, commit: str) -> Iterator[bytes]:
    """The commit as a zip, piece by piece. Raises GitError."""
    kinds = {tarfile.SYMTYPE: stat.S_IFLNK, tarfile.DIRTYPE: stat.S_IFDIR}
    sink = _Sink()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
        for member, content in _members(git_dir, commit):
            name = os.fsencode(member.name).decode("utf-8", "backslashreplace")
            moment = time.gmtime(min(max(member.mtime, 315_532_800), 4_354_819_198))[:6]  # what a zip can say
            info = zipfile.ZipInfo(f"{name}/" if member.isdir() else name, moment)
            info.compress_type, info.create_system = zipfile.ZIP_DEFLATED, 3  # Unix: modes count
            info.external_attr = (kinds.get(member.type, stat.S_IFREG) | member.mode) << 16
            archive.writestr(info, content)
            if sink.is_full:
                yield sink.take()
    yield sink.take()


def tar_of(git_dir: Path, commit: str) -> Iterator[bytes]:
    """The commit as a tar.gz, piece by piece; the same commit gives the same bytes. Raises GitError."""
    squeeze = zlib.compressobj(wbits=31)
    sink = _Sink(squeeze.compress)
    with tarfile.open(fileobj=sink, mode="w|", format=tarfile.PAX_FORMAT) as archive:
        for member, content in _members(git_dir, commit):
            archive.addfile(member, io.BytesIO(content) if member.isreg() else None)
            if sink.is_full:
                yield sink.take()
    yield sink.take() + squeeze.flush()


def bundle_of(git_dir: Path, commit: str, branch: str = "main") -> Iterator[bytes]:
    """The commit with its history as a git bundle: `git clone FILE` gives a repository with it on `branch`.

    The attestations of its merges come along. Raises GitError.
    """
    with tempfile.TemporaryDirectory(prefix="aiswe-bundle-") as folder:
        # A repository of its own that borrows the objects: no reference of the project's has to be made for this.
        view = Path(folder)
        git(view, "init", "-q", "--bare", "-b", "main", ".")
        (view / "objects" / "info" / "alternates").write_text(f"{git_dir.resolve() / 'objects'}\n", encoding="utf-8")
        git(view, "update-ref", f"refs/heads/{branch}", commit)
        (view / "HEAD").write_text(f"ref: refs/heads/{branch}\n", encoding="utf-8")
        names = ["HEAD", f"refs/heads/{branch}"]
        notes = git(git_dir, "rev-parse", "-q", "--verify", NOTES, check=False)
        if not notes.returncode:
            git(view, "update-ref", NOTES, notes.stdout.strip())
            names.append(NOTES)
        yield from streamed(view, "bundle", "create", "-q", "-", *names)


def streamed(git_dir: Path, *argv: str) -> Iterator[bytes]:
    """What a git command prints, piece by piece; it is killed when nobody reads on. Raises GitError at its end."""
    process = start_git(git_dir, *argv)
    try:
        while piece := process.stdout.read1(PIECE):  # type: ignore[union-attr]  # it is a pipe
            yield piece
        if process.wait(120):
            raise GitError(f"git {argv[0]} failed in {git_dir.name}")
    finally:
        end(process)


FORMATS: dict[str, Callable[..., Iterator[bytes]]] = {"zip": zip_of, "tar.gz": tar_of, "bundle": bundle_of}
TYPES = {"zip": "application/zip", "tar.gz": "application/gzip", "bundle": "application/x-git-bundle"}
