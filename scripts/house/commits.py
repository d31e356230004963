"""The size of commits: what cannot be read in one sitting is not reviewed."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from fnmatch import fnmatch
from typing import Any

from scripts.house.tree import Tree


def check(tree: Tree, house: Mapping[str, Any]) -> list[str]:
    """Commits since the one that house.toml names with more changed lines than it allows.

    Lines of moved files that did not change, and of generated files, do not count. Merges are judged by their parents.
    """
    rule = house["commits"]
    counted = ("--no-merges", "-M", "--numstat", "--format=commit %h %s")
    try:
        log = tree.git("-c", "diff.renameLimit=20000", "log", *counted, f"{rule['since']}..HEAD")
    except subprocess.CalledProcessError:
        return [f"the size of commits was not checked: {rule['since']} is not in this clone; run git fetch --unshallow"]
    return [
        f"commit {name} changes {changed:,} lines that are not moves; at most {rule['most_lines']:,}: commit in parts"
        for name, changed in sizes(log, rule["generated"]).items()
        if changed > rule["most_lines"]
    ]


def sizes(log: str, generated: list[str]) -> dict[str, int]:
    """Changed lines of each commit in the output of `git log --numstat`, by short hash and title."""
    found: dict[str, int] = {}
    for line in log.splitlines():
        if line.startswith("commit "):
            name = line.removeprefix("commit ")
            found[name] = 0
        elif (numbers := re.match(r"(\d+)\t(\d+)\t(.+)", line)) and not _is_like(_new_path(numbers[3]), generated):
            found[name] += int(numbers[1]) + int(numbers[2])
    return found


def _is_like(path: str, patterns: list[str]) -> bool:
    return any(fnmatch(path, pattern) for pattern in patterns)


def _new_path(path: str) -> str:
    """The path after a move, of `old => new` or `a/{old => new}/b`."""
    return re.sub(r"\{?[^{}]*? => ([^{}]*)\}?", r"\1", path).replace("//", "/")
