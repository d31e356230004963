"""How much commits changed: files, lines and tests."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from agents.languages.registry import is_test
from agents.workspace.git import git

_PLAIN = ("--no-ext-diff", "--no-textconv", "--no-color")
_TEST = re.compile(r"\+\s*(?:(?:async\s+)?def\s+test_?\w*\s*\(|(?:it|test)(?:\.each\(.*\))?\s*\()")


def size_of(git_dir: Path, base: str, head: str) -> tuple[int, int, int]:
    """Files that differ between two commits, and the lines that were added and removed in them."""
    rows = git(git_dir, "diff", "--numstat", "-z", *_PLAIN, base, head).stdout.split("\0")
    counts = [row.split("\t")[:2] for row in rows if row.count("\t") >= 2]
    added, removed = (sum(int(count[column]) for count in counts if count[column].isdecimal()) for column in (0, 1))
    return len(counts), added, removed


def tests_added(git_dir: Path, commits: Iterable[str]) -> dict[str, int]:
    """How many test functions each of these commits added or rewrote, as their names are written in test files."""
    wanted = sorted(set(commits))
    if not wanted:
        return {}
    given = "".join(f"{sha}\n" for sha in wanted)
    argv = ("log", "--no-walk", "--stdin", "-p", "-U0", "--text", *_PLAIN, "--format=%x1e%H")
    found = dict.fromkeys(wanted, 0)
    for told in git(git_dir, *argv, text=given).stdout.split("\x1e")[1:]:
        sha, _, rest = told.partition("\n")
        in_test = False
        for line in rest.split("\n"):
            if line.startswith("+++ "):
                path = line[4:].strip('"').removeprefix("b/")
                in_test = is_test(path)
            elif in_test and _TEST.match(line):
                found[sha] = found.get(sha, 0) + 1
    return found
