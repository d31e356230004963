"""git, run so that nothing in a repository can run anything: no hooks, no monitors, no user configuration.

Generated code lies in these repositories (ABUSE fact 6: `core.fsmonitor` runs on a mere `git status`).
"""

from __future__ import annotations

import errno
import os
import re
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
_SETTINGS = (
    "core.hooksPath=/dev/null core.fsmonitor=false core.symlinks=false core.autocrlf=false protocol.ext.allow=never"
    " commit.gpgsign=false gc.auto=0 maintenance.auto=false merge.conflictStyle=merge advice.detachedHead=false"
    f" core.attributesFile=/dev/null attr.tree={EMPTY_TREE} core.fsync=committed"
)
_SAFE = [word for setting in _SETTINGS.split() for word in ("-c", setting)]
# What the product needs of git. None of it talks to another machine: there is no way to push, fetch or clone here.
VERBS = frozenset(
    (
        "apply blame bundle cat-file commit-tree diff for-each-ref format-patch http-backend init log ls-files ls-tree"
        " merge-base merge-file notes repack rev-list rev-parse show update-ref"
    ).split()
)
SECONDS = 120.0
# What git says of a repository that only a person can put right.
_DAMAGE = re.compile(
    r"dubious ownership|not a git repository|bad config|bad tree object|packed-refs|is corrupt|object file .* is empty"
    r"|unable to (?:read|parse) |missing (?:blob|tree|commit)|bad object|broken (?:ref|link)|reference broken"
    r"|inflate: |does not point to a valid object|unknown repository extension"
)
_FULL = re.compile(r"No space left on device|Disk quota exceeded|File too large")
_BRANCH = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9_+#@=,-]|[./](?![./]|$))*")
_LOCKED = re.compile(r"Unable to create '(.+\.lock)': File exists")


def is_branch_name(name: str) -> bool:
    """Whether a branch can have this name here: git takes more, some of it no file, address or log can hold."""
    locked = any(part.endswith(".lock") for part in name.split("/"))
    return len(name) <= 200 and not locked and _BRANCH.fullmatch(name) is not None


class GitError(Exception):
    """git refused; the text holds its last words."""


class RepositoryDamaged(GitError):
    """The repository cannot be used as it is and only a person can put it right; the text says where and how."""


class DiskFull(GitError):
    """Nothing more fits on the disk; what was committed before is whole."""


class LeftLocked(GitError):
    """A lock file stands in the way; `lock` names it."""

    def __init__(self, text: str, lock: str) -> None:
        super().__init__(text)
        self.lock = lock


@dataclass(frozen=True)
class CommitSettings:
    """Who signs for a project's commits; `signing_key` is the path of an SSH key, "" for none."""

    author_name: str = "AI SWE"
    author_email: str = "aiswe@localhost"
    sign_off: bool = False
    signing_key: str = ""


AUTHOR = CommitSettings()


def damaged(folder: Path, why: str, way_out: str = "") -> RepositoryDamaged:
    """The error for a repository at `folder`: what is wrong and what a person can do."""
    cure = way_out or (
        f"Repair it with git, or `aiswe project set-aside {folder.name} --from BACKUP`; work then continues by itself."
    )
    return RepositoryDamaged(f"The repository {folder} cannot be used: {why.rstrip('.')}. Nothing was changed. {cure}")


def disk_full(error: OSError) -> DiskFull | None:
    """The error as DiskFull when that is what it is."""
    full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
    return DiskFull(f"The disk is full: {error.strerror}.") if full else None


# No settings of this machine or its users, and nobody who could be asked for a password.
ENVIRONMENT = {
    "HOME": "/nonexistent",
    "LC_ALL": "C.UTF-8",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
}


def _environment(folder: Path, author: CommitSettings) -> dict[str, str]:
    return {
        **ENVIRONMENT,
        "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
        "GIT_NO_REPLACE_OBJECTS": "1",  # a replacement would show another tree than the one the hash names
        "SSH_ASKPASS": "/bin/false",  # nobody is there to type the passphrase of a signing key
        "SSH_ASKPASS_REQUIRE": "force",
        # A folder that is no repository any more must not lead to one that happens to lie around it.
        "GIT_CEILING_DIRECTORIES": str(folder.resolve().parent),
        "GIT_AUTHOR_NAME": author.author_name,
        "GIT_AUTHOR_EMAIL": author.author_email,
        "GIT_COMMITTER_NAME": author.author_name,
        "GIT_COMMITTER_EMAIL": author.author_email,
    }


def git(
    folder: Path,
    *argv: str,
    check: bool = True,
    text: str | None = None,
    author: CommitSettings = AUTHOR,
    options: tuple[str, ...] = (),
    inherits: tuple[int, ...] = (),
    seconds: float = SECONDS,
) -> subprocess.CompletedProcess[str]:
    """Run one git command in `folder`.

    `text` is its input, `options` stand before the verb, `inherits` are open files that it holds on to.

    Raises GitError for a verb not in VERBS, and, when `check` is set, on failure: RepositoryDamaged, DiskFull and
    LeftLocked where git says so.
    """
    given = None if text is None else text.encode("utf-8", "surrogateescape")
    ended = _run(
        folder, argv, check=check, given=given, author=author, options=options, inherits=inherits, seconds=seconds
    )
    return subprocess.CompletedProcess(ended.args, ended.returncode, _text(ended.stdout), _text(ended.stderr))


def _run(
    folder: Path,
    argv: Sequence[str],
    *,
    check: bool,
    given: bytes | None,
    author: CommitSettings = AUTHOR,
    options: tuple[str, ...] = (),
    inherits: tuple[int, ...] = (),
    seconds: float = SECONDS,
) -> subprocess.CompletedProcess[bytes]:
    if not argv or argv[0] not in VERBS:
        raise GitError(f"git {argv[0] if argv else ''} is not among the commands the product uses")
    try:
        ended = subprocess.run(
            ["git", *_SAFE, *options, *argv],
            cwd=folder,
            env=_environment(folder, author),
            input=given or b"",
            capture_output=True,
            timeout=seconds,
            pass_fds=inherits,
        )
    except subprocess.TimeoutExpired:
        raise GitError(f"git {argv[0]} did not end within {seconds:.0f} s in {folder.name}") from None
    except (FileNotFoundError, NotADirectoryError):
        if folder.is_dir():
            raise
        raise damaged(folder, "the folder is missing") from None
    if check and ended.returncode:
        raise failure(folder, argv[0], _text(ended.stderr or ended.stdout).strip())
    return ended


def failure(folder: Path, verb: str, said: str) -> GitError:
    """The error for a git command that ended badly, by its last words."""
    text = f"git {verb} failed in {folder.name}: {said[-500:]}"
    if locked := _LOCKED.search(said):
        return LeftLocked(text, locked[1])
    if _FULL.search(said):
        return DiskFull(text)
    if "dubious ownership" in said:
        return damaged(folder, "it belongs to another user", "Give it to the user that AI SWE runs as (chown -R).")
    return damaged(folder, f"git {verb} says: {said[-120:]}") if _DAMAGE.search(said) else GitError(text)


def start_git(folder: Path, *argv: str, stdin: IO[bytes] | None = None, **settings: str) -> subprocess.Popen[bytes]:
    """Start one git command whose output is a pipe; `settings` are further environment variables.

    Raises GitError for a verb not in VERBS. The caller ends the process.
    """
    if not argv or argv[0] not in VERBS:
        raise GitError(f"git {argv[0] if argv else ''} is not among the commands the product uses")
    return subprocess.Popen(
        ["git", *_SAFE, *argv],
        cwd=folder,
        env={**_environment(folder, AUTHOR), **settings},
        stdin=stdin or subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        process_group=0,  # so that it can be ended with everything it started
    )


def _text(said: bytes) -> str:
    # A carriage return by itself stays: as an end of line it would make lines of a diff that begin with anything.
    return said.decode("utf-8", "replace").replace("\r\n", "\n")


def raw(folder: Path, *argv: str) -> bytes:
    """The standard output of a git command as it is."""
    return _run(folder, argv, check=True, given=None).stdout


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
