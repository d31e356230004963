"""One task's files: written from what git holds, compared, committed.

It is a plain folder without anything of git in it, so no attribute, filter, ignore file, hook or index decides what the
tests see or what the commit holds: both are made from the same bytes.

A symbolic link stands on the disk as a file with the link's text, as under `core.symlinks=false`, and stays a link in
the tree: what runs in the sandbox is then never led out of the folder, and no other file has two names. A submodule
stays in the tree and is not on the disk.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from agents.workspace.git import GitError, disk_full, git
from agents.workspace.inside import LeavesFolder, read_inside, remove_inside, write_inside
from agents.workspace.objects import object_name
from agents.workspace.store import FILE, LINK, PROGRAM, SUBMODULE, Entries, Entry, Store

# For eyes: nothing of the repository's own settings changes or hides a line of it.
PLAIN = ("--no-color", "--no-ext-diff", "--no-textconv", "--text")
_AT_ONCE = 200  # files that are read together when a tree is written


@dataclass(frozen=True)
class Change:
    """One file's change: lines added and removed (0 where git sees no text), and the diff."""

    path: str
    added: int
    removed: int
    diff: str


Stamp = tuple[int, int, int, int]


class Worktree:
    """A folder that remembers what it holds; after anybody else touched it, or a restart, the disk is read anew."""

    def __init__(self, path: Path, store: Store) -> None:
        self.path, self._store = path, store
        self._entries: dict[str, Entry] = {}
        self._disk: dict[str, Stamp] | None = None  # every file, as the disk says it is; None: not known
        self._shown: tuple[str, dict[str, Entry], list[Change]] | None = None  # the newest comparison

    def hold(self, base: str, files: Mapping[str, str] | None = None) -> None:
        """Hold exactly the files of `base` and these instead or beside; doing it twice changes nothing.

        Raises GitError for a path that leads out of the folder or through a link.
        """
        wanted = dict(self._store.listing(base).entries)
        given = {name: text.encode() for name, text in (files or {}).items()}
        for name, written in given.items():
            wanted[name] = _entry(written, wanted.get(name))
        held = self._entries if self._known() else self._cleared()
        self._disk, self._entries = None, {}  # until all is written
        on_disk = {name: entry for name, entry in wanted.items() if entry.mode != SUBMODULE}
        for name in held.keys() - on_disk.keys():
            remove_inside(self.path, name)
        late = [name for name, entry in on_disk.items() if held.get(name) != entry]
        for start in range(0, len(late), _AT_ONCE):
            part = late[start : start + _AT_ONCE]
            read = self._store.contents(on_disk[name].hash for name in part if name not in given)
            for name in part:
                content: bytes | None = given.get(name, read.get(on_disk[name].hash))
                if content is None:
                    raise GitError(f"The content of {name} at {base[:10]} is missing from the repository")
                self._put(name, content, on_disk[name])
        self._entries, self._disk = wanted, _stamps(self.path)

    def _known(self) -> bool:
        return self._disk is not None and _stamps(self.path) == self._disk

    def _cleared(self) -> dict[str, Entry]:
        shutil.rmtree(self.path, ignore_errors=True)
        self.path.mkdir(parents=True, exist_ok=True)
        return {}

    def _put(self, name: str, content: bytes, entry: Entry) -> None:
        if any(part.lower() == ".git" for part in name.split("/")):
            raise GitError(f"{name}: a folder of git's own inside the repository is not written")
        try:
            write_inside(self.path, name, content, mode=0o755 if entry.mode == PROGRAM else 0o644)
        except LeavesFolder as refused:
            raise GitError(str(refused)) from None
        except OSError as refused:
            raise disk_full(refused) or refused from None

    def write(self, files: Mapping[str, str]) -> None:
        """Write files; raises GitError for a path out of the tree or through a link, before or while it is one."""
        known, self._disk = self._disk if self._known() else None, None
        for name, text in files.items():
            content = text.encode()
            entry = _entry(content, self._entries.get(name))
            if known is None or self._entries.get(name) != entry:
                self._put(name, content, entry)
                self._entries[name] = entry
                if known is not None:
                    known[name] = _stamp(os.stat(self.path / name, follow_symlinks=False))
        self._disk = known

    def remove(self, name: str) -> None:
        """Take a file away, if it is there."""
        known, self._disk = self._disk if self._known() else None, None
        remove_inside(self.path, name)
        self._entries.pop(name, None)
        if known is not None:
            known.pop(name, None)
        self._disk = known

    def tree(self, base: str) -> str:
        """The hash of the tree that a commit of the folder, as it lies on the disk, would have; it is stored.

        Every file is read: this is what whoever looks at the folder now will see. `base` says what is a link.
        """
        return self._tree(base, {})

    def _tree(self, base: str, trusted: Mapping[str, Stamp]) -> str:
        """`trusted` files are not read again while the disk says the same of them."""
        listing = self._store.listing(base)
        before = _stamps(self.path)
        entries, new = self._read(before or {}, listing.entries, trusted)
        if before is None or _stamps(self.path) != before:
            self._disk = None
            raise GitError(f"The files of {self.path.name} changed while they were read")
        self._entries, self._disk = entries, before
        self._store.write_blobs(new)
        return self._store.write_tree(entries, listing)

    def _read(
        self, disk: Mapping[str, Stamp], base: Entries, trusted: Mapping[str, Stamp]
    ) -> tuple[dict[str, Entry], list[bytes]]:
        """What lies on the disk, with the links and submodules of `base`; and contents that `base` does not have."""
        entries: dict[str, Entry] = {}
        new = []
        for name, found in disk.items():
            was = base.get(name)
            held = self._entries.get(name) if trusted.get(name) == found else None
            if held is not None and held == was:
                entries[name] = held
                continue
            if not stat.S_ISREG(found[3]) or (content := read_inside(self.path, name)) is None:
                continue  # as the sandbox does: a link made here leads nowhere
            sha, program = object_name("blob", content), bool(found[3] & stat.S_IXUSR)
            same = was is not None and was.hash == sha
            if was is not None and same and (was.mode == LINK or (was.mode == PROGRAM) == program):
                entries[name] = was
                continue
            entries[name] = Entry(PROGRAM if program else FILE, sha, len(content))
            if not same:
                new.append(content)
        folders = {name[:cut] for name in entries for cut in range(len(name)) if name[cut] == "/"}
        for name, entry in base.items():
            if entry.mode == SUBMODULE and name not in entries and name not in folders:
                entries[name] = entry
        return entries, new

    def diff(self, base: str) -> str:
        """The whole change against `base`, new files included."""
        return "".join(change.diff for change in self.changes(base))

    def changes(self, base: str) -> list[Change]:
        """Every file that differs from `base`, in order of path, each with its counts and its own diff."""
        if self._shown is None or self._shown[:2] != (base, self._entries) or not self._known():
            tree = self._tree(base, self._disk or {})
            self._shown = (base, dict(self._entries), changes_between(self._store, base, tree))
        return list(self._shown[2])

    def commit(self, base: str, title: str, body: str, trailers: Mapping[str, str], *, tested: str = "") -> str:
        """One commit on top of `base` with all that stands in the folder; return its sha. No branch moves.

        With the tree that was `tested`, raises GitError when the commit would hold another.
        """
        tree = self.tree(base)
        if tested and tree != tested:
            raise GitError("The files are not those that were tested; nothing was committed")
        return self._store.commit(tree, base, self._store.message(title, body, trailers))


def changes_between(store: Store, base: str, tree: str, *, lines: int = 3) -> list[Change]:
    """Every file that differs between two commits or trees; `lines` of what is equal stand around each change."""
    shown = git(
        store.root, "diff", "--numstat", "-z", "-p", f"-U{lines}", "--no-renames", *PLAIN, base, tree, "--"
    ).stdout
    counts, _, whole = shown.partition("\0\0")
    # Both lists are in git's order; a content line never starts with "diff --git": it has +, - or a space first.
    parts: list[str] = []
    for part in re.split(r"(?m)^(?=diff --git )", whole):
        if parts and part.partition("\n")[0] == parts[-1].partition("\n")[0]:
            parts[-1] += part  # a link that became a file is taken away and made anew
        elif part:
            parts.append(part)
    rows = []
    for count, part in zip((row for row in counts.split("\0") if row), parts, strict=True):
        added, removed, path = count.split("\t", 2)
        rows.append(Change(path, _number(added), _number(removed), part))
    return rows


def _number(text: str) -> int:
    return int(text) if text.isdigit() else 0


def _entry(content: bytes, was: Entry | None) -> Entry:
    """A file that was written; one that stood for a link becomes a file."""
    mode = was.mode if was is not None and was.is_file else FILE
    return Entry(mode, object_name("blob", content), len(content))


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
