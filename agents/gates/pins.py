"""Which packages, in which exact versions, the files of a project name."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement

_REMARK = re.compile(r"(?:^|\s)(?:#|--).*")  # a comment, or an option behind a requirement
_REQUIREMENTS = re.compile(
    r"^(?:.*/)?(?:[\w.-]*(?:requirements|constraints)[\w.-]*\.(?:txt|in)|requirements/[\w.-]+\.(?:txt|in))$"
)
_EXACT = re.compile(r"^[=v\s]*(\d+\.\d+\.\d+[\w.+-]*)$")
_PLAIN = re.compile(r"@?\w[\w.+!-]*(?:/[\w.-]+)?")  # a name or a version; findings repeat nothing else
_ALIAS = re.compile(r"^npm:(@?[^@]+)@(.+)$")
_YARN = re.compile(r'^"?(@?[^@"\s]+)@[^\n]*:\n\s+version:? "?([^"\s]+)"?', re.MULTILINE)
_PNPM = re.compile(r"^  ['\"]?/?((?:@[^@/'\"\s]+/)?[^@/'\"\s]+)[@/](\d[^:('\"\s]*)", re.MULTILINE)
_SECTIONS = ("dependencies", "devDependencies", "optionalDependencies", "peerDependencies")
_LOCAL = ("editable", "virtual", "directory", "path")  # where uv and poetry keep the project's own code


@dataclass(frozen=True, slots=True)
class Pin:
    """A package in one version, and the line that says so; `licence` is what a lock file says about it."""

    ecosystem: str  # as OSV calls it
    name: str
    version: str
    line: int
    licence: str = ""


@dataclass(slots=True)
class Dependencies:
    """What one file names: exact versions, and packages that have none."""

    pins: list[Pin] = field(default_factory=list)
    loose: list[tuple[str, int]] = field(default_factory=list)


def is_dependency_file(path: str, text: bytes = b"") -> bool:
    """Whether a file names packages: by its name, or a text file that reads like requirements."""
    name = PurePosixPath(path.lower()).name
    if name in _READERS or _REQUIREMENTS.match(path.lower()):
        return True
    if not name.endswith((".txt", ".in")) or len(text) > 500_000:
        return False
    pinned = False
    for _, row in _logical_lines(text.decode("utf-8-sig", "replace")):
        wanted = ("", "") if row.startswith("-") else _requirement(row)
        if wanted is None:
            return False
        pinned = pinned or bool(wanted[1])
    return pinned


def read_dependencies(path: str, data: bytes) -> Dependencies:
    """Read a dependency file. Raises ValueError (or a TypeError, AttributeError, RecursionError) for a broken one."""
    text = data.decode("utf-8-sig", "replace")
    if (reader := _READERS.get(PurePosixPath(path.lower()).name)) is None:
        return _requirements(text)
    found = Dependencies()
    for pin in dict.fromkeys(reader(text, _Lines(text))):
        if _PLAIN.fullmatch(pin.name) and _PLAIN.fullmatch(pin.version):
            found.pins.append(pin)
        elif _PLAIN.fullmatch(pin.name):
            found.loose.append((pin.name, pin.line))  # an address, whose content may be another one tomorrow
    return found


class _Lines:
    """Where things are written in a text."""

    def __init__(self, text: str) -> None:
        self._all = text.splitlines()
        self._known: dict[str, int] = {}
        for number, line in enumerate(self._all, 1):
            self._known.setdefault(line.strip().rstrip(","), number)

    def of(self, *marks: str) -> int:
        """The first line that is one of the marks, else the first that contains one; 1 when none does."""
        if found := next((self._known[mark] for mark in marks if mark in self._known), 0):
            return found
        rows = enumerate(self._all if len(self._all) < 5_000 else (), 1)
        return next((number for number, row in rows if any(mark in row for mark in marks)), 1)


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines as pip reads them, without remarks and with what a backslash continues; each with its number."""
    first, begun = 0, ""
    for number, line in enumerate([*text.splitlines(), ""], 1):
        begun, first = begun + line, first or number
        if line.endswith("\\"):
            begun = begun.removesuffix("\\")
            continue
        if row := _REMARK.sub("", begun).strip():
            yield first, row
        first, begun = 0, ""


def _requirement(text: str) -> tuple[str, str] | None:
    """Name and exact version of a requirement, "" where it allows several; None for what is not one."""
    try:
        wanted = Requirement(text)
    except InvalidRequirement:
        return None
    exact = [one.version for one in wanted.specifier if one.operator in ("==", "===") and one.version[-2:] != ".*"]
    return wanted.name, exact[0] if exact else ""


def _requirements(text: str) -> Dependencies:
    found = Dependencies()
    for number, row in _logical_lines(text):
        if wanted := _requirement(row):
            name, version = wanted
            if version:
                found.pins.append(Pin("PyPI", name, version, number))
            else:
                found.loose.append((name, number))
    return found


def _npm_lock(text: str, lines: _Lines) -> Iterator[Pin]:
    document = json.loads(text)
    entries = list(document.get("packages", {}).items()) or list(document.get("dependencies", {}).items())
    for place, entry in entries:
        name = str(entry.get("name") or place.rpartition("node_modules/")[2])
        outside = "node_modules/" in place or not document.get("packages")
        if name and outside and not entry.get("link") and isinstance(entry.get("version"), str):
            licence = entry.get("license") if isinstance(entry.get("license"), str) else ""
            yield Pin("npm", name, entry["version"], lines.of(f'"{place}": {{'), licence)


def _manifest(text: str, lines: _Lines) -> Iterator[Pin]:
    document = json.loads(text)
    for section in _SECTIONS:
        for key, wanted in (document.get(section) or {}).items():
            alias = _ALIAS.match(str(wanted))
            name, version = (alias[1], alias[2]) if alias else (key, str(wanted))
            if exact := _EXACT.match(version):
                yield Pin("npm", name, exact[1], lines.of(f'"{key}": "{wanted}"'))


def _pyproject(text: str, lines: _Lines) -> Iterator[Pin]:
    document = tomllib.loads(text)
    project = document.get("project", {})
    groups = [project.get("dependencies", []), *project.get("optional-dependencies", {}).values()]
    groups += [*document.get("dependency-groups", {}).values(), document.get("build-system", {}).get("requires", [])]
    for wanted in (one for group in groups for one in group if isinstance(one, str)):
        if (pin := _requirement(wanted)) and pin[1]:
            yield Pin("PyPI", *pin, lines.of(f'"{wanted}"', f"'{wanted}'"))


def _python_lock(text: str, lines: _Lines) -> Iterator[Pin]:
    document = tomllib.loads(text)
    for entry in document.get("package") or document.get("packages") or ():
        source = entry.get("source")
        local = isinstance(source, dict) and (any(key in source for key in _LOCAL) or source.get("type") == "directory")
        if entry.get("version") and not local:
            name = str(entry["name"])
            yield Pin("PyPI", name, str(entry["version"]), lines.of(f'name = "{name}"'))


def _pipfile_lock(text: str, lines: _Lines) -> Iterator[Pin]:
    document = json.loads(text)
    for name, entry in (item for part in ("default", "develop") for item in document.get(part, {}).items()):
        if version := str(entry.get("version", "")).lstrip("="):
            yield Pin("PyPI", name, version, lines.of(f'"{name}": {{'))


def _by_pattern(pattern: re.Pattern[str]) -> Callable[[str, _Lines], Iterator[Pin]]:
    def read(text: str, lines: _Lines) -> Iterator[Pin]:
        for found in pattern.finditer(text):
            yield Pin("npm", found[1], found[2], text.count("\n", 0, found.start()) + 1)

    return read


_READERS: Mapping[str, Callable[[str, Any], Iterator[Pin]]] = {
    "package-lock.json": _npm_lock,
    "npm-shrinkwrap.json": _npm_lock,
    "package.json": _manifest,
    "yarn.lock": _by_pattern(_YARN),
    "pnpm-lock.yaml": _by_pattern(_PNPM),
    "pyproject.toml": _pyproject,
    "uv.lock": _python_lock,
    "poetry.lock": _python_lock,
    "pdm.lock": _python_lock,
    "pylock.toml": _python_lock,
    "pipfile.lock": _pipfile_lock,
}
