"""How a Python repository is laid out, and how its tests are run in the sandbox."""

from __future__ import annotations

import fnmatch
import re
import shlex
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePosixPath

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import canonicalize_name

from agents.languages.layouts import Reader, RepositoryLayout
from agents.languages.python.declared import UNKNOWN_VERSION, Declared, read_declared, requirement, words_of
from agents.languages.python.packages import DEVELOPMENT, imports_of, local_modules
from agents.languages.python.test_config import is_collected, is_test, is_test_file
from sandbox.import_names import distribution_for
from sandbox.package_index.names import base_packages
from sandbox.test_setup import TestSetup

_FOLDERS = frozenset({"tests", "test", "testing"})
_SINGLE = ("tests.py", "test.py")  # a small project's one file
# Folders whose files are no part of the suite, unless pytest is told so.
_ASIDE = frozenset(
    "docs doc examples example benchmark benchmarks bench build dist scripts tools vendor _vendor".split()
)
# Options of pytest that would hide failures, or that belong to plugins which only decorate or distribute a run.
_DROPPED = re.compile(
    r"-n\d*|-x|--(?:numprocesses|dist|maxprocesses|cov|no-cov|randomly|benchmark|codspeed|mypy|flake8|black|ruff|isort"
    r"|exitfirst|maxfail|last-failed|lf|failed-first|ff|nf|new-first|cache|stepwise|sw|strict-config|instafail|sugar"
    r"|html|reruns|junit)(?:[-=].*)?"
)
_WITH_VALUE = re.compile(
    r"-n|--(?:numprocesses|dist|maxprocesses|cov|cov-report|cov-config|cov-fail-under|maxfail|junitxml)"
)
_DECORATION = frozenset(
    "xdist cov randomly sugar codspeed mypy-plugins mypy flake8 black ruff isort html instafail rerunfailures".split()
)
_SIGNS = {"pytest-mock": "mocker", "pytest-datafiles": "datafiles", "pytest-httpserver": "httpserver"}  # their fixtures
_ENOUGH = 4000  # files whose imports are read


def layout_of(paths: Sequence[str], read: Reader) -> RepositoryLayout:
    """The layout of these files; paths in it are relative to the same folder."""
    declared = read_declared(paths, read)
    roots = _source_roots(paths, declared)
    tests = _test_paths(paths, declared)
    files = [path for path in paths if path.endswith(".py")]
    below = [path for path in files if _below(path, tests) and is_test(path, tests)]
    conftests = [path for path in files if PurePosixPath(path).name == "conftest.py"]
    helpers = [path for path in below if not _holds_tests(path) and not path.endswith("__init__.py")]
    needed, useful = _packages(files, list(dict.fromkeys([*below, *conftests])), roots, declared, read)
    return RepositoryLayout(
        language="python",
        style="src" if "src" in roots else "flat",
        source_roots=tuple(roots or [""]),
        test_paths=tuple(tests),
        conftests=tuple(conftests),
        helpers=tuple(helpers),
        runtime=declared.runtime,
        needed=tuple(needed),
        useful=tuple(useful),
        setup=_setup(paths, roots, tests, declared),
        problem=_problem(tests, declared),
    )


def _problem(tests: Sequence[str], declared: Declared) -> str:
    here = ".".join(map(str, sys.version_info[:3]))
    try:
        fits = SpecifierSet(declared.runtime).contains(here, prereleases=True)
    except InvalidSpecifier:
        fits = True
    if not fits:
        return f"It needs Python {declared.runtime}; the sandbox has {here}."
    if canonicalize_name(declared.name) in ("pytest", "pluggy", "iniconfig"):
        return f"{declared.name} is a part of the test runner itself: the sandbox would test its own copy."
    return "" if tests else "No test files were found (test_*.py or *_test.py)."


def _source_roots(paths: Sequence[str], declared: Declared) -> list[str]:
    """Folders besides the repository's own that hold its packages."""
    named = [root.strip("./") for root in declared.roots]
    named += [root.strip("./") for root in words_of(declared.pytest.get("pythonpath", []))]
    if any(re.match(r"src/[^/]+(?:/__init__)?\.pyi?$|src/[^/]+/[^/]+\.py$", path) for path in paths):
        named.append("src")
    return [root for root in dict.fromkeys(named) if root and any(path.startswith(f"{root}/") for path in paths)]


def _test_paths(paths: Sequence[str], declared: Declared) -> list[str]:
    """What pytest is told to run; else the folders that hold tests."""
    folders = {str(parent) for path in paths for parent in PurePosixPath(path).parents} | set(paths)
    found = []
    for told in words_of(declared.pytest.get("testpaths", [])):
        pattern = told.removeprefix("./").rstrip("/") or "."
        alike = [one for one in folders if one.count("/") == pattern.count("/")]  # `*` is one folder's name
        found += sorted(fnmatch.filter(alike, pattern))
    if found:
        return list(dict.fromkeys(found))
    for path in paths:
        parts = PurePosixPath(path).parts
        if is_test_file(path) and not _ASIDE & set(parts[:-1]):
            at = next((at for at, part in enumerate(parts[:-1]) if part in _FOLDERS), None)
            found.append("/".join(parts[: at + 1]) if at is not None else str(PurePosixPath(path).parent))
    found = sorted(set(found)) or [path for path in _SINGLE if path in paths]
    if len(found) > 12:  # a package with tests in each of its folders
        found = sorted({path.split("/")[0] for path in found})
    return [one for one in found if not any(one.startswith(f"{other}/") for other in found)]


def _holds_tests(path: str) -> bool:
    return is_collected(path) or path in _SINGLE


def _below(path: str, folders: Iterable[str]) -> bool:
    return any(folder == "." or path == folder or path.startswith(f"{folder}/") for folder in folders)


def _setup(paths: Sequence[str], roots: Sequence[str], tests: Sequence[str], declared: Declared) -> TestSetup:
    version = declared.version or UNKNOWN_VERSION
    modules = {}
    for path in declared.generated:
        if path not in paths:
            root = next((root for root in roots if path.startswith(f"{root}/")), "")
            name = path.removeprefix(f"{root}/").removesuffix(".py").replace("/", ".")
            parts = tuple(int(part) if part.isdecimal() else part for part in version.split("."))
            modules[name] = f"__version__ = version = {version!r}\n__version_tuple__ = version_tuple = {parts!r}\n"
    return TestSetup(
        python_path=tuple(roots),
        configuration=declared.configuration,
        arguments=(*_options(declared), *tests),
        environment={"SETUPTOOLS_SCM_PRETEND_VERSION": version} if declared.asks_git else {},
        metadata={declared.name: version} if re.fullmatch(r"[A-Za-z0-9._-]+", declared.name) else {},
        modules=modules,
    )


def _options(declared: Declared) -> list[str]:
    """What must be said besides the repository's own configuration, in words that begin with a dash."""
    kept, skip = [], False
    given = words_of(declared.pytest.get("addopts", []))
    for word in given:
        if skip and not word.startswith("-"):
            skip = False
            continue
        skip = _WITH_VALUE.fullmatch(word) is not None
        if not _DROPPED.fullmatch(word):
            kept.append(word)
    found = [f"--override-ini=addopts={shlex.join(kept)}"] if kept != given else []
    # The sandbox's test runner has no cache and not every plugin: an option of theirs is no error.
    found += [f"--override-ini={name}=false" for name in ("strict", "strict_config") if name in declared.pytest]
    return found + ["--override-ini=required_plugins="] * ("required_plugins" in declared.pytest)


def _packages(
    files: Sequence[str], below: Sequence[str], roots: Sequence[str], declared: Declared, read: Reader
) -> tuple[list[str], list[str]]:
    """Requirement lines that the tests need, and others that would be of use."""
    texts = {path: read(path) for path in files[:_ENOUGH] if not _ASIDE & set(path.split("/")[:-1]) or path in below}
    tests = [path for path in below if _holds_tests(path)]
    local = local_modules(files, roots) | {"test"}

    def brought(paths: Iterable[str], *, sure: bool) -> set[str]:
        names = {name for path in paths for name in imports_of(texts.get(path, ""), at_start=sure)}
        foreign = (name for name in names if name.split(".")[0] not in local)
        return {_declared_as(name, known, base) for name in foreign}

    own, wanted = _by_name(declared.dependencies, declared), _by_name(declared.tests, declared)
    others = _by_name([line for lines in declared.groups.values() for line in lines], declared)
    lines = {**wanted, **own}
    known, base = {**others, **lines}, base_packages()
    # What else lies beside the tests may be their data.
    by_tests, by_code = brought(tests, sure=True), brought(texts.keys() - set(below), sure=True)
    # A dependency that nothing imports may be loaded by its name, or by another one.
    anywhere = brought(texts, sure=False) | (own.keys() - DEVELOPMENT)
    said = "\n".join([*(texts.get(path, "") for path in tests), str(declared.pytest)])
    needed = {name: lines.get(name, name) for name in by_tests if name}
    needed |= {name: line for name, line in own.items() if name in by_code}
    useful = {name: line for name, line in lines.items() if name in anywhere or _is_used_plugin(name, said)}
    return _lines(needed), _lines({name: line for name, line in useful.items() if name not in needed})


def _by_name(lines: Iterable[str], declared: Declared) -> dict[str, str]:
    """Lines that apply here, by plain name, without the repository's own; plugins in what version fits our runner."""
    found = [one for line in lines if (one := requirement(line))]
    names = {canonicalize_name(one.name): str(one.specifier) for one in reversed(found)}
    names.pop(canonicalize_name(declared.name), "")
    return {name: name if name.startswith("pytest-") else f"{name}{specifier}" for name, specifier in names.items()}


def _declared_as(module: str, known: Iterable[str], base: Iterable[str]) -> str:
    """The declared name that most likely brings a module; "" for one of the standard library.

    `railroad` comes with `railroad-diagrams`, `jaraco.text` with `jaraco-text`.
    """
    exact, name = canonicalize_name(".".join(module.split(".")[:2])), distribution_for(module) or ""
    alike = [one for one in known if name in one.split("-")]
    if exact in known:
        return exact
    return alike[0] if name not in {*known, *base} and len(alike) == 1 else name


def _lines(wanted: Mapping[str, str]) -> list[str]:
    """In order of name, without what the sandbox has."""
    base = base_packages()
    return [line for name, line in sorted(wanted.items()) if canonicalize_name(name) not in base]


def _is_used_plugin(name: str, said: str) -> bool:
    """Whether tests carry a mark of this plugin or take its fixture; another would only change how they run."""
    sign = _SIGNS.get(name) or name.removeprefix("pytest-").replace("-", "_")
    if not name.startswith("pytest-") or sign in _DECORATION:
        return False
    return (
        f"mark.{sign}" in said
        or f"{sign}_mode" in said
        or re.search(rf"def test\w*\([^)]*\b{sign}\b", said) is not None
    )
