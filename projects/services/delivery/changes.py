"""What changed between the version that runs and the one before."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from agents.workspace.git import GitError, git, out
from projects.errors import BadInput
from projects.models import Project
from projects.storage.paths import repository_of

_COMMIT = re.compile(r"[0-9a-f]{7,64}")
MOST_COMMITS = 20


@dataclass(frozen=True)
class Changed:
    """Commits (hash and subject, newest first) and paths."""

    commits: tuple[tuple[str, str], ...] = ()
    paths: tuple[str, ...] = ()

    def suspects(self, files: Iterable[str]) -> list[str]:
        """Which of these files changed."""
        changed = set(self.paths)
        return [path for path in files if path in changed]

    def __str__(self) -> str:
        told = [f"{sha[:10]} “{subject}”" for sha, subject in self.commits[:3]]
        more = f" and {len(self.commits) - 3} more" if len(self.commits) > 3 else ""
        return ", ".join(told) + more


def parted(folder: Path, base: str, head: str) -> str:
    """The newest commit that both build on. Raises BadInput when there is none."""
    found = git(folder, "merge-base", base, head, check=False).stdout.strip()
    if not found:
        raise BadInput(f"{head[:10]} and {base[:10]} have no commit in common.")
    return found


def changes_between(project: Project, old: str, new: str) -> Changed:
    """Nothing where the repository cannot tell."""
    if not (_COMMIT.fullmatch(old) and _COMMIT.fullmatch(new)):
        return Changed()
    folder = repository_of(project).git_dir
    try:
        rows = out(folder, "log", f"-{MOST_COMMITS}", "--format=%H%x00%s", new, f"^{old}").splitlines()
        paths = out(folder, "diff", "--name-only", "-z", old, new).split("\0")
    except GitError:
        return Changed()
    commits = [row.split("\0", 1) for row in rows if "\0" in row]
    return Changed(tuple((sha, subject) for sha, subject in commits), tuple(filter(None, paths)))


def diff_of(project: Project, old: str, new: str, paths: Sequence[str]) -> str:
    """What changed in these files; "" where the repository cannot tell."""
    if not (paths and _COMMIT.fullmatch(old) and _COMMIT.fullmatch(new)):
        return ""
    try:
        return out(repository_of(project).git_dir, "diff", "-U1", old, new, "--", *paths)
    except GitError:
        return ""
