"""What a Python repository declares about itself: name, version, dependencies, options of pytest.

Its files are read as data: no build backend, no setup.py and no configuration code is ever run.
"""

from __future__ import annotations

import ast
import configparser
import contextlib
import re
import shlex
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from email.parser import HeaderParser
from typing import Any

from packaging.markers import UndefinedComparison, UndefinedEnvironmentName
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from agents.languages.layouts import Reader
from agents.languages.python import syntax

TEST_GROUPS = frozenset("test tests testing dev develop development unittest unittests pytest check".split())
_TEST_FILE = re.compile(r"test|dev", re.IGNORECASE)
_VERSION = re.compile(r"""^__version__\s*(?::\s*\w+\s*)?=\s*["']([^"']+)["']""", re.MULTILINE)
UNKNOWN_VERSION = "0.0.0"


@dataclass
class Declared:
    """Of one repository. `tests` are requirement lines of its groups, extras and files for tests."""

    name: str = ""
    version: str = ""
    runtime: str = ""
    dependencies: list[str] = field(default_factory=list)
    tests: list[str] = field(default_factory=list)
    groups: dict[str, list[str]] = field(default_factory=dict)  # its extras and dependency groups
    roots: list[str] = field(default_factory=list)  # folders of packages, where they are named
    pytest: dict[str, Any] = field(default_factory=dict)
    configuration: str = ""  # the file with these options of pytest
    generated: list[str] = field(default_factory=list)  # files with the version that a build writes
    asks_git: bool = False

    def add(self, given: Mapping[str, Any]) -> None:
        """Take over what one file says, under the names of the arguments of setup(); what came first stays."""
        self.name = self.name or str(given.get("name", ""))
        version = str(given.get("version", ""))
        self.version = self.version or ("" if ":" in version else version)  # "attr: …" names a place
        self.runtime = self.runtime or str(given.get("python_requires", ""))
        self.dependencies += _strings(given.get("install_requires"))
        self.tests += _strings(given.get("tests_require"))
        self.roots += [*_strings(given.get("where")), *_strings([*_table(given, "package_dir").values()])]
        for name, lines in _table(given, "extras_require").items():
            self.groups.setdefault(str(name), []).extend(_strings(lines))


def read_declared(paths: Sequence[str], read: Reader) -> Declared:
    """All that its files say; what cannot be read counts as not there."""
    found = Declared()
    pyproject, setup_cfg, tox = _toml(read("pyproject.toml")), _ini(read("setup.cfg")), _ini(read("tox.ini"))
    for given in (_project(pyproject), _poetry(pyproject), _setup_cfg(setup_cfg), _setup_py(read("setup.py"))):
        found.add(given)
    _add_package_info(found, paths, read)
    extras = dict(found.groups)
    found.groups |= _groups(_table(pyproject, "dependency-groups"))
    found.tests += [line for name, lines in found.groups.items() if name.lower() in TEST_GROUPS for line in lines]
    _add_requirement_files(found, paths, read)
    found.tests += _tox_lines(_table(tox, "testenv"), read, found.groups)
    found.tests = _resolved(found.name, found.tests, extras)
    found.configuration, found.pytest = _pytest_options(read, pyproject, tox, setup_cfg)
    _add_scm(found, pyproject, read("setup.py"))
    found.version = found.version or _written_version(paths, read)
    return found


def _toml(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        return {}


def _ini(text: str) -> dict[str, dict[str, str]]:
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        parser.read_string(text)
    except configparser.Error:
        return {}
    return {name: dict(parser.items(name)) for name in parser.sections()}


def _table(value: Any, *keys: str) -> dict[str, Any]:
    """A table below these keys; empty when one of them is missing or no table."""
    for key in keys:
        value = value.get(key, {}) if isinstance(value, Mapping) else {}
    return dict(value) if isinstance(value, Mapping) else {}


def _strings(value: Any) -> list[str]:
    """A list of strings, or the lines of one string."""
    if isinstance(value, str):
        return [line.strip() for line in value.splitlines() if line.strip()]
    return [one for one in value if isinstance(one, str)] if isinstance(value, list | tuple) else []


def _project(pyproject: Mapping[str, Any]) -> dict[str, Any]:
    project, setuptools = _table(pyproject, "project"), _table(pyproject, "tool", "setuptools")
    return {
        **project,
        "python_requires": project.get("requires-python", ""),
        "install_requires": project.get("dependencies"),
        "extras_require": project.get("optional-dependencies"),
        "where": _table(setuptools, "packages", "find").get("where"),
        "package_dir": setuptools.get("package-dir"),
    }


def _poetry(pyproject: Mapping[str, Any]) -> dict[str, Any]:
    poetry = _table(pyproject, "tool", "poetry")
    wanted = {name: spec for name, spec in _table(poetry, "dependencies").items() if name != "python"}
    groups = {name: [*_table(group, "dependencies")] for name, group in _table(poetry, "group").items()}
    packages = poetry.get("packages", [])
    return {
        **{name: poetry.get(name, "") for name in ("name", "version")},
        "install_requires": [name for name, spec in wanted.items() if not _table(spec).get("optional")],
        "extras_require": groups | {"dev": [*groups.get("dev", []), *_table(poetry, "dev-dependencies")]},
        "where": [_table(one).get("from") for one in packages] if isinstance(packages, list) else [],
    }


def _setup_cfg(sections: Mapping[str, Any]) -> dict[str, Any]:
    told = {
        name: text
        for part in ("metadata", "options", "options.packages.find")
        for name, text in _table(sections, part).items()
    }
    return told | {"extras_require": _table(sections, "options.extras_require")}


def _setup_py(text: str) -> dict[str, Any]:
    """The literal arguments of its call of setup()."""
    calls = (node for node in ast.walk(syntax.module(text)) if isinstance(node, ast.Call))
    call = next((one for one in calls if getattr(one.func, "attr", getattr(one.func, "id", "")) == "setup"), None)
    given: dict[str, Any] = {}
    for keyword in call.keywords if call else ():
        with contextlib.suppress(ValueError, TypeError, RecursionError):
            given[keyword.arg or ""] = ast.literal_eval(keyword.value)
    return given


def _add_package_info(found: Declared, paths: Iterable[str], read: Reader) -> None:
    """The metadata of a source distribution, which also holds what its build asked git or computed."""
    info = min((path for path in paths if path.endswith("PKG-INFO") and path.count("/") < 3), default="")
    headers = HeaderParser().parsestr(read(info) if info else "")
    groups: dict[str, list[str]] = {}
    for line in headers.get_all("Requires-Dist", []):
        extra = re.search(r"""extra\s*==\s*["']([^"']+)["']""", line)
        groups.setdefault(extra[1] if extra else "", []).append(line.split(";")[0] if extra else line)
    dependencies = groups.pop("", [])
    found.version = headers.get("Version", "") or found.version
    found.add(
        {
            "name": headers.get("Name", ""),
            "python_requires": headers.get("Requires-Python", ""),
            "install_requires": [] if found.dependencies else dependencies,
            "extras_require": {name: lines for name, lines in groups.items() if name not in found.groups},
        }
    )


def _groups(tables: Mapping[str, Any]) -> dict[str, list[str]]:
    """[dependency-groups] with the groups that they include."""

    def lines(name: str, above: frozenset[str]) -> Iterator[str]:
        rows = tables.get(name, [])
        for row in rows if isinstance(rows, list) and name not in above else []:
            if isinstance(row, str):
                yield row
            elif isinstance(row, Mapping) and isinstance(row.get("include-group"), str):
                yield from lines(row["include-group"], above | {name})

    return {name: list(lines(name, frozenset())) for name in tables}


def _add_requirement_files(found: Declared, paths: Iterable[str], read: Reader) -> None:
    for path in sorted(paths):
        folder, _, name = path.rpartition("/")
        listed = folder == "requirements" or (not folder and "requirements" in name)
        if not listed or not name.endswith((".txt", ".in")) or name.endswith(".lock.txt"):
            continue
        if name == "requirements.txt":
            found.dependencies += _lines_of(path, read)
        elif _TEST_FILE.search(name):
            found.tests += _lines_of(path, read)


def _lines_of(path: str, read: Reader, depth: int = 0) -> list[str]:
    """The requirement lines of a file and of those that it includes."""
    lines = []
    for raw in read(path).splitlines():
        line = raw.split(" #")[0].strip().rstrip("\\").strip()
        if included := re.match(r"(?:-r|--requirement)[ =]?\s*(\S+)$", line):
            if depth < 3 and not included[1].startswith(("/", "..")):
                folder = path.rpartition("/")[0]
                lines += _lines_of(f"{folder}/{included[1]}".lstrip("/"), read, depth + 1)
        elif line and not line.startswith(("#", "-")):
            lines.append(line)
    return lines


def _tox_lines(environment: Mapping[str, str], read: Reader, groups: Mapping[str, list[str]]) -> list[str]:
    lines = []
    for line in _strings(environment.get("deps")):
        if included := re.match(r"-r\s*(?:\{toxinidir\}/)?([^{}\s]+)$", line):
            lines += _lines_of(included[1], read)
        elif "{" not in line and not line.startswith("-"):
            lines.append(re.sub(r"^[\w,!.-]+:\s+", "", line))
    named = [name for key in ("extras", "dependency_groups") for name in _strings(environment.get(key))]
    return lines + [line for name in named for line in groups.get(name, [])]


def _resolved(own: str, lines: Iterable[str], extras: Mapping[str, list[str]]) -> list[str]:
    """The lines, with those of its own extras (`name[extra]`) in their place."""
    kept: list[str] = []
    seen: set[str] = set()
    waiting = list(lines)
    while waiting:
        line = waiting.pop(0)
        one = requirement(line)
        if one is None or canonicalize_name(one.name) != canonicalize_name(own):
            kept.append(line)
        elif new := one.extras - seen:
            seen |= new
            waiting += [more for extra in new for more in extras.get(extra, [])]
    return kept


def requirement(line: str) -> Requirement | None:
    """A requirement that applies on this machine and names no address; None for anything else."""
    try:
        found = Requirement(line)
        applies = found.marker is None or found.marker.evaluate({"extra": ""})
    except (InvalidRequirement, UndefinedComparison, UndefinedEnvironmentName):
        return None
    return found if applies and not found.url else None


def _pytest_options(
    read: Reader, pyproject: Mapping[str, Any], tox: Mapping[str, Any], setup_cfg: Mapping[str, Any]
) -> tuple[str, dict[str, Any]]:
    """The file that pytest itself would take, the first that has a section for it, and its options."""
    table = _table(pyproject, "tool", "pytest")
    places = {
        **{name: _toml(read(name)).get("pytest") for name in ("pytest.toml", ".pytest.toml")},
        **{name: _ini(read(name)).get("pytest") for name in ("pytest.ini", ".pytest.ini")},
        "pyproject.toml": (_table(table, "ini_options") or table) or None,
        "tox.ini": tox.get("pytest"),
        "setup.cfg": setup_cfg.get("tool:pytest"),
    }
    return next(((name, _table(one)) for name, one in places.items() if one is not None), ("", {}))


def words_of(option: Any) -> list[str]:
    """An option of pytest that is a list of words, however it was written."""
    if isinstance(option, str):
        try:
            return shlex.split(option, comments=True)
        except ValueError:
            return option.split()
    return _strings(option)


def _add_scm(found: Declared, pyproject: Mapping[str, Any], setup_py: str) -> None:
    """Where the version comes from git, and the file that a build would write it to."""
    tool = _table(pyproject, "tool")
    requires = " ".join(_strings(_table(pyproject, "build-system").get("requires", [])))
    asks = re.search(r"setuptools.scm|hatch-vcs|versioningit|git-versioning|setuptools.git|pdm-backend", requires)
    found.asks_git = asks is not None or "use_scm_version" in setup_py
    scm, hook = _table(tool, "setuptools_scm"), _table(tool, "hatch", "build", "hooks", "vcs")
    pdm = _table(tool, "pdm", "version")
    written = (scm.get("write_to"), scm.get("version_file"), hook.get("version-file"), pdm.get("write_to"))
    found.generated = [path for path in written if isinstance(path, str) and path.endswith(".py")]


def _written_version(paths: Iterable[str], read: Reader) -> str:
    """`__version__ = "…"` of its package."""
    likely = ("__init__.py", "_version.py", "version.py", "__about__.py", "__version__.py")
    places = sorted((path for path in paths if path.endswith(likely)), key=lambda path: (path.count("/"), path))
    said = (_VERSION.search(read(path)) for path in places[:20])
    return next((one[1] for one in said if one), "")
