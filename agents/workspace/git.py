"""git, run so that nothing in a repository can run anything: no hooks, no monitors, no user configuration.

Generated code lies in these repositories (ABUSE fact 6: `core.fsmonitor` runs on a mere `git status`).
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

AUTHOR = ("AI SWE", "aiswe@localhost")
_SETTINGS = (
    "core.hooksPath=/dev/null core.fsmonitor=false core.symlinks=false core.autocrlf=false protocol.ext.allow=never"
    " commit.gpgsign=false gc.auto=0 maintenance.auto=false merge.conflictStyle=merge advice.detachedHead=false"
)
_SAFE = [word for setting in _SETTINGS.split() for word in ("-c", setting)]
# What the product needs of git. None of it talks to another machine: there is no way to push, fetch or clone here.
VERBS = frozenset(
    (
        "add blame bundle cat-file checkout cherry-pick clean commit commit-tree diff for-each-ref format-patch"
        " http-backend init log ls-tree merge notes reset rev-parse show status update-ref worktree write-tree"
    ).split()
)


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
    """Run one git command in `folder`. Raises GitError for a verb not in VERBS, and on failure when `check` is set."""
    ended = _run(folder, argv, check=check, given=None if text is None else text.encode())
    return subprocess.CompletedProcess(ended.args, ended.returncode, _text(ended.stdout), _text(ended.stderr))


def _run(folder: Path, argv: Sequence[str], *, check: bool, given: bytes | None) -> subprocess.CompletedProcess[bytes]:
    if not argv or argv[0] not in VERBS:
        raise GitError(f"git {argv[0] if argv else ''} is not among the commands the product uses")
    ended = subprocess.run(
        ["git", *_SAFE, *argv], cwd=folder, env=_environment(), input=given or b"", capture_output=True, timeout=120
    )
    if check and ended.returncode:
        raise GitError(f"git {argv[0]} failed in {folder.name}: {_text(ended.stderr or ended.stdout).strip()[-500:]}")
    return ended


def start_git(folder: Path, *argv: str, **settings: str) -> subprocess.Popen[bytes]:
    """Start one git command whose input and output are pipes; `settings` are further environment variables.

    Raises GitError for a verb not in VERBS. The caller ends the process.
    """
    if not argv or argv[0] not in VERBS:
        raise GitError(f"git {argv[0] if argv else ''} is not among the commands the product uses")
    return subprocess.Popen(
        ["git", *_SAFE, *argv],
        cwd=folder,
        env={**_environment(), **settings},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        process_group=0,  # so that it can be ended with everything it started
    )


def _text(said: bytes) -> str:
    # A carriage return by itself stays: as an end of line it would make lines of a diff that begin with anything.
    return said.decode("utf-8", "replace").replace("\r\n", "\n")


def read_blobs(folder: Path, hashes: Iterable[str]) -> dict[str, bytes]:
    """Contents of files by the hashes git knows them under, in one call; a hash that is not there is left out.

    Raises GitError when git ends before it has said all.
    """
    wanted = list(hashes)
    if not wanted:
        return {}
    given = "".join(f"{name}\n" for name in wanted).encode()
    done = _run(folder, ("cat-file", "--batch"), check=True, given=given)
    found: dict[str, bytes] = {}
    place = 0
    for name in wanted:
        end = done.stdout.find(b"\n", place)
        if end < 0:
            raise GitError(f"git cat-file ended early in {folder.name}")
        words = done.stdout[place:end].split()
        place = end + 1
        if len(words) == 3 and words[1] != b"missing":
            size = int(words[2])
            if words[1] == b"blob":
                found[name] = done.stdout[place : place + size]
            place += size + 1
    return found


def out(folder: Path, *argv: str) -> str:
    """The stripped standard output of a git command."""
    return git(folder, *argv).stdout.strip()


def trailers_text(trailers: Mapping[str, str]) -> str:
    """The block of `Key: value` lines at the end of a commit message; line breaks in values are folded."""
    return "\n".join(f"{key}: {' '.join(value.split())}" for key, value in trailers.items() if value)
