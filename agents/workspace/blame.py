"""A commit looked at folder by folder, and which commit each line of a file comes from."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from agents.workspace.export import end
from agents.workspace.git import GitError, git, read_blobs, start_git
from agents.workspace.inside import LeavesFolder, parts_of

BLAME_SECONDS = 10  # a page waits no longer; it says that origins are not shown
_KEYS = ("Task", "Requirement", "Run", "Event")
_NONE = "0" * 40


@dataclass(frozen=True)
class FolderEntry:
    """A row of a folder; `size` in bytes, None for folders and submodules."""

    name: str
    mode: str
    kind: str
    hash: str
    size: int | None

    @property
    def is_link(self) -> bool:
        """Whether it is a symbolic link: its content is the target."""
        return self.mode == "120000"


@dataclass(frozen=True)
class Origin:
    """What a commit says of itself: its subject, and its trailers as they stand there, "" where it has none."""

    commit: str
    subject: str
    task: str = ""
    requirement: str = ""
    run: str = ""
    event: str = ""


def folder_at(git_dir: Path, commit: str, path: str) -> list[FolderEntry]:
    """The rows of a folder, folders first. Raises GitError when there is no such folder."""
    process = start_git(git_dir, "ls-tree", "-z", "-l", f"{commit}:{path}")
    listed, _ = process.communicate(timeout=60)
    if process.returncode:
        raise GitError(f"there is no folder {path[:200]!r}")
    found = []
    for row in listed.split(b"\0")[:-1]:
        facts, _, name = row.partition(b"\t")
        mode, kind, sha, size = facts.decode().split()
        found.append(FolderEntry(os.fsdecode(name), mode, kind, sha, int(size) if size.isdecimal() else None))
    return sorted(found, key=lambda entry: (entry.kind != "tree", entry.name.casefold()))


def entry_at(git_dir: Path, commit: str, path: str) -> FolderEntry:
    """What is at a path. Raises GitError when nothing is, or it is not a path inside a folder."""
    try:
        *above, name = parts_of(path)
    except LeavesFolder as odd:
        raise GitError(str(odd)) from None
    for entry in folder_at(git_dir, commit, "/".join(above)):
        if entry.name == name:
            return entry
    raise GitError(f"there is no file {path[:200]!r}")


def content_of(git_dir: Path, entry: FolderEntry) -> bytes:
    """The bytes of a file. Raises GitError."""
    content = read_blobs(git_dir, [entry.hash]).get(entry.hash)
    if content is None:
        raise GitError(f"object {entry.hash[:10]} is missing or damaged")
    return content


def lines_of(git_dir: Path, commit: str, path: str) -> list[str]:
    """The commit that each line of a file comes from. Raises GitError, also when it takes too long."""
    process = start_git(git_dir, "blame", "--porcelain", commit, "--", path, GIT_LITERAL_PATHSPECS="1")
    try:
        told, _ = process.communicate(timeout=BLAME_SECONDS)
    except subprocess.TimeoutExpired:
        raise GitError("finding the origins of its lines takes too long") from None
    finally:
        end(process)
    if process.returncode:
        raise GitError("git cannot find the origins of its lines")
    found, current = [], ""
    for row in told.split(b"\n"):
        if row.startswith(b"\t"):
            found.append(current)
        elif len(words := row.split(b" ")) >= 3 and len(words[0]) == 40 and words[1].isdigit():
            current = words[0].decode("ascii", "replace")
    return found


def origins(git_dir: Path, commits: Iterable[str]) -> dict[str, Origin]:
    """What these commits say of themselves."""
    wanted = sorted({commit for commit in commits if commit != _NONE})
    if not wanted:
        return {}
    shown = "%x00".join(["%H", "%s", *(f"%(trailers:key={key},valueonly,separator=%x2C)" for key in _KEYS)])
    given = "".join(f"{commit}\n" for commit in wanted)
    rows = git(git_dir, "log", "--no-walk", "--stdin", f"--format={shown}%x1e", text=given).stdout.split("\x1e")
    told = (row.strip("\n").split("\0") for row in rows)
    return {parts[0]: Origin(*(part.strip() for part in parts)) for parts in told if len(parts) == 2 + len(_KEYS)}
