"""What a Python repository declares about itself: name, version, dependencies, options of pytest.

Its files are read as data: no build backend, no setup.py and no configuration code is ever run.
"""

from __future__ import annotations

import ast
import configparser
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
    others: list[str] = field(default_factory=list)  # of its other extras and groups
    roots: list[str] = field(default_factory=list)  # folders of packages, where they are named
    pytest: dict[str, Any] = field(default_factory=dict)
    generated: list[str] = field(default_factory=list)  # files with the version that a build writes
    asks_git: bool = False


def read_declared(paths: Sequence[str], read: Reader) -> Declared:
    """All that its files say; what cannot be read counts as not there."""
    found = Declared()
    pyproject = _toml(read("pyproject.toml"))
    setup_cfg, tox = _ini(read("setup.cfg")), _ini(read("tox.ini"))
    extras: dict[str, list[str]] = {}
    _standard(found, pyproject, extras)
    _poetry(found, _table(pyproject, "tool", "poetry"), extras)
    _setup_cfg(found, setup_cfg, extras)
    _setup_py(found, read("setup.py"), extras)
    _package_info(found, paths, read, extras)
    groups = {**extras, **_groups(_table(pyproject, "dependency-groups"))}
    found.tests += [line for name, lines in groups.items() if name.lower() in TEST_GROUPS for line in lines]
    found.others = [line for lines in groups.values() for line in lines]
    _requirement_files(found, paths, read)
    found.tests += _tox_lines(tox, read, groups)
    found.tests = _resolved(found, found.tests, extras)
    found.pytest = _pytest_options(read, pyproject, tox, setup_cfg)
    _scm(found, pyproject, read("setup.py"))
    found.version = found.version or _written_version(paths, read)
    return found


def _toml(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        return {}


def _ini(text: str) -> configparser.ConfigParser:
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        parser.read_string(text)
    except configparser.Error:
        parser.clear()
    return parser


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


def _standard(found: Declared, pyproject: Mapping[str, Any], extras: dict[str, list[str]]) -> None:
    project = _table(pyproject, "project")
    found.name, found.version = str(project.get("name", "")), str(project.get("version", ""))
    found.runtime = str(project.get("requires-python", ""))
    found.dependencies += _strings(project.get("dependencies", []))
    extras |= {name: _strings(lines) for name, lines in _table(project, "optional-dependencies").items()}
    setuptools = _table(pyproject, "tool", "setuptools")
    found.roots += _strings(_table(setuptools, "packages", "find").get("where", []))
    found.roots += [root for root in _table(setuptools, "package-dir").values() if isinstance(root, str)]


def _poetry(found: Declared, poetry: Mapping[str, Any], extras: dict[str, list[str]]) -> None:
    found.name, found.version = (
        found.name or str(poetry.get("name", "")),
        found.version or str(poetry.get("version", "")),
    )
    wanted = _table(poetry, "dependencies")
    wanted.pop("python", "")
    found.dependencies += [name for name, spec in wanted.items() if not _table(spec).get("optional")]
    groups = {name: _table(group, "dependencies") for name, group in _table(poetry, "group").items()}
    groups["dev"] = groups.get("dev", {}) | _table(poetry, "dev-dependencies")
    for name, lines in groups.items():
        extras.setdefault(name, []).extend(lines)
    packages = poetry.get("packages", [])
    tables = packages if isinstance(packages, list) else []
    found.roots += [str(one["from"]) for one in tables if isinstance(one, Mapping) and "from" in one]


def _setup_cfg(found: Declared, parser: configparser.ConfigParser, extras: dict[str, list[str]]) -> None:
    found.name = found.name or parser.get("metadata", "name", fallback="")
    version = parser.get("metadata", "version", fallback="")
    found.version = found.version or ("" if ":" in version else version)
    found.runtime = found.runtime or parser.get("options", "python_requires", fallback="")
    found.dependencies += _strings(parser.get("options", "install_requires", fallback=""))
    found.tests += _strings(parser.get("options", "tests_require", fallback=""))
    found.roots += _strings(parser.get("options.packages.find", "where", fallback=""))
    if parser.has_section("options.extras_require"):
        for name, lines in parser.items("options.extras_require"):
            extras.setdefault(name, []).extend(_strings(lines))


def _setup_py(found: Declared, text: str, extras: dict[str, list[str]]) -> None:
    """The literal arguments of its call of setup()."""
    try:
        tree = syntax.parse(text)
    except syntax.UNREADABLE:
        return
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
    call = next((one for one in calls if getattr(one.func, "attr", getattr(one.func, "id", "")) == "setup"), None)
    given: dict[str, Any] = {}
    for keyword in call.keywords if call else ():
        try:
            given[keyword.arg or ""] = ast.literal_eval(keyword.value)
        except (ValueError, TypeError, RecursionError):
            continue
    found.name = found.name or str(given.get("name", ""))
    found.version = found.version or str(given.get("version", ""))
    found.runtime = found.runtime or str(given.get("python_requires", ""))
    found.dependencies += _strings(given.get("install_requires", []))
    found.tests += _strings(given.get("tests_require", []))
    found.roots += [root for root in _table(given, "package_dir").values() if isinstance(root, str)]
    for name, lines in _table(given, "extras_require").items():
        extras.setdefault(str(name), []).extend(_strings(lines))


def _package_info(found: Declared, paths: Iterable[str], read: Reader, extras: dict[str, list[str]]) -> None:
    """The metadata of a source distribution, which also holds what its build asked git or computed."""
    info = sorted(path for path in paths if path.endswith("PKG-INFO") and path.count("/") < 3)
    if not info:
        return
    headers = HeaderParser().parsestr(read(info[0]))
    found.name, found.version = found.name or headers.get("Name", ""), headers.get("Version", "") or found.version
    found.runtime = found.runtime or headers.get("Requires-Python", "")
    for line in headers.get_all("Requires-Dist", []):
        extra = re.search(r"""extra\s*==\s*["']([^"']+)["']""", line)
        if extra is None and not found.dependencies:
            found.dependencies.append(line)
        elif extra is not None and extra[1] not in extras:
            extras.setdefault(f"{extra[1]}", []).append(line.split(";")[0])


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


def _requirement_files(found: Declared, paths: Iterable[str], read: Reader) -> None:
    for path in sorted(paths):
        folder, _, name = path.rpartition("/")
        if folder not in ("", "requirements") or not name.endswith((".txt", ".in")) or name.endswith(".lock.txt"):
            continue
        if not folder and "requirements" not in name:
            continue
        plain = name == "requirements.txt"
        if plain or _TEST_FILE.search(name):
            (found.dependencies if plain else found.tests).extend(_lines_of(path, read))


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


def _tox_lines(tox: configparser.ConfigParser, read: Reader, groups: Mapping[str, list[str]]) -> list[str]:
    lines = []
    for line in _strings(tox.get("testenv", "deps", fallback="")):
        if included := re.match(r"-r\s*(?:\{toxinidir\}/)?([^{}\s]+)$", line):
            lines += _lines_of(included[1], read)
        elif "{" not in line and not line.startswith("-"):
            lines.append(re.sub(r"^[\w,!.-]+:\s+", "", line))
    named = [
        *_strings(tox.get("testenv", "extras", fallback="")),
        *_strings(tox.get("testenv", "dependency_groups", fallback="")),
    ]
    return lines + [line for name in named for line in groups.get(name, [])]


def _resolved(found: Declared, lines: Iterable[str], extras: Mapping[str, list[str]]) -> list[str]:
    """The lines, with those of its own extras (`name[extra]`) in their place."""
    kept: list[str] = []
    own = canonicalize_name(found.name)
    seen: set[str] = set()
    waiting = list(lines)
    while waiting:
        line = waiting.pop(0)
        one = requirement(line)
        if one is None or canonicalize_name(one.name) != own:
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
    read: Reader, pyproject: Mapping[str, Any], tox: configparser.ConfigParser, setup_cfg: configparser.ConfigParser
) -> dict[str, Any]:
    """From the file that pytest itself would take: the first that has a section for it."""
    for name in ("pytest.ini", ".pytest.ini"):
        if (own := _ini(read(name))).has_section("pytest"):
            return dict(own.items("pytest"))
    table = _table(pyproject, "tool", "pytest")
    if table:
        return _table(table, "ini_options") or table
    for parser, section in ((tox, "pytest"), (setup_cfg, "tool:pytest")):
        if parser.has_section(section):
            return dict(parser.items(section))
    return {}


def words_of(option: Any) -> list[str]:
    """An option of pytest that is a list of words, however it was written."""
    if isinstance(option, str):
        try:
            return shlex.split(option, comments=True)
        except ValueError:
            return option.split()
    return _strings(option)


def _scm(found: Declared, pyproject: Mapping[str, Any], setup_py: str) -> None:
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
    for path in sorted((path for path in paths if path.endswith(likely)), key=lambda path: (path.count("/"), path))[
        :20
    ]:
        if said := _VERSION.search(read(path)):
            return said[1]
    return ""
