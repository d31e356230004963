"""What scripts for Node need from outside: the packages that their imports and package.json name."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from agents.languages.base import PackageNeeds
from agents.languages.node.test_files import is_test
from sandbox.package_index.names import BUILTIN, NPM, NPM_NAME, is_npm

SCRIPTS = (".js", ".mjs", ".cjs", ".jsx", ".ts", ".tsx", ".mts", ".cts")
EITHER = (".js", ".jsx", ".ts", ".tsx")  # modules of the kind that package.json says
BROWSER = frozenset({"static", "public", "templates", "assets", "dist", "vendor", "node_modules"})
COMMENT = re.compile(r"/\*.*?\*/|(?m:^[ \t]*//[^\n]*$)", re.DOTALL)
NAMED = re.compile(
    r"""\b(?:from|require\s*\(|import\s*\(|import)\s*(?P<quote>["'])(?P<name>[^"'\n]{1,214})(?P=quote)"""
)
ES_MODULE = re.compile(r"^[ \t]*(?:import|export)\b(?!\s*\()", re.MULTILINE)
COMMON_JS = re.compile(r"\brequire\s*\(|\bmodule\.exports\b|^[ \t]*exports\.", re.MULTILINE)
DEVELOPMENT = "-D "  # before names that only tests and configuration import, as npm's option has it
CONFIGURATION = re.compile(r"(?:^|/)[\w-]+\.config\.[cm]?[jt]s$")
TOOLS = frozenset({"vitest", "jest", "@jest/globals", "mocha", "chai", "sinon", "tsx", "typescript", "vite"})
MANIFEST_KEYS = ("dependencies", "devDependencies", "optionalDependencies", "peerDependencies")


def is_for_node(path: str) -> bool:
    """True for scripts that Node runs; those in folders such as static/ are for browsers."""
    return path.endswith(SCRIPTS) and not BROWSER & set(PurePosixPath(path).parts[:-1])


def imported_node_packages(files: Mapping[str, str]) -> set[str]:
    """npm packages that scripts for Node import; scripts for browsers (in folders such as static/) do not count."""
    found: set[str] = set()
    for path, text in files.items():
        if is_for_node(path):
            found |= packages_in(text)
    return found


def packages_in(text: str) -> set[str]:
    """npm packages that one script imports."""
    return set(_node_packages(COMMENT.sub(" ", text[:500_000])))


def _node_packages(text: str) -> Iterator[str]:
    for match in NAMED.finditer(text):
        parts = match["name"].split("/")
        name = "/".join(parts[:2]) if parts[0].startswith("@") else parts[0]
        if NPM_NAME.fullmatch(name) and name not in BUILTIN:
            yield name


def libraries_of(files: Mapping[str, str], names: Iterable[str], paths: Iterable[str]) -> list[str]:
    """Packages that the files import or a task names, in order, without those that only tests are written with."""
    named = {name.removeprefix(NPM) for name in names if is_npm(name)}
    return sorted((imported_node_packages(files) | named) - TOOLS)


def manifest_packages(text: str) -> dict[str, str]:
    """Names and ranges in a package.json; nothing of one that cannot be read."""
    found: dict[str, str] = {}
    manifest = manifest_of(text)
    for key in MANIFEST_KEYS:
        given = manifest.get(key)
        if isinstance(given, dict):
            found |= {str(name): str(versions) for name, versions in given.items()}
    return found


def _new_manifest(files: Mapping[str, str]) -> dict[str, Any]:
    """What a package.json begins with: Node and tsx have to be told of files that are ES modules."""
    texts = [COMMENT.sub(" ", text[:500_000]) for path, text in files.items() if path.endswith(EITHER)]
    modules = any(map(ES_MODULE.search, texts)) and not any(map(COMMON_JS.search, texts))
    return {"private": True} | ({"type": "module"} if modules else {})


def with_packages(text: str, versions: Mapping[str, str], files: Mapping[str, str]) -> str:
    """A package.json with these added, made anew when there is none; names after DEVELOPMENT go to devDependencies."""
    manifest = manifest_of(text) or _new_manifest(files)
    for key, development in (("dependencies", False), ("devDependencies", True)):
        added = {
            name.removeprefix(DEVELOPMENT): f"^{version}"
            for name, version in versions.items()
            if name.startswith(DEVELOPMENT) is development
        }
        if added:
            known = manifest.get(key)
            manifest[key] = dict(sorted({**(known if isinstance(known, dict) else {}), **added}.items()))
    return json.dumps(manifest, indent=2, ensure_ascii=False) + "\n"


def manifest_of(text: str) -> dict[str, Any]:
    """A package.json as data; {} for one that cannot be read."""
    try:
        found = json.loads(text) if text.strip() else {}
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def needs_of(
    files: Mapping[str, str],
    manifest: str,
    given: Mapping[str, str],
    before: Mapping[str, str],
    *,
    tested: bool = False,
) -> PackageNeeds:
    """Packages by plain name, with the ranges that package.json names; all of them where a suite is run (`tested`).

    What only people need for developing is idle: it is fetched where nobody has to be asked.
    """
    # npm is not asked in tasks of other languages because a package.json exists; the suite of a second language is
    # run in every task, though, and needs what the repository's code imports.
    concerned = tested or any(path == "package.json" or path.endswith(SCRIPTS) for path in files)
    in_manifest = manifest_packages(manifest) if concerned else {}
    wanted = {plain: line for plain, line in given.items() if is_npm(line)}
    wanted |= {NPM + name: f"{NPM}{name}@{versions}" for name, versions in in_manifest.items()}
    apart = {path: text for path, text in files.items() if is_test(path) or CONFIGURATION.search(path)}
    by_code = imported_node_packages({path: text for path, text in files.items() if path not in apart})
    imported = by_code | imported_node_packages(apart)
    for name in imported - imported_node_packages(before):
        wanted.setdefault(NPM + name, NPM + name)
    names = [name for plain in sorted(wanted) if (name := plain.removeprefix(NPM)) not in in_manifest]
    unlisted = [name if name in by_code or name not in imported else DEVELOPMENT + name for name in names]
    development = manifest_of(manifest).get("devDependencies")
    idle = {NPM + str(name) for name in development} if isinstance(development, dict) else set()
    return PackageNeeds(wanted, unlisted, frozenset(idle - {NPM + name for name in imported}))


def pinned(lock: str, names: Sequence[str]) -> dict[str, str]:
    """The version that a package-lock holds of each name, at the top."""
    places = json.loads(lock)["packages"] if lock else {}
    inside = {name: f"node_modules/{name.removeprefix(DEVELOPMENT)}" for name in names}
    return {name: str(places[place]["version"]) for name, place in inside.items() if place in places}


def joined_lock(old: str, new: str, manifest: str) -> str:
    """The lock `new` with the repository's own package.json as its root, which is what `npm ci` compares.

    What package.json lists and nothing fetched, such as tools of its developers, stays as `old` has it.
    """
    document = json.loads(new)
    try:
        given = json.loads(manifest)
    except ValueError:
        return new
    if not isinstance(given, dict):
        return new
    kept = ("name", "version", "license", *MANIFEST_KEYS, "engines")
    root = {key: given[key] for key in kept if key in given}
    fetched = {place: entry for place, entry in document["packages"].items() if place}
    if any(f"node_modules/{name}" not in fetched for name in manifest_packages(manifest)):
        before = manifest_of(old).get("packages")
        known = before if isinstance(before, dict) and manifest_of(old).get("lockfileVersion") in (2, 3) else {}
        fetched = dict(sorted({**{place: one for place, one in known.items() if place}, **fetched}.items()))
    document["packages"] = {"": root, **fetched}
    document |= {key: given[key] for key in ("name", "version") if key in given}
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
