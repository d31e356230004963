"""A project's repository: bare, read by everybody, changed only by moving references from a known commit to the next.

Nothing in it is checked out, and nothing here deletes one: what a person does with branches and worktrees of their own
stays as it is.
"""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from agents.languages.registry import languages
from agents.workspace.git import AUTHOR, CommitSettings, GitError, RepositoryDamaged, damaged, git, out
from agents.workspace.merging import merged_trees
from agents.workspace.objects import NAME, object_name, ref_value
from agents.workspace.store import FILE, SUBMODULE, Entry, Store
from agents.workspace.turns import Turns
from agents.workspace.worktree import Worktree

NOTHING = "0" * 40  # where a reference stands that is not there
PACK_SECONDS = 3600.0


def _ignored() -> str:
    """A .gitignore for what the tools of any language leave behind."""
    return "\n".join([*(line for one in languages() for line in one.ignored), "*.sqlite3", ""])


@dataclass(frozen=True)
class GitBlob:
    """A file's content as git knows it; `size` in bytes."""

    hash: str
    size: int


@dataclass(frozen=True)
class FirstCommit:
    """What a new repository starts with: texts by path, beside or in place of its own; what its message says."""

    files: Mapping[str, str] = field(default_factory=dict)
    about: str = ""
    trailers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Replay:
    """What became of a change when it was put on a newer base: its files, and those both sides changed."""

    files: dict[str, str]
    conflicts: tuple[str, ...]


@dataclass(frozen=True)
class TakenIn:
    """The commits of a run put on top of its moved base: new ones by old ones; nothing moved if there are conflicts."""

    commits: dict[str, str]
    conflicts: tuple[str, ...] = ()


class Repository:
    """The bare repository at `root`, with a folder of worktrees elsewhere.

    `base` is the branch it is built on; `line` is the branch of a run, "" to work on the base itself. Every method may
    be called again after a crash. Raises RepositoryDamaged when only a person can go on.
    """

    def __init__(
        self,
        root: Path,
        worktrees: Path,
        *,
        base: str = "main",
        line: str = "",
        updates_base: bool = True,
        settings: CommitSettings = AUTHOR,
    ) -> None:
        self.root, self.worktrees, self.base, self.line = root, worktrees, base, line
        self.store = Store(root, settings)
        self._updates_base = updates_base
        self._base_ref, self._line_ref = f"refs/heads/{base}", f"refs/heads/{line or base}"
        self._turns = Turns(root, worktrees)
        self._standing: dict[str, Worktree] = {}

    @property
    def git_dir(self) -> Path:
        """The folder with git's own files."""
        return self.root

    def ensure(self, title: str, *, new: bool = True, first: FirstCommit | None = None) -> str:
        """Make the repository with its `first` commit where nothing is, if it may be `new`; return its head.

        Raises RepositoryDamaged when there is something that cannot be used, which is left as it is.
        """
        if self.is_there():
            return self.check()
        if not new:
            raise damaged(self.root, "the folder is missing")
        with self._turns.turn():
            if not self.is_there():
                self._make(title, first or FirstCommit())
        return self.check()

    def is_there(self) -> bool:
        """Whether anything stands where the repository is to be, usable or not."""
        return os.path.lexists(self.root) and not (self.root.is_dir() and not any(self.root.iterdir()))

    def _make(self, title: str, first: FirstCommit) -> None:
        self.root.parent.mkdir(parents=True, exist_ok=True)
        making = self.root.with_name(f".{self.root.name}.new")  # never seen under its name before it is whole
        shutil.rmtree(making, ignore_errors=True)
        making.mkdir()
        git(making, "init", "-q", "--bare", "--template=", "-b", self.base)
        store = Store(making, self.store.settings)
        texts = {"README.md": f"# {title}\n", ".gitignore": _ignored(), **first.files}
        contents = {name: text.encode() for name, text in texts.items()}
        store.write_blobs(contents.values())
        tree = store.write_tree({name: Entry(FILE, object_name("blob", one)) for name, one in contents.items()})
        sha = store.commit(tree, "", store.message("Start of the repository", first.about, first.trailers))
        git(making, "update-ref", self._base_ref, sha, NOTHING)
        making.rename(self.root)

    def check(self) -> str:
        """Look whether the repository can be used, starting git only for what nobody has read yet; return its head."""
        try:
            owner = self.root.stat().st_uid
            config = (self.root / "config").read_bytes()
            named = (self.root / "HEAD").read_bytes().decode("ascii", "replace").strip()
        except OSError as missing:
            why = f"{Path(missing.filename or '').name} cannot be read ({missing.strerror})"
            raise damaged(self.root, f"it is not a bare git repository; {why}") from None
        if owner != os.geteuid():
            way_out = "Give it to the user that AI SWE runs as (chown -R)."
            raise damaged(self.root, f"it belongs to another user (number {owner})", way_out)
        if not config.strip() or b"\0" in config:
            raise damaged(self.root, "its config is torn")
        if not (named.startswith("ref: refs/") or NAME.fullmatch(named)):
            raise damaged(self.root, f"its HEAD is torn ({named[:20]!r})")
        head = self.head()
        try:
            self.store.listing(head)
        except RepositoryDamaged:
            raise
        except GitError as refused:
            raise damaged(
                self.root, f"the commit {head} of {self.line or self.base} cannot be read: {refused}"
            ) from None
        return head

    def set_aside(self) -> Path:
        """Give a damaged repository another name, so that a new one can take its place; return that name."""
        with self._turns.turn():
            aside = self.root.with_name(f"{self.root.name}.set-aside-{time.strftime('%Y%m%d-%H%M%S')}")
            self.root.rename(aside)
        return aside

    def head(self) -> str:
        """The newest commit of the line, or of the base before the line has begun."""
        if self.line and (found := ref_value(self.root, self._line_ref)):
            return found
        if self.line and ref_value(self.root, self._own("start")):
            way_out = f"Put it back with: git -C {self.root} branch {self.line} COMMIT, the newest commit of the run."
            raise damaged(self.root, f"the branch {self.line} is gone", way_out)
        return self.base_head()

    def base_head(self) -> str:
        """The newest commit of the base."""
        if found := ref_value(self.root, self._base_ref):
            return found
        others = " ".join(out(self.root, "rev-parse", "--symbolic", "--branches").split()[:10])
        way_out = "Rename the branch back, or choose another base branch in the project's settings."
        raise damaged(self.root, f"it has no branch {self.base} (it has: {others or 'none'})", way_out)

    def _own(self, name: str) -> str:
        """A reference that only the product uses: where the run began, and where it left the base."""
        return f"refs/aiswe/{self.line.removeprefix('aiswe/')}/{name}"

    def begin(self, at: str = "") -> str:
        """Begin the line at a commit, the head of the base by default, unless it has begun; return where it began."""
        if not self.line:
            return self.base_head()
        started, line = ref_value(self.root, self._own("start")), ref_value(self.root, self._line_ref)
        if started and ref_value(self.root, self._own("base")):
            return started
        begun = line or at or self.base_head()
        try:
            self._move(
                *(() if line else ((self._line_ref, begun, NOTHING),)),
                (self._own("base"), begun, ref_value(self.root, self._own("base")) or NOTHING),
                (self._own("start"), begun, NOTHING),
            )
        except GitError:
            # Another task of the run may have begun it in this moment: all three references, or none.
            if not (begun := ref_value(self.root, self._own("start")) or ""):
                raise
        return begun

    def _move(self, *moves: tuple[str, str, str]) -> None:
        """Move references, (name, to, from) each, all or none; raises GitError when one is not where it should be."""
        orders = ["start", *(f"update {ref} {new} {old}" for ref, new, old in moves), "prepare", "commit", ""]
        self._turns.git("update-ref", "--stdin", text="\n".join(orders), refs=[ref for ref, _, _ in moves])

    def fast_forward(self, sha: str) -> None:
        """Move the line to `sha`, which must be a descendant, and the base with it where that is nobody else's now.

        Raises GitError when it is no descendant, or somebody else moved the line.
        """
        old, name = self.head(), self.line or self.base
        if old != sha:
            if out(self.root, "rev-list", "--max-count=1", old, f"^{sha}"):
                raise GitError(f"{sha[:10]} does not build on {old[:10]}, the newest commit of {name}")
            self._move((self._line_ref, sha, old))
        self.follow()

    def follow(self) -> None:
        """Bring the base to the line, unless the project or somebody's work on it forbids that."""
        if not self.line or not self._updates_base:
            return
        line, base, known = self.head(), self.base_head(), ref_value(self.root, self._own("base"))
        if known is None or base == known == line or self.base_left():
            return
        own = (self._own("base"), line, known)
        try:
            self._move(*(() if base == line else ((self._base_ref, line, base),)), own)
        except GitError:
            if not self.base_left():  # else somebody moved it in this moment
                raise

    def base_moved(self) -> bool:
        """True when somebody else moved the base since the run left it."""
        known = ref_value(self.root, self._own("base")) if self.line else None
        return known is not None and self.base_head() not in (known, self.head())

    def is_ahead(self) -> bool:
        """True when the line has commits that are not on the base."""
        return bool(out(self.root, "rev-list", "--max-count=1", self.head(), f"^{self.base_head()}"))

    def base_left(self) -> str:
        """Why merges leave the base alone, in a sentence; "" while they move it or are not meant to."""
        if not self.line or not self._updates_base:
            return ""
        if self.base_moved():
            return f"{self.base} has moved since the run began; the results stay on {self.line}."
        for head in sorted((self.root / "worktrees").glob("*/HEAD")):
            if head.read_bytes().strip() == f"ref: {self._base_ref}".encode():
                return f"{self.base} is checked out in a worktree; the results stay on {self.line}."
        return ""

    def take_in_base(self) -> TakenIn:
        """Put the line's commits, messages kept, on top of the moved base; only for a person's yes.

        The old ones stay reachable below refs/aiswe. With conflicts nothing moves. The base follows with the next
        merge: nobody has tested this tree yet.
        """
        if not self.base_moved():
            return TakenIn({})
        line, base = self.head(), self.base_head()
        known = ref_value(self.root, self._own("base"))
        onto, made = base, dict[str, str]()
        for sha in out(self.root, "rev-list", "--reverse", line, f"^{base}").split():
            merged = merged_trees(self.store, self.store.parent(sha), onto, sha)
            if merged.conflicts:
                return TakenIn({}, merged.conflicts)
            tree = self.store.write_tree(merged.entries, self.store.listing(onto))
            message = git(self.root, "log", "-1", "--format=%B", sha).stdout.rstrip("\n") + "\n"
            onto = made[sha] = self.store.commit(tree, onto, message)
        own = [(self._own("base"), base, known or NOTHING), (self._own(f"before/{line}"), line, NOTHING)]
        self._move((self._line_ref, onto, line), *own)
        return TakenIn(made)

    def branch(self, name: str, sha: str) -> None:
        """Create a branch. Raises GitError for an existing branch or an invalid name."""
        self._move((f"refs/heads/{name}", sha, NOTHING))

    def has_branch(self, name: str) -> bool:
        """True for the name of a branch that is there."""
        return ref_value(self.root, f"refs/heads/{name}") is not None

    def pack(self) -> None:
        """Put loose objects together; nothing is dropped, not even what no branch leads to."""
        git(self.root, "repack", "-a", "-d", "-k", "-q", seconds=PACK_SECONDS)

    def _trailers(self, *keys: str) -> Iterator[list[str]]:
        """Each commit of the run, newest first: its hash and what these trailers of it say."""
        shown = "|".join(["%H", *(f"%(trailers:key={key},valueonly,separator=%x2C)" for key in keys)])
        since = ref_value(self.root, self._own("start")) if self.line else None
        tip = (ref_value(self.root, self._line_ref) if self.line else None) or self.base_head()
        # What was there before the run says nothing of it: it may have come from another installation.
        for line in out(self.root, "log", tip, *((f"^{since}",) if since else ()), f"--format={shown}").splitlines():
            yield [part.strip() for part in line.split("|", len(keys))]

    def merged(self, run: str, task: str) -> str:
        """The merged commit that carries these trailers, or an empty string."""
        return next((sha for sha, *named in self._trailers("Run", "Task") if named == [run, task]), "")

    def audit_heads(self, run: str) -> list[tuple[int, str, str]]:
        """What the merged commits of a run say of its trail: (event, hash, commit). Odd trailers are left out."""
        return [
            (int(seq), digest, sha)
            for sha, of_run, seq, digest in self._trailers("Run", "Event", "Audit-Head")
            if of_run == run and seq.isdecimal() and re.fullmatch(r"[0-9a-f]{64}", digest)
        ]

    def unreachable(self, commits: Iterable[str]) -> list[str]:
        """Those of the commits that neither the line nor the base leads to, in their order."""
        wanted = list(commits)
        if not wanted:
            return []
        tips = [self.base_head(), *((self.head(),) if self.line else ())]
        known = set(out(self.root, "rev-list", *tips).split())
        return [sha for sha in wanted if sha not in known]

    def worktree(self, name: str, base: str) -> Worktree:
        """A worktree of its own for one task, holding `base` with nothing of an earlier try in it."""
        return self.candidate(name, base, {})

    def candidate(self, name: str, base: str, files: Mapping[str, str]) -> Worktree:
        """A task's worktree with exactly `base` and these files; doing it twice gives the same tree.

        What this object left there is not made anew. Raises GitError as Worktree.hold does.
        """
        tree = self.open(name)
        tree.hold(base, files)
        return tree

    def open(self, name: str) -> Worktree:
        """The worktree as it stands."""
        return self._standing.setdefault(name, Worktree(self.worktrees / name, self.store))

    def remove(self, name: str) -> None:
        """Take a worktree away; does nothing when it is gone."""
        self._standing.pop(name, None)
        shutil.rmtree(self.worktrees / name, ignore_errors=True)

    def replay(self, sha: str, onto: str) -> Replay:
        """Put the change of `sha` on top of `onto`, without touching either.

        Files come back with git's merge of both sides; those with conflicts still hold the markers.
        """
        merged = merged_trees(self.store, self.store.parent(sha), onto, sha)
        there = {path: entry.hash for path in merged.changed if (entry := merged.entries.get(path)) and entry.is_file}
        contents = self.store.contents(there.values())
        files = {path: contents[name].decode("utf-8", "replace").replace("\r\n", "\n") for path, name in there.items()}
        return Replay(files, merged.conflicts)

    def read(self, sha: str, path: str) -> str | None:
        """A file's text at a commit; None when it is not there."""
        try:
            entry = self.store.listing(sha).entries.get(path)
        except RepositoryDamaged:
            raise
        except GitError:
            return None
        if entry is None or entry.mode == SUBMODULE:
            return None
        content = self.contents([entry.hash]).get(entry.hash)
        return None if content is None else content.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")

    def files(self, sha: str) -> list[str]:
        """Paths of all files at a commit; names that are not valid Unicode are kept in it, but not listed."""
        return [path for path in self.store.listing(sha).entries if _is_text(path)]

    def blobs(self, sha: str) -> dict[str, GitBlob]:
        """What every regular file holds at a commit, by path; links and submodules are left out."""
        return {
            path: GitBlob(entry.hash, entry.size)
            for path, entry in self.store.listing(sha).entries.items()
            if entry.is_file and _is_text(path)
        }

    def contents(self, hashes: Iterable[str]) -> dict[str, bytes]:
        """Contents by hash (see `blobs`); what does not lie loose is read in one call of git."""
        return self.store.contents(hashes)


def _is_text(path: str) -> bool:
    return not any("\ud800" <= letter <= "\udfff" for letter in path)
