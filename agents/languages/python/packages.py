"""What Python code needs from outside: the packages that its imports and its requirements.txt name."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath

from agents.languages.base import PackageNeeds
from agents.languages.python import syntax
from sandbox.import_names import DISTRIBUTIONS, distribution_for
from sandbox.package_index.names import base_packages, is_npm, plain_name

_TOOLS = frozenset({"pytest", "hypothesis", "coverage"})  # what tests are written with; code is not


def imported_modules(files: Mapping[str, str]) -> set[str]:
    """Top-level modules that Python files import; files that do not parse import nothing."""
    found: set[str] = set()
    for path, text in files.items():
        if not path.endswith(".py"):
            continue
        try:
            tree = syntax.parse(text)
        except syntax.UNREADABLE:
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                found.update(alias.name.split(".")[0] for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                found.add(node.module.split(".")[0])
    return found


def local_modules(paths: Iterable[str]) -> set[str]:
    """Modules that the repository itself brings."""
    return {PurePosixPath(path).parts[0].removesuffix(".py") for path in paths} | {"tests", "conftest"}


def listed(manifest: str) -> list[str]:
    """The lines of a requirements file that count."""
    return [line.split("#")[0].strip() for line in manifest.splitlines() if line.split("#")[0].strip()]


def needs_of(files: Mapping[str, str], paths: Iterable[str], manifest: str, given: Mapping[str, str]) -> PackageNeeds:
    """Packages by plain name; those that the sandbox has anyway are written into no list."""
    wanted = {plain: line for plain, line in given.items() if not is_npm(line)}
    for line in listed(manifest):
        wanted.setdefault(plain_name(line), line)
    base, unlisted = base_packages(), []
    for module in sorted(imported_modules(files) - local_modules(paths) - sys.stdlib_module_names):
        name = distribution_for(module) or module
        if plain_name(name) not in wanted:
            wanted[plain_name(name)] = name
            if plain_name(name) not in base:
                unlisted.append(name)
    return PackageNeeds(wanted, unlisted)


def libraries_of(files: Mapping[str, str], names: Iterable[str], paths: Iterable[str]) -> list[str]:
    """Libraries besides the standard one that the files import or the packages bring, in order."""
    named = {name for package in names for name in _import_names(plain_name(package))}
    found = (imported_modules(files) | named) - local_modules(paths) - _TOOLS - sys.stdlib_module_names
    return sorted(name for name in found if name.isidentifier())


def _import_names(package: str) -> list[str]:
    known = [module for module, distribution in DISTRIBUTIONS.items() if distribution == package and "." not in module]
    return known or [package.replace("-", "_")]
