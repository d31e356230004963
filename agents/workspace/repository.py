"""A project's repository: made once, read by everybody, changed only by a task's merge."""

from __future__ import annotations

import fcntl
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from agents.redaction import redact
from agents.workspace.git import GitError, git, out, read_blobs, trailers_text
from agents.workspace.inside import LeavesFolder, read_inside, write_inside

MAIN = "main"
_IGNORED = "__pycache__/\n*.pyc\n.pytest_cache/\n.hypothesis/\n.coverage\n.venv/\nnode_modules/\n*.sqlite3\n"


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


@dataclass(frozen=True)
class Blob:
    """A file's content as git knows it; `size` in bytes."""

    hash: str
    size: int


def _number(text: str) -> int:
    return int(text) if text.isdigit() else 0


class Repository:
    """A git repository with `main` checked out, beside a folder of worktrees.

    Every method may be called again after a crash: what is there already is kept or made anew.
    """

    def __init__(self, root: Path, worktrees: Path) -> None:
        self.root, self.worktrees = root, worktrees

    @contextmanager
    def _locked(self) -> Iterator[None]:
        # Worktree bookkeeping and ref updates of one repository take turns, across threads and processes.
        self.worktrees.mkdir(parents=True, exist_ok=True)
        with (self.worktrees / ".lock").open("w") as handle:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield

    def ensure(self, title: str) -> str:
        """Make the repository with its first commit, unless it is there; return the head of main."""
        with self._locked():
            done = (self.root / ".git").exists() and git(self.root, "rev-parse", "-q", "--verify", MAIN, check=False)
            if not done or done.returncode:
                shutil.rmtree(self.root, ignore_errors=True)
                self.root.mkdir(parents=True)
                git(self.root, "init", "-q", "-b", MAIN)
                (self.root / "README.md").write_text(f"# {title}\n", encoding="utf-8")
                (self.root / ".gitignore").write_text(_IGNORED, encoding="utf-8")
                git(self.root, "add", "-A")
                git(self.root, "commit", "-q", "-m", "Start of the repository")
            return out(self.root, "rev-parse", MAIN)

    def head(self) -> str:
        """The newest commit of main."""
        return out(self.root, "rev-parse", MAIN)

    def merged(self, run: str, task: str) -> str:
        """The commit on main that carries these trailers, or an empty string."""
        log = out(
            self.root,
            "log",
            MAIN,
            "--format=%H|%(trailers:key=Run,valueonly,separator=%x2C)|%(trailers:key=Task,valueonly,separator=%x2C)",
        )
        for line in log.splitlines():
            sha, of_run, of_task = line.split("|", 2)
            if of_run.strip() == run and of_task.strip() == task:
                return sha
        return ""

    def audit_heads(self, run: str) -> list[tuple[int, str, str]]:
        """What the commits of a run on main say of its trail: (event, hash, commit). Odd trailers are left out."""
        shown = "%H|%(trailers:key=Run,valueonly,separator=%x2C)|%(trailers:key=Event,valueonly,separator=%x2C)"
        found = []
        for line in out(
            self.root, "log", MAIN, f"--format={shown}|%(trailers:key=Audit-Head,valueonly,separator=%x2C)"
        ).splitlines():
            sha, of_run, seq, digest = (part.strip() for part in line.split("|", 3))
            if of_run == run and seq.isdecimal() and re.fullmatch(r"[0-9a-f]{64}", digest):
                found.append((int(seq), digest, sha))
        return found

    def worktree(self, name: str, base: str) -> Worktree:
        """A worktree of its own for one task, standing at `base` with nothing of an earlier try in it."""
        path = self.worktrees / name
        with self._locked():
            alive = path.is_dir() and not git(path, "rev-parse", "-q", "--verify", "HEAD", check=False).returncode
            if not alive:
                shutil.rmtree(path, ignore_errors=True)
                git(self.root, "worktree", "prune")
                git(self.root, "worktree", "add", "-q", "--force", "--detach", str(path), base)
        tree = Worktree(path)
        tree.reset(base)
        return tree

    def open(self, name: str) -> Worktree:
        """The worktree as it stands."""
        return Worktree(self.worktrees / name)

    def remove(self, name: str) -> None:
        """Take a worktree away; does nothing when it is gone."""
        with self._locked():
            shutil.rmtree(self.worktrees / name, ignore_errors=True)
            git(self.root, "worktree", "prune")

    def fast_forward(self, sha: str) -> None:
        """Move main to `sha`, which must be a descendant; raises GitError otherwise."""
        with self._locked():
            # A kill in the middle of an earlier merge may have left a lock or half a checkout.
            (self.root / ".git" / "index.lock").unlink(missing_ok=True)
            git(self.root, "reset", "-q", "--hard", MAIN)
            git(self.root, "merge", "-q", "--ff-only", sha)

    def read(self, sha: str, path: str) -> str | None:
        """A file's text at a commit; None when it is not there."""
        shown = git(self.root, "show", f"{sha}:{path}", check=False)
        return None if shown.returncode else shown.stdout

    def files(self, sha: str) -> list[str]:
        """Paths of all files at a commit."""
        return [path for path in out(self.root, "ls-tree", "-r", "-z", "--name-only", sha).split("\0") if path]

    def blobs(self, sha: str) -> dict[str, Blob]:
        """What every regular file holds at a commit, by path; links and submodules are left out."""
        rows = out(self.root, "ls-tree", "-r", "-z", "-l", sha).split("\0")
        found = {}
        for row in rows:
            facts, _, path = row.partition("\t")
            words = facts.split()
            if path and len(words) == 4 and words[1] == "blob" and words[0].startswith("100"):
                found[path] = Blob(words[2], _number(words[3]))
        return found

    def contents(self, hashes: Iterable[str]) -> dict[str, bytes]:
        """Contents by hash (see `blobs`), all in one call of git."""
        return read_blobs(self.root, hashes)


class Worktree:
    """One task's checkout."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def reset(self, base: str) -> None:
        """Stand at `base` with no other file in the tree."""
        # HEAD is detached from the start, so this moves it; it also ends a cherry-pick that a kill interrupted.
        git(self.path, "reset", "-q", "--hard", base)
        git(self.path, "clean", "-q", "-ffdx")

    def write(self, files: Mapping[str, str]) -> None:
        """Write files; raises GitError for a path out of the tree or through a link, before or while it is one."""
        for name, content in files.items():
            try:
                write_inside(self.path, name, content.encode())
            except LeavesFolder as refused:
                raise GitError(str(refused)) from None

    def diff(self, base: str) -> str:
        """The whole change against `base`, new files included."""
        git(self.path, "add", "-A", "--intent-to-add")
        return git(self.path, "diff", "--no-color", "--no-ext-diff", "--no-textconv", base).stdout

    def changes(self, base: str) -> list[Change]:
        """Every file that differs from `base`, in order of path, each with its counts and its own diff."""
        git(self.path, "add", "-A", "--intent-to-add")
        options = ("--no-color", "--no-ext-diff", "--no-textconv", "--no-renames")
        counts = [row for row in git(self.path, "diff", "--numstat", "-z", *options, base).stdout.split("\0") if row]
        whole = git(self.path, "diff", *options, base).stdout
        # Both lists are in git's order; a line of content never starts with "diff --git", it has its +, - or space first.
        parts = [part for part in re.split(r"(?m)^(?=diff --git )", whole) if part]
        rows = []
        for count, part in zip(counts, parts, strict=True):
            added, removed, path = count.split("\t", 2)
            rows.append(Change(path, _number(added), _number(removed), part))
        return rows

    def commit(self, base: str, title: str, body: str, trailers: Mapping[str, str]) -> str:
        """One commit on top of `base` with all that stands in the tree; return its sha."""
        git(self.path, "add", "-A")
        tree = out(self.path, "write-tree")
        message = (
            f"{title}\n\n{body.strip()}\n\n{trailers_text(trailers)}\n"
            if body.strip()
            else f"{title}\n\n{trailers_text(trailers)}\n"
        )
        sha = git(self.path, "commit-tree", tree, "-p", base, "-F", "-", text=str(redact(message))).stdout.strip()
        git(self.path, "checkout", "-q", "-f", "--detach", sha)
        return sha

    def branch(self, name: str) -> None:
        """Name the commit the tree stands at; raises GitError when the branch is there already, or for no valid name."""
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
        git(self.path, "cherry-pick", "--no-commit", "--strategy=ort", "-X", "no-renames", sha, check=False)
        conflicts = tuple(p for p in out(self.path, "diff", "--name-only", "-z", "--diff-filter=U").split("\0") if p)
        files = {}
        for name in names:
            found = read_inside(self.path, name)
            if found is not None:
                files[name] = found.decode("utf-8", "replace").replace("\r\n", "\n")
        self.reset(onto)
        return Replay(files, conflicts)
