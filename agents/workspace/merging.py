"""Three-way merges of whole trees, path by path, in the objects alone: no checkout, no index, no renames."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from agents.workspace.git import GitError, git
from agents.workspace.objects import object_name
from agents.workspace.store import Entries, Entry, Store


@dataclass(frozen=True)
class MergedTree:
    """Both sides' changes in one tree; files in `conflicts` hold git's markers, or one side where there are none."""

    entries: dict[str, Entry]
    changed: tuple[str, ...]  # the paths that `theirs` changed
    conflicts: tuple[str, ...]


def merged_trees(store: Store, base: str, ours: str, theirs: str) -> MergedTree:
    """Put what changed from `base` to `theirs` on top of `ours`; all three are commits."""
    old, mine, other = (store.listing(sha).entries for sha in (base, ours, theirs))
    changed = sorted(path for path in {*old, *other} if old.get(path) != other.get(path))
    entries, conflicts = dict(mine), []
    for path in changed:
        was, here, there = old.get(path), mine.get(path), other.get(path)
        if here == there:
            continue
        if here == was:
            merged, clean = there, True
        else:
            merged, clean = _merged_file(store, was, here, there)
        if merged is None:
            entries.pop(path, None)
        else:
            entries[path] = merged
        if not clean:
            conflicts.append(path)
    for path in _crowded(entries, changed):
        conflicts.append(path)
        entries.pop(path)
    return MergedTree(entries, tuple(changed), tuple(conflicts))


def _merged_file(store: Store, was: Entry | None, here: Entry | None, there: Entry | None) -> tuple[Entry | None, bool]:
    """A file that both sides changed, and whether git could merge it; of a removed one the other side stays."""
    sides = [side for side in (was, here, there) if side is not None]
    if here is None or there is None or not all(side.is_file for side in sides):
        return here or there, False
    mode = there.mode if was is None or there.mode != was.mode else here.mode
    contents = store.contents(side.hash for side in sides)
    with tempfile.TemporaryDirectory(prefix="aiswe-merge-") as place:
        folder = Path(place)
        for name, side in (("ours", here), ("base", was), ("theirs", there)):
            (folder / name).write_bytes(contents[side.hash] if side else b"")
        labels = [word for name in ("ours", "base", "theirs") for word in ("-L", name)]
        ended = git(folder, "merge-file", "-q", *labels, "ours", "base", "theirs", check=False)
        if ended.returncode < 0:
            raise GitError("git merge-file was killed")
        if ended.returncode > 127:  # not text
            return here, False
        content = (folder / "ours").read_bytes()
    store.write_blobs([content])
    return Entry(mode, object_name("blob", content), len(content)), not ended.returncode


def _crowded(entries: Entries, changed: list[str]) -> list[str]:
    """Changed paths that are a folder of another one, or lie below one that is a file."""
    folders = {path[:cut] for path in entries for cut in range(len(path)) if path[cut] == "/"}
    return [
        path
        for path in changed
        if path in entries
        and (path in folders or any(path[:cut] in entries for cut in range(len(path)) if path[cut] == "/"))
    ]
