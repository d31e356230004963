"""What Python code needs from outside: the packages that its imports and its requirements.txt name."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath

from agents.languages.base import PackageNeeds
from agents.languages.python import syntax
from agents.languages.python.test_config import is_collected
from agents.languages.python.uses import guarded
from sandbox.import_names import DISTRIBUTIONS, distribution_for
from sandbox.package_index.names import base_packages, is_npm, plain_name

_TOOLS = frozenset({"pytest", "hypothesis", "coverage"})  # what tests are written with; code is not
# Tools that people run beside the tests: no test needs them unless it imports them.
DEVELOPMENT = frozenset(
    "autopep8 bandit black build bump2version bumpversion check-manifest codespell commitizen flake8 interrogate ipdb "
    "ipython isort jupyter mypy nox pip-tools pre-commit pycodestyle pydocstyle pyflakes pylint pyright pytest-cov "
    "pytest-randomly pytest-sugar pytest-xdist pyupgrade ruff safety sphinx tox towncrier twine uv vulture yapf".split()
)
_BY_MODULE = {plain_name(module): distribution for module, distribution in DISTRIBUTIONS.items()}
_ASKING = ("find_spec", "importorskip")
_MODULES = (".py", ".pyi", ".pyx", ".so", ".pyd")


def imports_of(text: str, *, sure: bool = False, at_start: bool = False) -> set[str]:
    """Full names of the modules that a Python text imports; one that does not parse imports nothing.

    With `sure` those it cannot do without: no import that is guarded or only for type checkers. With `at_start` those
    that loading it takes: no import in a function or under a condition.
    """
    tree = syntax.module(text)
    optional = set(guarded(tree)) if sure else set()
    asked = _asked_for(tree) if sure or at_start else set()
    found: set[str] = set()
    for node in tree.body if at_start else ast.walk(tree):
        if isinstance(node, ast.Import) and id(node) not in optional:
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level and id(node) not in optional:
            found.add(node.module)
    return {name for name in found if name.split(".")[0] not in asked}


def imported_modules(files: Mapping[str, str], *, sure: bool = False) -> set[str]:
    """Top-level modules that Python files import, as imports_of() says."""
    texts = [text for path, text in files.items() if path.endswith(".py")]
    return {name.split(".")[0] for text in texts for name in imports_of(text, sure=sure)}


def _asked_for(tree: ast.Module) -> set[str]:
    """Modules that the code looks for before it imports them: `find_spec("x")`, `pytest.importorskip("x")`."""
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and node.args]
    asking = [one for one in calls if getattr(one.func, "attr", getattr(one.func, "id", "")) in _ASKING]
    return {str(one.args[0].value).split(".")[0] for one in asking if isinstance(one.args[0], ast.Constant)}


def local_modules(paths: Iterable[str], roots: Iterable[str] = ("src",)) -> set[str]:
    """Modules that the repository itself brings, as pytest finds them.

    They are below the repository's folder and its `roots`, and, as pytest puts the folder of each test file and
    `conftest.py` on the path (that of its outermost package, where it is in one), beside tests.
    """
    known = set(paths)
    code = [path for path in known if path.endswith(_MODULES)]
    tops = {"", *(f"{root}/" for root in roots)}
    for path in filter(is_collected, code):
        folder = PurePosixPath(path).parent
        while f"{folder}/__init__.py" in known and folder.parts:
            folder = folder.parent
        tops.add(f"{folder}/" if folder.parts else "")
    below = {path.removeprefix(top) for path in code for top in tops if path.startswith(top)}
    return {"tests", "conftest"} | {path.split("/")[0].split(".")[0] for path in below}


def requirement(name: str) -> str:
    """The line of a package that people and models may name as it is imported: `rest_framework>=3` is the line
    `djangorestframework>=3`. "" for a module of the standard library, which no index has under that name.
    """
    head = "" if is_npm(name) else re.split(r"[^\w.-]", name.strip(), maxsplit=1)[0]
    if head in sys.stdlib_module_names:
        return ""
    known = _BY_MODULE.get(plain_name(head))
    return name if known is None else known + name.strip().removeprefix(head)


def listed(manifest: str) -> list[str]:
    """The lines of a requirements file that count."""
    return [line.split("#")[0].strip() for line in manifest.splitlines() if line.split("#")[0].strip()]


def needs_of(
    files: Mapping[str, str],
    paths: Iterable[str],
    manifest: str,
    given: Mapping[str, str],
    before: Mapping[str, str],
) -> PackageNeeds:
    """Packages by plain name; those that the sandbox has anyway are written into no list."""
    local = local_modules(paths)
    # A planner may name the repository's own package: the released one must not come beside it.
    wanted = {
        plain: line for plain, line in given.items() if not is_npm(line) and local.isdisjoint(_import_names(plain))
    }
    imported, there = imported_modules(files), {plain_name(line) for line in listed(manifest)}
    idle = {name for name in wanted if name not in there and not imported.intersection(_import_names(name))}
    idle -= {name for name in idle if imported.intersection(name.split("-"))}  # `py-foo` may bring `foo`
    for line in listed(manifest):
        plain = plain_name(line)
        if plain not in DEVELOPMENT or plain in given or imported.intersection(_import_names(plain)):
            wanted.setdefault(plain, line)
            if re.search("[<>=~]", line):  # a version written since then replaces what an earlier attempt wanted
                wanted[plain] = line
    base, unlisted = base_packages(), []
    new = imported_modules(files, sure=True) - imported_modules(before)
    for module in sorted(new - local - sys.stdlib_module_names):
        name = distribution_for(module) or module
        line = wanted.setdefault(plain_name(name), name)
        if plain_name(name) not in {*base, *there}:
            unlisted.append(line)
    return PackageNeeds(wanted, unlisted, frozenset(idle))


def libraries_of(files: Mapping[str, str], names: Iterable[str], paths: Iterable[str]) -> list[str]:
    """Libraries besides the standard one that the files import or the packages bring, in order."""
    named = {name for package in names for name in _import_names(plain_name(package))}
    found = (imported_modules(files) | named) - local_modules(paths) - _TOOLS - sys.stdlib_module_names
    return sorted(name for name in found if name.isidentifier())


def _import_names(package: str) -> list[str]:
    known = [module for module, distribution in DISTRIBUTIONS.items() if distribution == package and "." not in module]
    return known or [package.replace("-", "_")]


def unknown_modules(files: Mapping[str, str], paths: Iterable[str], packages: Iterable[str]) -> list[str]:
    """Modules that the files need and that are neither here, nor in the standard library, nor in known packages."""
    known, here = {*base_packages(), *(plain_name(requirement(line)) for line in packages)}, list(paths)
    found = imported_modules(files, sure=True) - local_modules(here) - sys.stdlib_module_names
    unknown = {name for name in found if plain_name(distribution_for(name) or name) not in known}
    return sorted(unknown | _not_in_their_package(files, here))


def _not_in_their_package(files: Mapping[str, str], paths: Iterable[str]) -> set[str]:
    """Modules of packages that are here and hold no such file; a build may bring `package._private`."""
    there = {path.removeprefix("src/") for path in paths}
    packages = {path.split("/")[0] for path in there if path.count("/") == 1 and path.endswith("/__init__.py")}
    names = {name for text in files.values() for name in imports_of(text, sure=True) if "." in name}
    missing = set()
    for top, module in {tuple(name.split(".")[:2]) for name in names}:
        file = f"{top}/{module}"
        if (
            top in packages
            and module[0] != "_"
            and not any(path.startswith((f"{file}/", f"{file}.")) for path in there)
        ):
            missing.add(f"{top}.{module}")
    return missing
