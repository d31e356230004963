"""How failures of Python builds are repeated, and what would only make them quiet."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from agents.languages.base import BuildCheck
from agents.languages.layouts import Reader
from agents.languages.words import arguments_after

_FILE = re.compile(
    r"(?:^|/)(?:[\w.-]*requirements[\w.-]*|constraints)\.(?:txt|in)$|(?:^|/)requirements/[\w.-]+\.(?:txt|in)$"
)
_SILENT = re.compile(
    r"#\s*((?i:(?:ruff:\s*|flake8:\s*)?noqa)|ruff:\s*(?:disable|ignore|file-ignore)|(?:type|ty):\s*ignore"
    r"|pyright:\s*(?:ignore|basic|off)|mypy:\s*(?:ignore|disable|allow|no|follow)[-_][\w-]+"
    r"|pylint:\s*(?:disable[\w-]*|skip-file)"
    r"|pragma:\s*no (?:cover|branch)|nosec|nosemgrep|fmt:\s*(?:off|skip)|isort:\s*(?:skip\w*|off)|yapf:\s*disable)"
    r"|(mark\.(?:skip|skipif|xfail)|pytest\.(?:skip|xfail)|unittest\.(?:skip\w*|expectedFailure)|importorskip)"
)
_HASH = re.compile(r"\s+(--hash[=\s]\S+)")
_INDEX = re.compile(r"(?:^|/)(?:pip\.(?:conf|ini)|uv\.toml)$")  # they tell where packages come from
_FORMAT = frozenset({"format", "unformatted"})  # what old and new versions of ruff call it
_CONFIGURATION = re.compile(
    r"(?:^|/)(?:\.?ruff\.toml|\.?mypy\.ini|\.flake8|tox\.(?:ini|toml)|\.?pytest\.(?:ini|toml)|\.coveragerc|setup\.cfg"
    r"|\.?pylintrc(?:\.toml)?|pyrightconfig\.json|\.isort\.cfg|\.bandit|noxfile\.py)$"
)


def build_check(tool: str, kind: str, command: str, file: str, read: Reader) -> BuildCheck | None:
    """By the tool; a trace of a program names no command that could be repeated without knowing its input."""
    if tool in ("pip", "uv"):
        manifest = next((path for path in (file, "pyproject.toml", "requirements.txt") if pins(path, read(path))), "")
        return BuildCheck(manifest=manifest) if manifest else None
    if tool in ("pytest", "unittest"):
        return BuildCheck(tests=True)
    if tool == "mypy":
        return BuildCheck(("python", "-m", "mypy", *arguments_after(command, ["mypy"], ["."])), ("mypy",))
    if tool == "ruff":
        words = arguments_after(command, ["ruff"], ["format", "--check", "."] if kind in _FORMAT else ["check", "."])
        return BuildCheck(("ruff", *words), programs=("ruff",))
    if kind in ("SyntaxError", "IndentationError", "TabError"):
        return BuildCheck(("python", "-m", "compileall", *arguments_after(command, ["compileall"], ["-q", "."])))
    return None


def silenced(path: str, text: str) -> Counter[str]:
    """Comments that keep a check quiet, and marks that skip a test."""
    found = (one[1] or one[2] for one in _SILENT.finditer(text)) if path.endswith((".py", ".pyi")) else ()
    plain = (re.sub(r"(?i)noqa", "noqa", re.sub(r":\s*", ": ", one)) for one in found)
    return Counter(re.sub(r"\s+", " ", one) for one in plain)


def configures_checks(path: str, old: str, new: str) -> bool:
    """Files of the tools, and their tables in pyproject.toml."""
    if path.rpartition("/")[2] == "pyproject.toml":
        return bool(_table(old).get("tool", {}) != _table(new).get("tool", {}))
    return bool(_CONFIGURATION.search(path)) and old != new


def pins(path: str, text: str) -> dict[str, str]:
    """The lines of a requirements file, or of the dependencies, extras and groups of a pyproject.toml."""
    if path.rpartition("/")[2] == "pyproject.toml":
        found = dict(_named(_listed(text)))
        runtime = _dict(_table(text).get("project")).get("requires-python")
        return found | ({"": str(runtime)} if found and runtime is not None else {})
    return dict(_named([_HASH.sub("", line).strip() for line in _lines(text)])) if _FILE.search(path) else {}


def bound(path: str, text: str) -> list[tuple[str, str]]:
    """All lines of `pins` with their hashes, and the options of pip, which are named by their own text."""
    if _INDEX.search(path):
        return [(f"--{line}", line) for line in _lines(text) if line and not line.startswith((";", "["))]
    if path.rpartition("/")[2] == "pyproject.toml":
        return [*_named(_listed(text)), *(("", line) for name, line in pins(path, text).items() if not name)]
    lines = _lines(text) if _FILE.search(path) else []
    named = [
        (name, " ".join([line, *sorted(_HASH.findall(full))]))
        for full in lines
        for name, line in _named([_HASH.sub("", full).strip()])
    ]
    return named + [
        (line, line) for line in lines if line.startswith("-") and not line.startswith(("-e", "--editable"))
    ]


def _lines(text: str) -> list[str]:
    """Without comments, those that go on put together."""
    return [re.sub(r"(?:^|\s)#.*", "", line).strip() for line in re.sub(r"\\\r?\n", " ", text).splitlines()]


def _listed(text: str) -> list[str]:
    """The requirement lines of a pyproject.toml, whatever else stands in their place."""
    project = _dict(_table(text).get("project"))
    groups = [project.get("dependencies"), *_dict(project.get("optional-dependencies")).values()]
    groups += _dict(_table(text).get("dependency-groups")).values()
    return [line for lines in groups if isinstance(lines, list) for line in lines if isinstance(line, str)]


def _named(lines: list[str]) -> list[tuple[str, str]]:
    found = []
    for line in lines:
        try:
            found.append((str(canonicalize_name(Requirement(line).name)), line))
        except InvalidRequirement:
            continue  # an option, a comment, another file
    return found


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _table(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except ValueError:
        return {}
