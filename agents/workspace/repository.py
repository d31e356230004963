"""A project's repository: made once, read by everybody, changed only by a task's merge."""

from __future__ import annotations

import fcntl
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from agents.languages.registry import languages
from agents.workspace.git import GitError, git, out, read_blobs
from agents.workspace.objects import NAME, Remembered, loose_blob, loose_head
from agents.workspace.worktree import Change as Change
from agents.workspace.worktree import Replay as Replay
from agents.workspace.worktree import Worktree as Worktree
from agents.workspace.worktree import number

MAIN = "main"


def _ignored() -> str:
    """A .gitignore for what the tools of any language leave behind."""
    return "\n".join([*(line for one in languages() for line in one.ignored), "*.sqlite3", ""])


@dataclass(frozen=True)
class GitBlob:
    """A file's content as git knows it; `size` in bytes."""

    hash: str
    size: int


@dataclass(frozen=True)
class _Entry:
    """A line of a commit's tree."""

    mode: str
    kind: str
    hash: str
    size: int


Tree = Mapping[str, _Entry]
# Objects never change, so they are cached per repository folder for all tasks of this process.
_trees: Remembered[Tree] = Remembered(400_000, len)
_contents: Remembered[bytes | None] = Remembered(16_000_000, lambda content: 200 + len(content or b""))


class Repository:
    """A git repository with `main` checked out, beside a folder of worktrees.

    Every method may be called again after a crash: what is there already is kept or made anew.
    """

    def __init__(self, root: Path, worktrees: Path) -> None:
        self.root, self.worktrees = root, worktrees
        self._standing: dict[str, Worktree] = {}

    @property
    def git_dir(self) -> Path:
        """The folder with git's own files."""
        return self.root / ".git"

    @contextmanager
    def _locked(self) -> Iterator[None]:
        # Worktree bookkeeping and ref updates of one repository take turns, across threads and processes.
        self.worktrees.mkdir(parents=True, exist_ok=True)
        with (self.worktrees / ".lock").open("w") as handle:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield

    def ensure(self, title: str) -> str:
        """Make the repository with its first commit, unless it is there; return the head of main."""
        if (head := loose_head(self.root, MAIN)) is not None:
            return head
        with self._locked():
            done = (self.root / ".git").exists() and git(self.root, "rev-parse", "-q", "--verify", MAIN, check=False)
            if not done or done.returncode:
                shutil.rmtree(self.root, ignore_errors=True)
                self.root.mkdir(parents=True)
                git(self.root, "init", "-q", "-b", MAIN)
                (self.root / "README.md").write_text(f"# {title}\n", encoding="utf-8")
                (self.root / ".gitignore").write_text(_ignored(), encoding="utf-8")
                git(self.root, "add", "-A")
                git(self.root, "commit", "-q", "-m", "Start of the repository")
            return out(self.root, "rev-parse", MAIN)

    def head(self) -> str:
        """The newest commit of main."""
        return loose_head(self.root, MAIN) or out(self.root, "rev-parse", MAIN)

    def _trailers(self, *keys: str) -> Iterator[list[str]]:
        """Each commit of main, newest first: its hash and what these trailers of it say."""
        shown = "|".join(["%H", *(f"%(trailers:key={key},valueonly,separator=%x2C)" for key in keys)])
        for line in out(self.root, "log", MAIN, f"--format={shown}").splitlines():
            yield [part.strip() for part in line.split("|", len(keys))]

    def merged(self, run: str, task: str) -> str:
        """The commit on main that carries these trailers, or an empty string."""
        return next((sha for sha, *named in self._trailers("Run", "Task") if named == [run, task]), "")

    def audit_heads(self, run: str) -> list[tuple[int, str, str]]:
        """What the commits of a run on main say of its trail: (event, hash, commit). Odd trailers are left out."""
        return [
            (int(seq), digest, sha)
            for sha, of_run, seq, digest in self._trailers("Run", "Event", "Audit-Head")
            if of_run == run and seq.isdecimal() and re.fullmatch(r"[0-9a-f]{64}", digest)
        ]

    def worktree(self, name: str, base: str) -> Worktree:
        """A worktree of its own for one task, standing at `base` with nothing of an earlier try in it."""
        path = self.worktrees / name
        tree = self._standing[name] = Worktree(path)
        with self._locked():
            alive = path.is_dir() and not git(path, "rev-parse", "-q", "--verify", "HEAD", check=False).returncode
            if not alive:
                shutil.rmtree(path, ignore_errors=True)
                git(self.root, "worktree", "prune")
                git(self.root, "worktree", "add", "-q", "--force", "--detach", str(path), base)
        if alive:
            tree.reset(base)
        else:
            tree.fresh(base)
        return tree

    def candidate(self, name: str, base: str, files: Mapping[str, str]) -> Worktree:
        """A task's worktree with exactly `base` and these files; doing it twice gives the same tree.

        What this object left there is not made anew. Raises GitError as Worktree.write does.
        """
        tree = self._standing.get(name)
        if tree is None or not tree.takes(base, files):
            tree = self.worktree(name, base)
        tree.write(files)
        return tree

    def open(self, name: str) -> Worktree:
        """The worktree as it stands."""
        return self._standing.get(name) or Worktree(self.worktrees / name)

    def remove(self, name: str) -> None:
        """Take a worktree away; does nothing when it is gone."""
        self._standing.pop(name, None)
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
        try:
            entry = self._tree(sha).get(path)
        except GitError:
            return None
        if entry is None or entry.kind != "blob":
            return None
        content = self.contents([entry.hash]).get(entry.hash)
        return None if content is None else content.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")

    def files(self, sha: str) -> list[str]:
        """Paths of all files at a commit."""
        return list(self._tree(sha))

    def blobs(self, sha: str) -> dict[str, GitBlob]:
        """What every regular file holds at a commit, by path; links and submodules are left out."""
        return {
            path: GitBlob(entry.hash, entry.size)
            for path, entry in self._tree(sha).items()
            if entry.kind == "blob" and entry.mode.startswith("100")
        }

    def contents(self, hashes: Iterable[str]) -> dict[str, bytes]:
        """Contents by hash (see `blobs`); what does not lie loose is read in one call of git."""
        wanted = list(dict.fromkeys(hashes))
        root = str(self.root)
        found = {
            name: content
            for name in wanted
            if (content := _contents.get((root, name), partial(loose_blob, self.root, name))) is not None
        }
        return found | read_blobs(self.root, [name for name in wanted if name not in found])

    def _tree(self, sha: str) -> Tree:
        """All of a commit by path; raises GitError when there is no such commit."""
        if not NAME.fullmatch(sha):
            return self._listed(sha)
        return _trees.get((str(self.root), sha), lambda: self._listed(sha))

    def _listed(self, sha: str) -> Tree:
        found = {}
        for row in git(self.root, "ls-tree", "-r", "-z", "-l", sha).stdout.split("\0"):
            facts, _, path = row.partition("\t")
            words = facts.split()
            if path and len(words) == 4:
                found[path] = _Entry(words[0], words[1], words[2], number(words[3]))
        return found
