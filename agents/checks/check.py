"""Which tasks are checked instead of tested, and the checks of a change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from agents.checks.checked_file import CheckedFile, Found
from agents.checks.configuration import configuration_check
from agents.checks.pages import check_page, is_page
from agents.languages.registry import language_of, language_of_task

KINDS = frozenset({"docs", "config", "infra"})


@dataclass(frozen=True)
class CheckFinding:
    """Something wrong in a changed file; lines count from 1."""

    path: str
    line: int
    text: str


def replaces_tests(task: Mapping[str, Any]) -> bool:
    """True for a task that writes pages, configuration or containers and no code: nobody invents tests for it."""
    files, is_test = task.get("files") or [], language_of_task(task).is_test
    if not files or task.get("tests_given") or any(language_of(path) or is_test(path) for path in files):
        return False
    return task.get("kind") in KINDS or all(map(is_page, files))


def check_of(path: str) -> Callable[[str, CheckedFile], Found] | None:
    """What checks a file; None when there is no check for it."""
    return check_page if is_page(path) else configuration_check(path)


def check_files(
    changed: Mapping[str, str],
    before: Mapping[str, str],
    there: Collection[str],
    read: Callable[[str], str | None],
) -> list[CheckFinding]:
    """What is wrong in changed files and was not before; `read` gives the text of any file as it is now.

    Code among them is wrong too: no test would judge it.
    """
    found = []
    for path, text in sorted(changed.items()):
        if language_of(path) is not None:
            found.append(CheckFinding(path, 1, "this task writes no code, and no test of it: leave the file as it is"))
        elif check := check_of(path):
            place = CheckedFile(path, there, read)
            known = Counter(said for _, said in check(before.get(path, ""), place)) if path in before else Counter()
            for line, said in check(text, place):
                known[said] -= 1
                if known[said] < 0:
                    found.append(CheckFinding(path, line, said))
    return found


def checked_words(paths: Iterable[str]) -> list[str]:
    """Which files are checked, and which nothing but the review looks at."""
    sorted_paths = sorted(paths)
    checked = [path for path in sorted_paths if check_of(path)]
    left = [path for path in sorted_paths if not check_of(path)]
    said = [f"Checked instead of tested: {', '.join(checked)}"] if checked else []
    return [*said, *([f"No check is available, so the reviewer judges alone: {', '.join(left)}"] if left else [])]
