"""Files that would decide which tests run, or what their result is: not the coder's to write.

A coder that cannot make a test pass, or obeys something that it read, could leave it out instead.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping

_NAMES = frozenset(
    (
        "conftest.py pytest.ini .pytest.ini tox.ini setup.cfg pytest.toml .pytest.toml sitecustomize.py "
        "usercustomize.py .coveragerc pytest.py coverage.py"
    ).split()
)
_FOLDERS = frozenset({"pytest", "_pytest", "pluggy", "coverage", "pytest_cov", "hypothesis"})
# Of [tool.pytest.ini_options]: these say where things are, the others what is left out.
_HARMLESS = frozenset({"testpaths", "pythonpath", "minversion"})


def steers_tests(path: str, text: str) -> str:
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
