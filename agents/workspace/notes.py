"""Attestations of commits, as git notes: they travel with the repository and change no commit."""

from __future__ import annotations

from pathlib import Path

from agents.workspace.export import NOTES
from agents.workspace.git import git, out
from agents.workspace.repository import Repository
from agents.workspace.turns import Turns

_REF = f"--ref={NOTES}"


def noted(git_dir: Path) -> set[str]:
    """The commits that have a note. Raises GitError."""
    rows = git(git_dir, "notes", _REF, "list", check=False).stdout.splitlines()
    return {row.partition(" ")[2] for row in rows}


def note_of(folder: Path, commit: str) -> str:
    """The note of a commit in a repository or a checkout; "" when there is none."""
    return git(folder, "notes", _REF, "show", commit, check=False).stdout.strip()


def write_note(repository: Repository, commit: str, text: str) -> None:
    """Give a commit a note, in the place of an older one. Raises GitError."""
    turns = Turns(repository.root, repository.worktrees)
    turns.git("notes", _REF, "add", "-f", "-F", "-", commit, refs=[NOTES], text=text)


def facts_of(folder: Path, commit: str) -> dict[str, str]:
    """The tree of a commit, and what its trailers say of run and task. Raises GitError."""
    shown = "%T%x00%(trailers:key=Run,valueonly,separator=%x2C)%x00%(trailers:key=Task,valueonly,separator=%x2C)"
    tree, run, task = out(folder, "log", "-1", f"--format={shown}", commit).split("\0")
    return {"tree": tree.strip(), "run": run.strip(), "task": task.strip()}
