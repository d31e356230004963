"""A commit as a zip, a tar or a git bundle, made from its blobs.

`git archive` would leave out files marked `export-ignore` and rewrite those marked `export-subst`. An archive holds
what the commit holds. Archives are made while they are sent: one file is in memory at a time.
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
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from agents.workspace.git import GitError, git, out, start_git
from agents.workspace.objects import NAME
from agents.workspace.store import Store

PIECE = 64 * 1024
NOTES = "refs/notes/aiswe"
_LINK, _PROGRAM, _FOLDER = "120000", "100755", "160000"  # the last is a submodule: an empty folder
_MOST_LINK = 4_096  # bytes of a link's target


@dataclass(frozen=True)
class TreeEntry:
    """One file, link or submodule of a commit; `path` keeps bytes that are not UTF-8 as surrogates."""

    mode: str
    hash: str
    path: str


def commit_at(git_dir: Path, revision: str) -> str:
    """The full hash of the commit that a branch, a tag or a (short) hash names. Raises GitError when there is none."""
    if not revision or revision.startswith("-") or any(c in revision for c in "\x00\n^~:@{ "):
        raise GitError(f"{revision[:80]!r} names no commit")
    found = git(git_dir, "rev-parse", "-q", "--verify", "--end-of-options", f"{revision}^{{commit}}", check=False)
    if found.returncode or not NAME.fullmatch(found.stdout.strip()):
        raise GitError(f"{revision[:80]!r} names no commit")
    return found.stdout.strip()


def entries(git_dir: Path, commit: str) -> list[TreeEntry]:
    """Everything in a commit. Raises GitError, also for a path that would leave the folder it is unpacked in."""
    listed = Store(git_dir).listing(commit).entries
    found = [TreeEntry(entry.mode, entry.hash, path) for path, entry in listed.items()]
    for entry in found:
        # Some tools read a backslash as a slash, and "C:" as a drive.
        parts = entry.path.replace("\\", "/").split("/")
        if any(part in ("", ".", "..") or part.lower() == ".git" for part in parts) or entry.path[1:3] in (":\\", ":/"):
            raise GitError(f"{entry.path[:200]!r} is not a path inside a folder: the commit cannot be exported")
    return found


class _Blobs:
    """Contents of blobs, one at a time, from one git process."""

    def __init__(self, git_dir: Path) -> None:
        self._process = start_git(git_dir, "cat-file", "--batch")

    def read(self, name: str) -> bytes:
        into, out_of = self._process.stdin, self._process.stdout
        if into is None or out_of is None:  # they are pipes; this tells the type checker
            raise GitError("git has no pipes")
        into.write(f"{name}\n".encode())
        into.flush()
        words = out_of.readline().split()
        if len(words) != 3 or words[1] != b"blob":
            raise GitError(f"object {name[:10]} is missing or damaged")
        content = out_of.read(int(words[2]) + 1)
        if len(content) != int(words[2]) + 1:
            raise GitError(f"git ended before all of object {name[:10]} was read")
        return content[:-1]

    def close(self) -> None:
        end(self._process)


def end(process: subprocess.Popen[bytes]) -> None:
    """Kill what `start_git` started with all its children, and close its pipes; once more changes nothing."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with contextlib.suppress(OSError):
                pipe.close()


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


def _safe_links(found: Iterable[TreeEntry], blobs: _Blobs) -> dict[str, str]:
    """The links that may be links: their targets are files or folders of the commit, reached through no other link.

    Every other link becomes a file with the target as its text, as git writes it where there are no links.
    """
    links = [entry for entry in found if entry.mode == _LINK]
    if not links:
        return {}
    real = {entry.path for entry in found if entry.mode != _LINK}
    folders = {path[:cut] for path in real for cut in range(len(path)) if path[cut] == "/"}
    # Where names differ in case alone, some disks would write one file through the other's link.
    folded = Counter(path.casefold() for path in real | folders | {link.path for link in links})
    safe = {}
    for link in links:
        raw = blobs.read(link.hash)
        target = os.fsdecode(raw)
        parts = target.split("/")
        above = link.path.split("/")[:-1]
        while parts and parts[0] == ".." and above:
            parts, above = parts[1:], above[:-1]
        inside = len(raw) <= _MOST_LINK and parts and not {"", ".", ".."} & set(parts) and "\\" not in target
        if inside and "/".join([*above, *parts]) in real | folders and folded[link.path.casefold()] == 1:
            safe[link.path] = target
    return safe


def _members(git_dir: Path, commit: str) -> Iterator[tuple[TreeEntry, bytes, bool]]:
    """Each entry with its content, and whether it is a link."""
    found = entries(git_dir, commit)
    blobs = _Blobs(git_dir)
    try:
        safe = _safe_links(found, blobs)
        for entry in found:
            content = b"" if entry.mode == _FOLDER else blobs.read(entry.hash)
            yield entry, content, entry.path in safe
    finally:
        blobs.close()


def _committed_at(git_dir: Path, commit: str) -> int:
    return int(out(git_dir, "log", "-1", "--format=%ct", commit))


def zip_of(git_dir: Path, commit: str) -> Iterator[bytes]:
    """The commit as a zip, piece by piece. Raises GitError."""
    moment = time.gmtime(min(max(_committed_at(git_dir, commit), 315_532_800), 4_354_819_198))[:6]  # what a zip can say
    sink = _Sink()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
        for entry, content, is_link in _members(git_dir, commit):
            name = os.fsencode(entry.path).decode("utf-8", "backslashreplace")
            info = zipfile.ZipInfo(f"{name}/" if entry.mode == _FOLDER else name, moment)
            info.compress_type, info.create_system = zipfile.ZIP_DEFLATED, 3  # Unix: modes count
            info.external_attr = _mode(entry, is_link) << 16
            archive.writestr(info, content)
            if sink.is_full:
                yield sink.take()
    yield sink.take()


def _mode(entry: TreeEntry, is_link: bool) -> int:
    if entry.mode == _FOLDER:
        return stat.S_IFDIR | 0o755
    return stat.S_IFLNK | 0o777 if is_link else stat.S_IFREG | (0o755 if entry.mode == _PROGRAM else 0o644)


def tar_of(git_dir: Path, commit: str) -> Iterator[bytes]:
    """The commit as a tar.gz, piece by piece; the same commit gives the same bytes. Raises GitError."""
    moment = _committed_at(git_dir, commit)
    squeeze = zlib.compressobj(wbits=31)
    sink = _Sink(squeeze.compress)
    with tarfile.open(fileobj=sink, mode="w|", format=tarfile.PAX_FORMAT) as archive:
        for entry, content, is_link in _members(git_dir, commit):
            info = tarfile.TarInfo(entry.path)
            info.mtime, info.mode = moment, stat.S_IMODE(_mode(entry, is_link))
            if is_link:
                info.type, info.linkname = tarfile.SYMTYPE, os.fsdecode(content)
            elif entry.mode == _FOLDER:
                info.type = tarfile.DIRTYPE
            else:
                info.size = len(content)
            archive.addfile(info, io.BytesIO(content) if info.isreg() else None)
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
