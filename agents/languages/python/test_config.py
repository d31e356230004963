"""Files that would decide which tests run, or what their result is: not the coder's to write.

A coder that cannot make a test pass, or obeys something that it read, could leave it out instead.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence

_NAMES = frozenset(
    (
        "conftest.py pytest.ini .pytest.ini tox.ini setup.cfg pytest.toml .pytest.toml sitecustomize.py "
        "usercustomize.py .coveragerc pytest.py coverage.py"
    ).split()
)
_FOLDERS = frozenset({"pytest", "_pytest", "pluggy", "coverage", "pytest_cov", "hypothesis"})
# Of [tool.pytest.ini_options]: these say where things are, the others what is left out.
_HARMLESS = frozenset({"testpaths", "pythonpath", "minversion"})

_TEST = re.compile(r"(?:^|/)(?:test_[^/]*|[^/]*_test)\.py$")
_NAMED = re.compile(r"(?:^|[_-])test(?:s|ing)?(?:$|[_.-])")
_TEST_FOLDERS = frozenset({"test", "tests"})


def is_test_file(path: str) -> bool:
    """True for files in which pytest looks for tests, by its own patterns."""
    return _TEST.search(path) is not None


def is_collected(path: str) -> bool:
    """True for files that pytest itself imports: test files, and `conftest.py`."""
    return is_test_file(path) or path.rpartition("/")[2] == "conftest.py"


def is_test(path: str, told: Sequence[str] = ()) -> bool:
    """True for what pytest would collect or load as part of the suite, and for all that lies in folders of tests.

    `told` are the folders that pytest is told to run. One that holds code and tests side by side says nothing about the
    files in it; a package that is called `test` outside of them is code.
    """
    if is_collected(path):
        return True
    folders = [one.removeprefix("./").rstrip("/") for one in told]
    named = [one for one in folders if _NAMED.search(one.rpartition("/")[2].lower())]
    if any(path == one or path.startswith(f"{one}/") for one in named):
        return True
    if path.startswith("tests/"):
        return True
    inside = not folders or len(named) < len(folders)
    return inside and bool(_TEST_FOLDERS & set(path.split("/")[:-1]))


def steers_tests(path: str, text: str, old: str = "") -> str:
    """Why the coder may not write this file; empty when it may."""
    parts = path.lower().split("/")
    if parts[-1] in _NAMES or parts[-1].endswith(".pth") or parts[0] in _FOLDERS:
        return "it would decide how the tests run; do without it"
    if parts[-1] == "pyproject.toml":
        return _pyproject(text)
    return ""


def _pyproject(text: str) -> str:
    try:
        tool = tomllib.loads(text).get("tool", {})
    except (tomllib.TOMLDecodeError, RecursionError):
        return "it is not valid TOML"
    options = tool.get("pytest", {}) if isinstance(tool, Mapping) else {}
    options = options.get("ini_options", options) if isinstance(options, Mapping) else {"?": ""}
    if not isinstance(options, Mapping) or set(options) - _HARMLESS:
        return "its [tool.pytest] would decide which tests run; leave out all but testpaths, pythonpath and minversion"
    paths = options.get("testpaths", ["tests"])
    if (paths if isinstance(paths, list) else [paths]) != ["tests"]:
        return "testpaths must be the folder tests, where the tests are"
    if isinstance(tool, Mapping) and "coverage" in tool:
        return "its [tool.coverage] would decide what is measured; leave it out"
    return ""
