"""A commit looked at folder by folder, and which commit each line of a file comes from."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from agents.workspace.git import GitError, git
from agents.workspace.store import Entries, Entry

BLAME_SECONDS = 10  # a page waits no longer; it says that origins are not shown
_KEYS = ("Task", "Requirement", "Run", "Event")
_NONE = "0" * 40


@dataclass(frozen=True)
class Origin:
    """What a commit says of itself: its subject, and its trailers as they stand there, "" where it has none."""

    commit: str
    subject: str
    task: str = ""
    requirement: str = ""
    run: str = ""
    event: str = ""


def folder_at(entries: Entries, path: str) -> dict[str, Entry | None]:
    """The rows of a folder of a commit by name, folders first and without an entry; {} when there is no such folder."""
    above, found = f"{path}/" if path else "", dict[str, Entry | None]()
    for each, entry in entries.items():
        if each.startswith(above):
            name, slash, _ = each[len(above) :].partition("/")
            found[name] = None if slash else entry
    return dict(sorted(found.items(), key=lambda row: (row[1] is not None, row[0].casefold())))


def lines_of(git_dir: Path, commit: str, path: str) -> list[str]:
    """The commit that each line of a file comes from. Raises GitError, also when it takes too long."""
    options, argv = ("--literal-pathspecs",), ("blame", "--porcelain", commit, "--", path)
    try:
        told = git(git_dir, *argv, options=options, seconds=BLAME_SECONDS).stdout
    except GitError as refused:
        raise GitError(f"git cannot find the origins of its lines: {refused}") from None
    found, current = [], ""
    for row in told.split("\n"):
        if row.startswith("\t"):
            found.append(current)
        elif len(words := row.split(" ")) >= 3 and len(words[0]) == 40 and words[1].isdigit():
            current = words[0]
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
