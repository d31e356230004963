"""git, run so that nothing in a repository can run anything: no hooks, no monitors, no user configuration.

Generated code lies in these repositories (ABUSE fact 6: `core.fsmonitor` runs on a mere `git status`).
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

AUTHOR = ("AI SWE", "aiswe@localhost")
_SAFE = (
    "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "core.symlinks=false",
    "-c", "core.autocrlf=false", "-c", "protocol.ext.allow=never", "-c", "commit.gpgsign=false",
    "-c", "gc.auto=0", "-c", "merge.conflictStyle=merge", "-c", "advice.detachedHead=false",
)  # fmt: skip


# What the product needs of git. None of it talks to another machine: there is no way to push, fetch or clone here.
VERBS = frozenset(
    {
        "add", "cat-file", "checkout", "cherry-pick", "clean", "commit", "commit-tree", "diff", "init", "log", "ls-tree", "merge",
        "reset", "rev-parse", "show", "status", "worktree", "write-tree",
    }
)  # fmt: skip


class GitError(Exception):
    """git refused; the text holds its last words."""


def _environment() -> dict[str, str]:
    name, mail = AUTHOR
    return {
        "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
        "HOME": "/nonexistent",
        "LC_ALL": "C.UTF-8",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_AUTHOR_NAME": name,
        "GIT_AUTHOR_EMAIL": mail,
        "GIT_COMMITTER_NAME": name,
        "GIT_COMMITTER_EMAIL": mail,
    }


def git(folder: Path, *argv: str, check: bool = True, text: str | None = None) -> subprocess.CompletedProcess[str]:
    """Run one git command in `folder`; raises GitError when it fails and `check` is set, and for a verb not in VERBS."""
    if not argv or argv[0] not in VERBS:
        raise GitError(f"git {argv[0] if argv else ''} is not among the commands the product uses")
    done = subprocess.run(
        ["git", *_SAFE, *argv],
        cwd=folder,
        env=_environment(),
        input=text,
        stdin=None if text is not None else subprocess.DEVNULL,
        capture_output=True,
        text=True,
        encoding="utf-8",
        errors="replace",
        timeout=120,
    )
    if check and done.returncode:
        words = (done.stderr or done.stdout).strip()[-500:]
        raise GitError(f"git {argv[0]} failed in {folder.name}: {words}")
    return done


def out(folder: Path, *argv: str) -> str:
    """The stripped standard output of a git command."""
    return git(folder, *argv).stdout.strip()


def trailers_text(trailers: Mapping[str, str]) -> str:
    """The block of `Key: value` lines at the end of a commit message; line breaks in values are folded."""
    return "\n".join(f"{key}: {' '.join(value.split())}" for key, value in trailers.items() if value)
