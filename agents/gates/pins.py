"""Which packages, in which exact versions, the files of a project name."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement

_REMARK = re.compile(r"(?:^|\s)#.*|\s--.*")  # a comment, or options behind a requirement
_ADDRESS = re.compile(r"^(?!--?(?:i|f|index-url|extra-index-url|find-links|trusted-host)\b).*(?:://|\b\w+\+\w+@)")
_REQUIREMENTS = re.compile(
    r"^(?:.*/)?(?:[\w.-]*(?:requirements|constraints)[\w.-]*\.(?:txt|in|pip|lock)|requirements/[\w.-]+\.(?:txt|in))$"
)
_PYLOCK = re.compile(r"^pylock\.[^.]+\.toml$")
_TABLE_EXACT = re.compile(r"(?:={2,3})?\s*(\d[\w.+!-]*)")
_EXACT = re.compile(r"^[=v\s]*(\d+\.\d+\.\d+[\w.+-]*)$")
_PLAIN = re.compile(r"@?\w[\w.+!-]*(?:/[\w.-]+)?")  # a name or a version; findings repeat nothing else
_ALIAS = re.compile(r"^npm:(@?[^@]+)@(.+)$")
_YARN_ENTRY = re.compile(r'"?(@?[^@"\s]+)@([^",]*).*:$')
_YARN_VERSION = re.compile(r'  "?version"?:? "?([^"\s]+)"?$')
_PNPM = re.compile(r"^ +['\"]?/?((?:@[^@/'\"\s]+/)?[^@/'\"\s]+)[@/](\d[^:('\"\s]*)", re.MULTILINE)
_OTHER_ECOSYSTEMS = frozenset(
    "cargo.lock composer.lock gemfile.lock go.mod pom.xml mix.lock pubspec.lock packages.lock.json bun.lock "
    "environment.yml environment.yaml conda-lock.yml".split()
)
_SECTIONS = ("dependencies", "devDependencies", "optionalDependencies", "peerDependencies", "overrides", "resolutions")
_NPM_ADDRESS = re.compile(r"^(?!(?:npm|file|link|workspace|portal|patch|catalog):|[.~/])(?:[\w+.@-]+:|[\w.-]+/\w)")
_OWN_CODE = ("workspace:", "link:", "portal:", "file:")
_FETCHED = ("git", "vcs", "archive")
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
    """What one file names: exact versions, packages that have none, and what comes from no index.

    `loose` and `elsewhere` have no version; a name that is not plain is left out.
    """

    pins: list[Pin] = field(default_factory=list)
    loose: list[Pin] = field(default_factory=list)
    elsewhere: list[Pin] = field(default_factory=list)

    def add(self, pin: Pin) -> None:
        """Sort one package in."""
        name = pin.name if _PLAIN.fullmatch(pin.name) else ""
        if name and _PLAIN.fullmatch(pin.version):
            self.pins.append(pin)
        elif name and not pin.version:
            self.loose.append(pin)
        else:  # an address, whose content may be another one tomorrow
            self.elsewhere.append(replace(pin, name=name, version=""))


def is_dependency_file(path: str, text: bytes = b"") -> bool:
    """Whether a file names packages: by its name, or a text file that reads like requirements."""
    if _file_name(path) in _READERS or _REQUIREMENTS.match(path.lower()):
        return True
    if not path.lower().endswith((".txt", ".in")) or len(text) > 500_000:
        return False
    pinned = False
    for _, row in _logical_lines(text.decode("utf-8-sig", "replace")):
        wanted = None if row.startswith("-") else _requirement(row)
        if wanted is None and not row.startswith("-") and not _ADDRESS.match(row):
            return False
        pinned = pinned or bool(wanted and wanted[1])
    return pinned


def is_of_another_ecosystem(path: str) -> bool:
    """Whether a file names packages about which no source of advisories is asked."""
    return _file_name(path) in _OTHER_ECOSYSTEMS


def read_dependencies(path: str, data: bytes) -> Dependencies:
    """Read a dependency file. Raises ValueError for a broken one."""
    text = data.decode("utf-8-sig", "replace")
    reader = _READERS.get(_file_name(path), _requirements)
    found = Dependencies()
    try:
        for pin in dict.fromkeys(reader(text, _Lines(text))):
            found.add(pin)
    except (TypeError, AttributeError, LookupError, RecursionError) as error:
        raise ValueError(f"not a dependency file ({type(error).__name__})") from None
    return found


def _file_name(path: str) -> str:
    return _PYLOCK.sub("pylock.toml", PurePosixPath(path.lower()).name)


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
        remark = line.lstrip().startswith("#")  # ends a requirement, and goes on nowhere
        begun, first = f"{begun} {line}" if remark else begun + line, first or number
        if line.endswith("\\") and not remark:
            begun = begun.removesuffix("\\")
            continue
        if row := _REMARK.sub("", begun).strip():
            yield first, row
        first, begun = 0, ""


def _requirement(text: str) -> tuple[str, str] | None:
    """Name and exact version or address of a requirement, "" where it allows several; None for what is not one."""
    try:
        wanted = Requirement(text)
    except InvalidRequirement:
        return None
    except RecursionError:  # pip may get further
        return "", text
    exact = [one.version for one in wanted.specifier if one.operator in ("==", "===") and one.version[-2:] != ".*"]
    return wanted.name, exact[0] if exact else wanted.url or ""


def _requirements(text: str, lines: _Lines) -> Iterator[Pin]:
    for number, row in _logical_lines(text):
        if wanted := _requirement(row):
            yield Pin("PyPI", *wanted, number)
        elif _ADDRESS.match(row):
            yield Pin("PyPI", "", row, number)


def _npm_lock(text: str, lines: _Lines) -> Iterator[Pin]:
    document = json.loads(text)
    for place, entry in document.get("packages", {}).items() or _nested(document.get("dependencies", {})):
        name = str(entry.get("name") or place.rpartition("node_modules/")[2])
        version, resolved = entry.get("version"), str(entry.get("resolved", ""))
        if not name or "node_modules/" not in place or entry.get("link") or not isinstance(version, str):
            continue
        if alias := _ALIAS.match(version):
            name, version = alias[1], alias[2]
        licence = entry.get("license") if isinstance(entry.get("license"), str) else ""
        file = f"{name.rpartition('/')[2]}-{version.partition('+')[0]}.tgz"
        if "/-/" in resolved and resolved.endswith(".tgz") and not resolved.endswith(f"/{file}"):
            version = resolved  # the file decides what is installed
        yield Pin("npm", name, version, lines.of(f'"{place}": {{', f'"{name}": {{'), licence)


def _nested(entries: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The packages of a lock file in its first format, where those of a package stand in it."""
    for name, entry in entries.items():
        yield f"node_modules/{name}", entry
        yield from _nested(entry.get("dependencies") or {})


def _manifest(text: str, lines: _Lines) -> Iterator[Pin]:
    document = json.loads(text)
    for section in _SECTIONS:
        yield from _wanted(document.get(section) or {}, lines)


def _overridden(key: str) -> str:
    """The package that a key of overrides is about: "a/**/b" and "a>b@1" are about b."""
    *above, last = key.rpartition(">")[2].split("/")
    name = last.partition("@")[0]
    return f"{above[-1]}/{name}" if above and above[-1].startswith("@") else name


def _wanted(section: Mapping[str, Any], lines: _Lines, above: str = "") -> Iterator[Pin]:
    for key, wanted in section.items():
        if isinstance(wanted, dict):
            yield from _wanted(wanted, lines, key)
            continue
        plain = _overridden(above if key == "." else key)
        text = str(wanted).strip()
        alias = _ALIAS.match(text)
        name, version = (alias[1], alias[2]) if alias else (plain, text)
        line = lines.of(f'"{key}": "{wanted}"')
        if exact := _EXACT.match(version):
            yield Pin("npm", name, exact[1], line)
        elif _NPM_ADDRESS.match(version):
            yield Pin("npm", name, version, line)


def _pyproject(text: str, lines: _Lines) -> Iterator[Pin]:
    document = tomllib.loads(text)
    project, tools = document.get("project", {}), document.get("tool", {})
    uv, poetry = tools.get("uv", {}), tools.get("poetry", {})
    groups = [project.get("dependencies", []), *project.get("optional-dependencies", {}).values()]
    groups += [*document.get("dependency-groups", {}).values(), document.get("build-system", {}).get("requires", [])]
    groups += [uv.get(f"{kind}-dependencies", []) for kind in ("dev", "constraint", "override", "build-constraint")]
    groups += tools.get("pdm", {}).get("dev-dependencies", {}).values()
    for wanted in (one for group in groups for one in group if isinstance(one, str)):
        if (pin := _requirement(wanted)) and pin[1]:
            yield Pin("PyPI", *pin, lines.of(f'"{wanted}"', f"'{wanted}'"))
    for source in (poetry, *poetry.get("group", {}).values()):
        for kind in ("dependencies", "dev-dependencies"):
            yield from _table(source.get(kind, {}), lines)


def _pipfile(text: str, lines: _Lines) -> Iterator[Pin]:
    for section, packages in tomllib.loads(text).items():
        if section not in ("source", "requires", "scripts", "pipenv"):
            yield from _table(packages, lines)


def _table(packages: Mapping[str, Any], lines: _Lines) -> Iterator[Pin]:
    """Poetry and Pipenv write a package as a key, with its version or a table, or one table for each platform."""
    for name, given in packages.items():
        for one in given if isinstance(given, list) else [given]:
            told = one if isinstance(one, dict) else {"version": one}
            line = lines.of(f'{name} = "{one}"', f"{name} =", f'"{name}"')
            if address := told.get("git") or told.get("url") or told.get("file"):
                yield Pin("PyPI", name, str(address), line)
            elif name != "python" and (exact := _TABLE_EXACT.fullmatch(str(told.get("version", "")).strip())):
                yield Pin("PyPI", name, exact[1], line)


def _python_lock(text: str, lines: _Lines) -> Iterator[Pin]:
    document = tomllib.loads(text)
    for entry in document.get("package") or document.get("packages") or ():
        source = entry.get("source")
        told = {**entry, **source} if isinstance(source, dict) else entry
        if entry.get("version") and told.get("type") != "directory" and not any(key in told for key in _LOCAL):
            name = str(entry["name"])
            fetched = next((told[key] for key in _FETCHED if key in told), "")
            if told.get("type", "url") in ("git", "url"):  # else the address of an index
                fetched = fetched or told.get("url")
            yield Pin("PyPI", name, str(fetched or entry["version"]), lines.of(f'name = "{name}"'))


def _pipfile_lock(text: str, lines: _Lines) -> Iterator[Pin]:
    document = json.loads(text)
    for name, entry in (item for part in ("default", "develop") for item in document.get(part, {}).items()):
        if version := str(entry.get("version", "")).lstrip("="):
            yield Pin("PyPI", name, version, lines.of(f'"{name}": {{'))


def _yarn_lock(text: str, lines: _Lines) -> Iterator[Pin]:
    entry, first = None, 0
    for number, row in enumerate(text.splitlines(), 1):
        if row[:1] not in ("", " ", "#"):
            entry, first = _YARN_ENTRY.match(row) if row.endswith(":") else None, number
        elif entry and (version := _YARN_VERSION.match(row)) and not entry[2].startswith(_OWN_CODE):
            alias = _ALIAS.match(entry[2])
            fetched = _NPM_ADDRESS.match(entry[2])
            yield Pin("npm", alias[1] if alias else entry[1], entry[2] if fetched else version[1], first)


def _pnpm_lock(text: str, lines: _Lines) -> Iterator[Pin]:
    for found in _PNPM.finditer(text):
        yield Pin("npm", found[1], found[2], text.count("\n", 0, found.start()) + 1)


_READERS: Mapping[str, Callable[[str, Any], Iterator[Pin]]] = {
    "package-lock.json": _npm_lock,
    "npm-shrinkwrap.json": _npm_lock,
    "package.json": _manifest,
    "yarn.lock": _yarn_lock,
    "pnpm-lock.yaml": _pnpm_lock,
    "pyproject.toml": _pyproject,
    "uv.lock": _python_lock,
    "poetry.lock": _python_lock,
    "pdm.lock": _python_lock,
    "pylock.toml": _python_lock,
    "pipfile": _pipfile,
    "pipfile.lock": _pipfile_lock,
}
