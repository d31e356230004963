"""Which commit wrote each line that a branch has now, and the tests among them, in a fixed number of git commands.

A page that asks this of every file cannot ask git blame of each: the changes since the first commit of interest are
replayed instead, so that the cost grows with what was built and not with what was there before.
"""

from __future__ import annotations

import codecs
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from agents.languages.registry import is_test
from agents.workspace.blame import lines_of
from agents.workspace.git import EMPTY_TREE, GitError, git

SECONDS = 20
MOST_COMMITS = 5_000  # that are replayed
MOST_MERGED = 40  # files with lines of a merge commit, of which git blame is asked
KEPT = 16
_PLAIN = ("--no-ext-diff", "--no-textconv", "--no-color")
_HUNK = re.compile(r"@@ -\d+(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_TEST = re.compile(
    r"\s*(?:(?:async\s+)?def\s+(test_?\w*)\s*\(|(?:it|test)(?:\.each\(.*\))?\s*\(\s*[\"'`]([^\"'`]{1,160}))"
)
_Line = tuple[str, str]  # the commit, "" for what was there before, and the name of the test that begins here
_BEFORE: _Line = ("", "")


@dataclass(frozen=True, slots=True)
class LineSpan:
    """Lines of a file, 1-based and inclusive, that one commit wrote."""

    path: str
    first: int
    last: int

    @property
    def lines(self) -> int:
        """How many."""
        return self.last - self.first + 1


@dataclass(frozen=True, slots=True)
class TestPlace:
    """A test, and the line on which it begins."""

    path: str
    line: int
    name: str


@dataclass(frozen=True)
class WrittenLines:
    """The lines of a branch by the commit that wrote them; `before` are those older than the first of interest."""

    head: str
    spans: Mapping[str, Sequence[LineSpan]]
    tests: Mapping[str, Sequence[TestPlace]]
    before: int

    @property
    def lines(self) -> int:
        """How many lines the branch has."""
        return self.before + sum(span.lines for spans in self.spans.values() for span in spans)


def written(git_dir: Path, head: str, interest: Iterable[str]) -> WrittenLines:
    """The lines of `head` by commit, since before the oldest commit of `interest` on its line. Raises GitError."""
    line = git(git_dir, "rev-list", "--first-parent", head, seconds=SECONDS).stdout.split()
    wanted = frozenset(interest)
    last = max((place for place, sha in enumerate(line) if sha in wanted), default=-1)
    if last >= MOST_COMMITS:
        raise GitError(f"the branch has more than {MOST_COMMITS:,} commits since the first build")
    base = line[last + 1] if last + 1 < len(line) else EMPTY_TREE
    return _written(git_dir, base, head)


@lru_cache(KEPT)
def _written(git_dir: Path, base: str, head: str) -> WrittenLines:
    counts = _counts(git_dir, base)
    files: dict[str, list[_Line]] = {}
    if base != head:
        since = (head,) if base == EMPTY_TREE else (f"{base}..{head}",)
        argv = ("log", "--reverse", "--first-parent", "--diff-merges=first-parent", "-p", "-U0", "-M", *_PLAIN)
        told = git(
            git_dir, *argv, "--format=%x1e%H %P", *since, options=("-c", "core.quotePath=false"), seconds=SECONDS
        ).stdout
        merges = _replay(told.split("\n"), files, counts)
        _look_behind(git_dir, head, files, merges)
    before = sum(counts.values())
    spans: dict[str, list[LineSpan]] = defaultdict(list)
    tests: dict[str, list[TestPlace]] = defaultdict(list)
    for path, lines in sorted(files.items()):
        for first, last, commit in _runs(lines):
            if commit:
                spans[commit].append(LineSpan(path, first, last))
            else:
                before += last - first + 1
        in_test = is_test(path)
        for number, (commit, name) in enumerate(lines, 1):
            if name and commit and in_test:
                tests[commit].append(TestPlace(path, number, name))
    return WrittenLines(head, dict(spans), dict(tests), before)


def _counts(git_dir: Path, base: str) -> dict[str, int]:
    """The lines of every text file of a commit."""
    if base == EMPTY_TREE:
        return {}
    told = git(git_dir, "diff", "--numstat", "-z", "--no-renames", *_PLAIN, EMPTY_TREE, base, seconds=SECONDS).stdout
    rows = (row.split("\t", 2) for row in told.split("\0") if row.count("\t") >= 2)
    return {path: int(added) for added, _, path in rows if added.isdecimal()}


def _replay(rows: Sequence[str], files: dict[str, list[_Line]], counts: dict[str, int]) -> frozenset[str]:
    """Bring `files` to the end of the changes; a file of `counts` moves there with its first one. Returns merges."""
    commit, lines, old_path, merges, is_rename = "", list[_Line](), "", set[str](), False
    numbers = iter(range(len(rows)))
    for number in numbers:
        row = rows[number]
        if row.startswith("\x1e"):
            commit, *parents = row[1:].split()
            if len(parents) > 1:
                merges.add(commit)
        elif row.startswith("diff --git "):
            is_rename = False
        elif row.startswith("rename from "):
            old_path, is_rename = _path(row.removeprefix("rename from "), ""), True
        elif row.startswith("--- ") and not is_rename:
            old_path = _path(row[4:], "a/")
        elif row.startswith("rename to ") or (row.startswith("+++ ") and not is_rename):
            path = _path(row.removeprefix("rename to "), "") if is_rename else _path(row[4:], "b/")
            source = old_path if old_path != "/dev/null" else path
            lines = files.pop(source, []) or [_BEFORE] * counts.pop(source, 0)
            if path != "/dev/null":
                files[path] = lines
        elif match := _HUNK.match(row):
            gone, at, new = (int(group) if group is not None else 1 for group in match.groups())
            added = list(_added(rows, number, gone + new))
            start = at - 1 if new else at
            if len(lines) < start:
                lines += [_BEFORE] * (start - len(lines))
            lines[start : start + gone] = [(commit, name) for name in added]
            for _ in range(gone + new):
                if rows[next(numbers, number)].startswith("\\"):
                    next(numbers, number)
    return frozenset(merges)


def _added(rows: Sequence[str], number: int, size: int) -> Iterator[str]:
    """For each line that a hunk adds the test that begins with it, or ""."""
    for row in rows[number + 1 : number + 2 + size]:  # one more: it may note a missing newline in the middle
        if size and not row.startswith("\\"):
            size -= 1
            if row.startswith("+"):
                match = _TEST.match(row, 1)
                yield (match[1] or match[2] or "") if match else ""


def _path(words: str, side: str) -> str:
    words = words.removesuffix("\t")
    if words.startswith('"'):
        words = codecs.escape_decode(words[1:-1].encode("utf-8", "surrogateescape"))[0].decode(  # type: ignore[attr-defined]  # typeshed leaves it out
            "utf-8", "surrogateescape"
        )
    return words.removeprefix(side)


def _look_behind(git_dir: Path, head: str, files: dict[str, list[_Line]], merges: frozenset[str]) -> None:
    """Ask git blame of the files of which a merge commit brought lines: who wrote them is on its other side."""
    brought = [path for path, lines in files.items() if any(commit in merges for commit, _ in lines)]
    for path in brought[:MOST_MERGED] if merges else ():
        for number, commit in enumerate(lines_of(git_dir, head, path)[: len(files[path])]):
            if files[path][number][0] in merges:
                files[path][number] = (commit, files[path][number][1])


def _runs(lines: Sequence[_Line]) -> Iterator[tuple[int, int, str]]:
    first = 0
    for number in range(1, len(lines) + 1):
        if number == len(lines) or lines[number][0] != lines[first][0]:
            yield first + 1, number, lines[first][0]
            first = number
