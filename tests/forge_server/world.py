"""What a forge knows: accounts, repositories with real git, issues, pull requests, comments, statuses, builds."""

from __future__ import annotations

import datetime
import itertools
import os
import re
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_HUNK = re.compile(r"@@ -\d+(?:,\d+)? \+(\d+)(?:,(\d+))? @@")


class ForgeSaysNo(Exception):
    """An error answer; `errors` are GitHub's details."""

    def __init__(self, status: int, message: str, errors: list[dict[str, str]] | None = None) -> None:
        super().__init__(message)
        self.status, self.message, self.errors = status, message, errors


@dataclass(frozen=True)
class Account:
    ident: int
    login: str
    token: str
    bot: bool = False


@dataclass
class Note:
    """A comment; `place` as in agents.forges.contract. `thread` joins answers to what they answer."""

    ident: int
    place: str
    author: Account
    text: str
    at: str
    path: str = ""
    line: int | None = None
    commit: str = ""
    reply_to: int | None = None
    review: int | None = None
    thread: str = ""


@dataclass
class ServedIssue:
    number: int
    title: str
    text: str
    author: Account
    at: str
    state: str = "open"
    labels: list[str] = field(default_factory=list)
    files: dict[str, bytes] = field(default_factory=dict)
    notes: list[Note] = field(default_factory=list)


@dataclass
class ServedPull(ServedIssue):
    """Its `head_commit` follows the branch; `head_repository` is another one when it comes from a fork."""

    head: str = ""
    base: str = ""
    head_repository: Any = None
    head_commit: str = ""
    base_commit: str = ""
    draft: bool = False
    merge_commit: str = ""
    merged_at: str | None = None


@dataclass
class ServedStatus:
    commit: str
    name: str
    state: str
    text: str
    address: str
    by: Account
    at: str
    ident: int


@dataclass
class ServedBuild:
    ident: int
    name: str
    log: str
    commit: str
    branch: str


class ServedRepository:
    """One repository, and what people do there. `happened` is told of each event."""

    def __init__(
        self, path: str, git_dir: Path, forge: Any, happened: Callable[[ServedRepository, str, dict[str, Any]], None]
    ) -> None:
        self.path, self.git_dir, self.forge, self._happened = path, git_dir, forge, happened
        self.ident = next(forge.numbers)
        self.private, self.default_branch = False, "main"
        self.issues: dict[int, ServedIssue] = {}
        self.pulls: dict[int, ServedPull] = {}
        self.statuses: list[ServedStatus] = []
        self.builds: dict[int, ServedBuild] = {}
        self.hooks: list[tuple[str, str]] = []  # secret, address
        self._numbers, self._pull_numbers = itertools.count(1), itertools.count(1)

    # git

    def git(self, *argv: str, given: bytes | None = None, **settings: str) -> str:
        who = {f"GIT_{role}_{what}": value for role in ("AUTHOR", "COMMITTER") for what, value in _IDENTITY.items()}
        done = subprocess.run(
            ["git", "-C", str(self.git_dir), *argv], input=given, capture_output=True, env={**_PLAIN, **who, **settings}
        )
        if done.returncode:
            raise ForgeSaysNo(422, f"git {argv[0]}: {done.stderr.decode()}")
        return done.stdout.decode()

    def branches(self) -> dict[str, str]:
        rows = self.git("for-each-ref", "--format=%(refname:lstrip=2) %(objectname)", "refs/heads").splitlines()
        return dict(row.split(" ") for row in rows)

    def commit(
        self, branch: str, files: Mapping[str, str | None], message: str = "By hand", by: str = "ada", start: str = ""
    ) -> str:
        """A commit of somebody else's on a branch, new or not; None deletes a file."""
        before = self.branches()
        parent = before.get(branch) or before.get(start or self.default_branch)
        with tempfile.TemporaryDirectory() as scratch:
            index = {"GIT_INDEX_FILE": f"{scratch}/index", "GIT_AUTHOR_NAME": by}
            if parent:
                self.git("read-tree", parent, **index)
            for name, text in files.items():
                if text is None:
                    self.git("rm", "--cached", "--quiet", "--", name, GIT_WORK_TREE=scratch, **index)
                    continue
                blob = self.git("hash-object", "-w", "--stdin", given=text.encode()).strip()
                self.git("update-index", "--add", "--cacheinfo", f"100644,{blob},{name}", **index)
            tree = self.git("write-tree", **index).strip()
        parents = ("-p", parent) if parent else ()
        made = self.git("commit-tree", tree, *parents, "-m", message, GIT_AUTHOR_NAME=by).strip()
        self.git("update-ref", f"refs/heads/{branch}", made)
        self.moved(before, self.forge.account(by))
        return made

    def moved(self, before: Mapping[str, str], by: Account) -> None:
        """Tell of branches that are elsewhere than before."""
        now = self.branches()
        for name in sorted(before.keys() | now.keys()):
            if before.get(name) != now.get(name):
                told = {"branch": name, "before": before.get(name, "0" * 40), "after": now.get(name, "0" * 40)}
                self._happened(self, "push", {**told, "by": by})
        for repository in self.forge.repositories.values():
            repository.refresh(by)

    def refresh(self, by: Account) -> None:
        """Pull requests follow their branches: new commits, deleted ones, and merges that somebody made with git."""
        known = self.branches()
        for pull in self.pulls.values():
            if pull.state != "open":
                continue
            head = pull.head_repository.branches().get(pull.head)
            base = known.get(pull.base, "")
            if head is None:
                self._end(pull, by)
            elif head != pull.head_commit:
                self._take_in(pull)
                pull.head_commit = head
                self._happened(self, "pull", {"pull": pull, "action": "synchronize", "by": by})
            if pull.state == "open" and base and self._is_in(pull.head_commit, base):
                self._end(pull, by, base)

    def _take_in(self, pull: ServedPull) -> None:
        if pull.head_repository is not self:
            source = str(pull.head_repository.git_dir)
            self.git("fetch", "--quiet", source, f"refs/heads/{pull.head}:refs/pull/{pull.number}/head")

    def _is_in(self, commit: str, base: str) -> bool:
        argv = ["git", "-C", str(self.git_dir), "merge-base", "--is-ancestor", commit, base]
        return subprocess.run(argv, capture_output=True).returncode == 0

    def diff(self, pull: ServedPull) -> str:
        return self.git("diff", "--no-color", f"{pull.base_commit}...{pull.head_commit}")

    def lines(self, pull: ServedPull) -> set[tuple[str, int]]:
        """Lines of the new side that a remark may stand on."""
        found, path = set(), ""
        for row in self.diff(pull).splitlines():
            if row.startswith("+++ "):
                path = row[6:]
            elif hunk := _HUNK.match(row):
                first = int(hunk[1])
                found |= {(path, line) for line in range(first, first + int(hunk[2] or 1))}
        return found

    # what people do

    def issue(self, title: str, text: str = "", by: str = "ada", **more: Any) -> ServedIssue:
        number = next(self._numbers)
        made = ServedIssue(number, title, text, self.forge.account(by), self.forge.now(), **more)
        self.issues[number] = made
        self._happened(self, "issue", {"issue": made, "action": "opened", "by": made.author})
        return made

    def pull(
        self,
        head: str,
        base: str,
        title: str,
        text: str = "",
        *,
        by: Account | str = "ada",
        draft: bool = False,
        fork: ServedRepository | None = None,
    ) -> ServedPull:
        source, author = fork or self, self.forge.account(by) if isinstance(by, str) else by
        at, onto = source.branches().get(head), self.branches().get(base)
        if at is None or onto is None:
            raise self._refusal(f"head {head} or base {base} is invalid", 422)
        if any(one.head == head and one.base == base and one.state == "open" for one in self.pulls.values()):
            words = f"A pull request already exists for {self.path.split('/')[0]}:{head}."
            raise self._refusal(words, 409)
        number = next(self._pull_numbers if self.forge.kind == "gitlab" else self._numbers)
        made = ServedPull(number, title, text, author, self.forge.now(), head=head, base=base, draft=draft)
        made.head_repository, made.head_commit = source, at
        self._take_in(made)
        made.base_commit = onto
        if self._is_in(at, onto):
            words = f"No commits between {base} and {head}"
            raise self._refusal(words, 422)
        self.pulls[number] = made
        self._happened(self, "pull", {"pull": made, "action": "opened", "by": author})
        return made

    def _refusal(self, words: str, status: int) -> ForgeSaysNo:
        if self.forge.kind != "github":
            return ForgeSaysNo(status, words)
        details = {"resource": "PullRequest", "code": "custom", "message": words}
        return ForgeSaysNo(422, "Validation Failed", [details])

    def thing(self, number: int, about: str = "") -> ServedIssue:
        """The issue or pull request of a number; `about` where the two are numbered apart."""
        places: list[Mapping[int, ServedIssue]] = [self.pulls, self.issues]
        if about:
            places = [self.pulls if about == "request" else self.issues]
        found = next((place[number] for place in places if number in place), None)
        if found is None:
            raise ForgeSaysNo(404, "Not Found")
        return found

    def comment(self, number: int, text: str, by: Account | str = "ada", about: str = "") -> Note:
        thing = self.thing(number, about)
        return self._noted(thing, "conversation", text, by)

    def line_comment(self, number: int, path: str, line: int, text: str, by: Account | str = "ada") -> Note:
        """A remark on a line of the new side, in a review of its own."""
        pull = self.pulls[number]
        assert (path, line) in self.lines(pull), "not a line of the difference"
        review = next(self.forge.numbers)
        return self._noted(pull, "line", text, by, path=path, line=line, commit=pull.head_commit, review=review)

    def reply(self, number: int, to: Note, text: str, by: Account | str = "ada") -> Note:
        more = {"path": to.path, "line": to.line, "commit": to.commit, "review": to.review, "thread": to.thread}
        return self._noted(self.thing(number, "request"), to.place, text, by, reply_to=to.ident, **more)

    def review(
        self, number: int, text: str, by: Account | str = "ada", lines: list[tuple[str, int, str]] | None = None
    ) -> Note:
        pull = self.pulls[number]
        if lines and not {(path, line) for path, line, _ in lines} <= self.lines(pull):
            raise ForgeSaysNo(422, "Unprocessable Entity", [{"message": "line must be part of the diff"}])
        made = self._noted(pull, "review", text, by, commit=pull.head_commit)
        for path, line, words in lines or ():
            self._noted(pull, "line", words, by, path=path, line=line, commit=pull.head_commit, review=made.ident)
        return made

    def _noted(self, thing: ServedIssue, place: str, text: str, by: Account | str, **more: Any) -> Note:
        author = self.forge.account(by) if isinstance(by, str) else by
        ident = next(self.forge.numbers)
        more["thread"] = more.get("thread") or f"{ident:040x}"
        made = Note(ident, place, author, text, self.forge.now(), **more)
        thing.notes.append(made)
        self._happened(self, "note", {"thing": thing, "note": made, "by": author})
        return made

    def merge(self, number: int, by: str = "ada") -> str:
        """Merge a pull request as a person does with the button; the merge commit."""
        pull = self.pulls[number]
        assert pull.state == "open", pull.state
        before = self.branches()
        base = before[pull.base]
        tree = self.git("merge-tree", "--write-tree", base, pull.head_commit).split()[0]
        words = f"Merge pull request #{number}"
        made = self.git("commit-tree", tree, "-p", base, "-p", pull.head_commit, "-m", words).strip()
        self.git("update-ref", f"refs/heads/{pull.base}", made, base)
        self._end(pull, self.forge.account(by), made)
        self.moved(before, self.forge.account(by))
        return made

    def close(self, number: int, by: str = "ada") -> None:
        """Close a pull request without merging it."""
        self._end(self.pulls[number], self.forge.account(by))

    def _end(self, pull: ServedPull, by: Account, merged: str = "") -> None:
        pull.state, pull.merge_commit = "closed", merged
        pull.merged_at = self.forge.now() if merged else None
        self._happened(self, "pull", {"pull": pull, "action": "closed", "by": by})

    def end_issue(self, number: int, by: Account) -> None:
        issue = self.thing(number, "issue")
        issue.state = "closed"
        self._happened(self, "issue", {"issue": issue, "action": "closed", "by": by})

    def say(self, commit: str, name: str, state: str, text: str, address: str, by: Account) -> ServedStatus:
        self.git("cat-file", "-e", f"{commit}^{{commit}}")
        made = ServedStatus(commit, name, state, text, address, by, self.forge.now(), next(self.forge.numbers))
        self.statuses.append(made)
        self._happened(self, "status", {"status": made, "by": by})
        return made

    def said(self, commit: str) -> list[ServedStatus]:
        """The newest status of each name."""
        return list({one.name: one for one in self.statuses if one.commit == commit}.values())

    def build_fails(self, log: str, branch: str = "", name: str = "tests") -> ServedBuild:
        """A build of a branch fails with this log."""
        branch = branch or self.default_branch
        made = ServedBuild(next(self.forge.numbers), name, log, self.branches()[branch], branch)
        self.builds[made.ident] = made
        self._happened(self, "build", {"build": made, "by": self.forge.account("ada")})
        return made


_IDENTITY = {"NAME": "somebody", "EMAIL": "somebody@example.org"}
_PLAIN = {"PATH": os.environ["PATH"], "GIT_CONFIG_NOSYSTEM": "1", "HOME": "/nonexistent"}


def clock() -> Iterator[str]:
    """Moments a second apart, from an hour ago: no test waits for the time."""
    begin = datetime.datetime.now(datetime.UTC).replace(microsecond=0) - datetime.timedelta(hours=1)
    for second in itertools.count():
        yield (begin + datetime.timedelta(seconds=second)).isoformat().replace("+00:00", "Z")
