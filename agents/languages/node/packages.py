"""What scripts for Node need from outside: the packages that their imports and package.json name."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from agents.languages.base import PackageNeeds
from sandbox.package_index.names import BUILTIN, NPM, NPM_NAME, is_npm

SCRIPTS = (".js", ".mjs", ".cjs", ".jsx", ".ts", ".tsx", ".mts", ".cts")
BROWSER = frozenset({"static", "public", "templates", "assets", "dist", "vendor", "node_modules"})
COMMENT = re.compile(r"/\*.*?\*/|(?m:^[ \t]*//[^\n]*$)", re.DOTALL)
NAMED = re.compile(
    r"""\b(?:from|require\s*\(|import\s*\(|import)\s*(?P<quote>["'])(?P<name>[^"'\n]{1,214})(?P=quote)"""
)
MANIFEST_KEYS = ("dependencies", "devDependencies", "optionalDependencies", "peerDependencies")


def is_for_node(path: str) -> bool:
    """True for scripts that Node runs; those in folders such as static/ are for browsers."""
    return path.endswith(SCRIPTS) and not BROWSER & set(PurePosixPath(path).parts[:-1])


def imported_node_packages(files: Mapping[str, str]) -> set[str]:
    """npm packages that scripts for Node import; scripts for browsers (in folders such as static/) do not count."""
    found: set[str] = set()
    for path, text in files.items():
        if is_for_node(path):
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


def needs_of(files: Mapping[str, str], manifest: str, given: Mapping[str, str]) -> PackageNeeds:
    """Packages by plain name, with the ranges that package.json names."""
    # npm is not asked in tasks of other languages because a package.json exists.
    concerned = any(path == "package.json" or path.endswith(SCRIPTS) for path in files)
    in_manifest = manifest_packages(manifest) if concerned else {}
    wanted = {plain: line for plain, line in given.items() if is_npm(line)}
    wanted |= {NPM + name: f"{NPM}{name}@{versions}" for name, versions in in_manifest.items()}
    for name in imported_node_packages(files):
        wanted.setdefault(NPM + name, NPM + name)
    names = [plain.removeprefix(NPM) for plain in sorted(wanted)]
    return PackageNeeds(wanted, [name for name in names if name not in in_manifest])


def has_start(text: str) -> bool:
    """True for a package.json with a script called start."""
    scripts = _manifest(text).get("scripts")
    return isinstance(scripts, dict) and "start" in scripts


def pinned(lock: str, names: Sequence[str]) -> dict[str, str]:
    """The version that a package-lock holds of each name, at the top."""
    places = json.loads(lock)["packages"] if lock else {}
    return {name: str(places[f"node_modules/{name}"]["version"]) for name in names if f"node_modules/{name}" in places}


def rooted(lock: str, manifest: str) -> str:
    """The lock with the repository's own package.json as its root, which is what `npm ci` compares."""
    document = json.loads(lock)
    try:
        given = json.loads(manifest)
    except ValueError:
        return lock
    if not isinstance(given, dict):
        return lock
    kept = ("name", "version", "license", *MANIFEST_KEYS, "engines")
    root = {key: given[key] for key in kept if key in given}
    document["packages"] = {"": root, **{place: entry for place, entry in document["packages"].items() if place}}
    document |= {key: given[key] for key in ("name", "version") if key in given}
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
