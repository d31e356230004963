"""Which scripts are tests, as the runners find them."""

from __future__ import annotations

import re
from collections.abc import Sequence

_TEST = re.compile(r"(?:^|/)(?:[^/]+[._-](?:test|spec)|test|test-[^/]+|[^/]+_test)\.[cm]?[jt]sx?$")
_FOLDERS = frozenset({"test", "tests", "__tests__", "__mocks__", "spec", "e2e"})
_NAMED = re.compile(r"(?:^|[_-])(?:tests?|specs?)(?:$|[_.-])")
_SETUP = re.compile(
    r"(?:^|/)(?:(?:vitest|jest|test|mocha)[._-]?(?:global)?[._-]?setup|setup(?:Files|Tests|-tests|\.tests?)|test-utils)"
    r"\.[cm]?[jt]sx?$",
    re.IGNORECASE,
)


def is_test_file(path: str) -> bool:
    """True for files in which the runners look for tests by their own patterns."""
    return _TEST.search(path) is not None


def is_setup(path: str) -> bool:
    """True for files that are loaded before the tests by convention."""
    return _SETUP.search(path) is not None


def is_test(path: str, told: Sequence[str] = ()) -> bool:
    """True for what the runners would run or load as part of the suite, and for all that lies in folders of tests.

    `told` are the folders and files that the runner is told to run; one that holds code and tests side by side says
    nothing about its files.
    """
    if is_test_file(path) or is_setup(path) or path.startswith("tests/"):
        return True
    folders = [one.removeprefix("./").rstrip("/") for one in told]
    named = [one for one in folders if _NAMED.search(one.rpartition("/")[2].lower()) or is_test_file(one)]
    if any(path == one or path.startswith(f"{one}/") for one in named):
        return True
    inside = not folders or len(named) < len(folders)
    return inside and bool(_FOLDERS & set(path.split("/")[:-1]))
