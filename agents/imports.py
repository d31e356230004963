"""What code needs from outside: the packages that its imports and its lists of requirements name."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from packaging.utils import canonicalize_name

from agents import syntax
from sandbox.supply.names import BUILTIN, NPM, NPM_NAME, is_npm, npm_parts

SCRIPTS = (".js", ".mjs", ".cjs", ".jsx", ".ts", ".tsx", ".mts", ".cts")
BROWSER = frozenset({"static", "public", "templates", "assets", "dist", "vendor", "node_modules"})
COMMENT = re.compile(r"/\*.*?\*/|(?m:^[ \t]*//[^\n]*$)", re.DOTALL)
NAMED = re.compile(
    r"""\b(?:from|require\s*\(|import\s*\(|import)\s*(?P<quote>["'])(?P<name>[^"'\n]{1,214})(?P=quote)"""
)
MANIFEST_KEYS = ("dependencies", "devDependencies", "optionalDependencies", "peerDependencies")


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


def plain_name(line: str) -> str:
    """The normalised name of a requirement, as questions name it."""
    if is_npm(line):
        return NPM + npm_parts(line)[0]
    return canonicalize_name(re.split(r"[<>=!~\[;@ ]", line.strip(), maxsplit=1)[0])


def listed(text: str) -> list[str]:
    """The lines of a requirements file that count."""
    return [line.split("#")[0].strip() for line in text.splitlines() if line.split("#")[0].strip()]


def imported_node_packages(files: Mapping[str, str]) -> set[str]:
    """npm packages that scripts for Node import; scripts for browsers (in folders such as static/) do not count."""
    found: set[str] = set()
    for path, text in files.items():
        if path.endswith(SCRIPTS) and not BROWSER & set(PurePosixPath(path).parts[:-1]):
            found.update(_node_packages(COMMENT.sub(" ", text[:500_000])))
    return found


def _node_packages(text: str) -> Iterator[str]:
    for match in NAMED.finditer(text):
        parts = match["name"].split("/")
        name = "/".join(parts[:2]) if parts[0].startswith("@") else parts[0]
        if NPM_NAME.fullmatch(name) and name not in BUILTIN:
            yield name


def manifest_packages(text: str) -> dict[str, str]:
    """Names and ranges in a package.json; nothing of one that cannot be read."""
    found: dict[str, str] = {}
    manifest = _manifest(text)
    for key in MANIFEST_KEYS:
        given = manifest.get(key)
        if isinstance(given, dict):
            found |= {str(name): str(versions) for name, versions in given.items()}
    return found


def with_packages(text: str, versions: Mapping[str, str]) -> str:
    """A package.json with these dependencies added, made anew when there is none."""
    manifest = _manifest(text) or {"private": True}
    known = manifest.get("dependencies")
    added = {name: f"^{version}" for name, version in versions.items()}
    manifest["dependencies"] = dict(sorted({**(known if isinstance(known, dict) else {}), **added}.items()))
    return json.dumps(manifest, indent=2, ensure_ascii=False) + "\n"


def _manifest(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text) if text.strip() else {}
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
