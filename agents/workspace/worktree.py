"""One task's checkout: written, compared, committed."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from agents.secrets.redaction import redact
from agents.workspace.git import GitError, git, out, trailers_text
from agents.workspace.inside import LeavesFolder, read_inside, write_inside
from agents.workspace.objects import NAME

_PLAIN = ("--no-color", "--no-ext-diff", "--no-textconv")
_STEERS = (".gitignore", ".gitattributes")  # they decide what git sees of the others


@dataclass(frozen=True)
class Replay:
    """What became of a change when it was put on a newer base: its files, and those both sides changed."""

    files: dict[str, str]
    conflicts: tuple[str, ...]


@dataclass(frozen=True)
class Change:
    """One file's change: lines added and removed (0 for binary files) and the diff."""

    path: str
    added: int
    removed: int
    diff: str


Stamp = tuple[int, int, int, int]


def number(text: str) -> int:
    """A count as git prints it; 0 for its dash."""
    return int(text) if text.isdigit() else 0


class Worktree:
    """A checkout that remembers what it holds, so that git is only asked for what nobody knows.

    `base` is the commit it stands at with nothing but the files written since; "" when that is not known.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.base = ""
        self._written: dict[str, str] = {}
        self._disk: dict[str, Stamp] = {}  # every file, as the disk says it is
        self._noted: frozenset[str] = frozenset()  # files that git's index knows of beside those of the base
        self._whole: tuple[str, str] | None = None  # the difference to a base, while nothing is written

    def reset(self, base: str) -> None:
        """Stand at `base` with no other file in the tree."""
        self._forget()
        # HEAD is detached from the start, so this moves it; it also ends a cherry-pick that a kill interrupted.
        git(self.path, "reset", "-q", "--hard", base)
        git(self.path, "clean", "-q", "-ffdx")
        self.fresh(base)

    def fresh(self, base: str) -> None:
        """It was just made, and stands at `base`."""
        self._forget()
        disk = _stamps(self.path)
        if NAME.fullmatch(base) and disk is not None:
            self.base, self._disk = base, disk

    def takes(self, base: str, files: Mapping[str, str]) -> bool:
        """True when writing these files makes it exactly `base` with them: it stands there and holds no others.

        The disk is looked at: after anybody else touched, left or took away a file, this is False.
        """
        if not self.base or self.base != base or not self._written.keys() <= files.keys():
            return False
        for name in files:
            if name.rpartition("/")[2] in _STEERS and self._written.get(name) != files[name]:
                return False
        return _stamps(self.path) == self._disk

    def write(self, files: Mapping[str, str]) -> None:
        """Write files; raises GitError for a path out of the tree or through a link, before or while it is one."""
        base, self.base = self.base, ""  # until all is written
        for name, content in files.items():
            if base and self._written.get(name) == content:
                continue
            self._whole = None
            try:
                write_inside(self.path, name, content.encode())
            except LeavesFolder as refused:
                raise GitError(str(refused)) from None
            if base:
                self._written[name] = content
                self._disk[name] = _stamp(os.stat(self.path / name, follow_symlinks=False))
        self.base = base

    def remove(self, name: str) -> None:
        """Take a file away, if it is there."""
        if os.path.lexists(self.path / name):
            self._forget()
            (self.path / name).unlink(missing_ok=True)

    def diff(self, base: str) -> str:
        """The whole change against `base`, new files included."""
        if self._whole is not None and self._whole[0] == base and self.takes(base, self._written):
            return self._whole[1]
        self._note()
        return git(self.path, "diff", *_PLAIN, base).stdout

    def changes(self, base: str) -> list[Change]:
        """Every file that differs from `base`, in order of path, each with its counts and its own diff."""
        self._note()
        shown = git(self.path, "diff", "--numstat", "-z", "-p", "--no-renames", *_PLAIN, base).stdout
        counts, _, whole = shown.partition("\0\0")
        # Both lists are in git's order; a content line never starts with "diff --git": it has +, - or a space first.
        parts = [part for part in re.split(r"(?m)^(?=diff --git )", whole) if part]
        rows = []
        for count, part in zip((row for row in counts.split("\0") if row), parts, strict=True):
            added, removed, path = count.split("\t", 2)
            rows.append(Change(path, number(added), number(removed), part))
        # Where a file is gone, git's own difference may tell of a renaming.
        gone = any(re.search(r"(?m)\A(?:[^@\n]*\n){0,2}deleted file mode ", row.diff) for row in rows)
        self._whole = (base, whole) if self.base == base and base and not gone else None
        return rows

    def commit(self, base: str, title: str, body: str, trailers: Mapping[str, str]) -> str:
        """One commit on top of `base` with all that stands in the tree; return its sha."""
        stands = bool(base) and self.base == base
        self._forget()
        message = "\n\n".join([title, *(part for part in (body.strip(), trailers_text(trailers)) if part)])
        text = str(redact(f"{message}\n"))
        git(self.path, "add", "-A")
        if stands:  # what is checked out is the parent, and stays in place
            options = ("-q", "--allow-empty", "--allow-empty-message", "--cleanup=verbatim", "-F", "-")
            git(self.path, "commit", *options, text=text)
            return out(self.path, "rev-parse", "HEAD")
        tree = out(self.path, "write-tree")
        sha = git(self.path, "commit-tree", tree, "-p", base, "-F", "-", text=text).stdout.strip()
        git(self.path, "checkout", "-q", "-f", "--detach", sha)
        return sha

    def branch(self, name: str) -> None:
        """Create a branch at the tree's commit. Raises GitError for an existing branch or an invalid name."""
        self._forget()
        git(self.path, "checkout", "-q", "-b", name)

    def parent(self, sha: str) -> str:
        """The commit's parent."""
        return out(self.path, "rev-parse", f"{sha}^")

    def replay(self, sha: str, onto: str) -> Replay:
        """Put the change of `sha` on top of `onto`; the tree is left at `onto`, clean.

        Files come back with git's merge of both sides; those with conflicts still hold the markers.
        """
        names = [
            p for p in out(self.path, "diff", "--name-only", "-z", "--no-renames", f"{sha}^", sha).split("\0") if p
        ]
        self.reset(onto)
        self._forget()
        git(self.path, "cherry-pick", "--no-commit", "--strategy=ort", "-X", "no-renames", sha, check=False)
        conflicts = tuple(p for p in out(self.path, "diff", "--name-only", "-z", "--diff-filter=U").split("\0") if p)
        files = {}
        for name in names:
            found = read_inside(self.path, name)
            if found is not None:
                files[name] = found.decode("utf-8", "replace").replace("\r\n", "\n")
        self.reset(onto)
        return Replay(files, conflicts)

    def _forget(self) -> None:
        self.base, self._whole = "", None
        self._written, self._disk, self._noted = {}, {}, frozenset()

    def _note(self) -> None:
        """Have git's index know of new files, unless it does."""
        names = frozenset(self._written)
        if self.base and names <= self._noted:
            return
        git(self.path, "add", "-A", "--intent-to-add")
        self._noted = names if self.base else frozenset()


def _stamp(found: os.stat_result) -> Stamp:
    return found.st_ino, found.st_mtime_ns, found.st_size, found.st_mode


def _stamps(root: Path) -> dict[str, Stamp] | None:
    """Every file below a folder except git's own, links not followed; None when it vanishes or changes meanwhile."""
    found: dict[str, Stamp] = {}
    folders = [""]
    while folders:
        folder = folders.pop()
        try:
            with os.scandir(root / folder) as entries:
                for entry in entries:
                    name = f"{folder}{entry.name}"
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(f"{name}/")
                    elif name != ".git":
                        found[name] = _stamp(entry.stat(follow_symlinks=False))
        except OSError:
            return None
    return found
