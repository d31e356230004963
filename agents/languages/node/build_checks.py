"""How failures of builds with npm are repeated, and what would only make them quiet."""

from __future__ import annotations

import json
import re
from collections import Counter

from agents.languages.base import BuildCheck
from agents.languages.layouts import Reader
from agents.languages.node.packages import SCRIPTS, manifest_of, manifest_packages
from agents.languages.words import arguments_after
from sandbox.package_index.names import NPM

_SILENT = re.compile(
    r"((?:eslint|oxlint|biome)-(?:disable|ignore)[\w-]*|@ts-(?:ignore|nocheck|expect-error)|prettier-ignore[\w-]*"
    r"|(?:c8|istanbul|v8) ignore)|/\*\s*(eslint (?=[\w@/-]+\s*:))"
    r"|\b((?:it|test|describe|suite)\.(?:skip|todo|failing|only)|x(?:it|test|describe))\b|(\bskip: true\b)"
)
_CONFIGURATION = re.compile(
    r"(?:^|/)(?:\.eslintrc[\w.]*|eslint\.config\.\w+|tsconfig[\w.-]*\.json|\.prettierrc[\w.]*|\.eslintignore"
    r"|\.prettierignore"
    r"|(?:vitest|jest|vite|prettier|playwright)\.config\.\w+|\.mocharc[\w.]*|biome\.jsonc?|\.nycrc[\w.]*|\.c8rc[\w.]*)$"
)
_DECIDES = ("overrides", "resolutions", "pnpm", "engines", "packageManager")
_RUN = {"tsc": ("--noEmit",), "eslint": (".",), "prettier": ("--check", ".")}


def build_check(tool: str, kind: str, command: str, file: str, read: Reader) -> BuildCheck | None:
    """By the tool; what a script of its own does is not repeated."""
    if tool == "npm":
        manifest = file if file.endswith("package.json") else "package.json"
        # A lock that lags behind is no conflict: a resolver would write a new one.
        return BuildCheck(manifest=manifest) if kind != "EUSAGE" and pins(manifest, read(manifest)) else None
    if tool in _RUN:
        lines = tuple(f"{NPM}{name}@{versions}" for name, versions in manifest_packages(read("package.json")).items())
        return BuildCheck(("npx", "--no-install", tool, *(arguments_after(command, [tool], ()) or _RUN[tool])), lines)
    if tool == "node":
        words = arguments_after(command, ["node"], ())
        return BuildCheck(("node", *words)) if words and words[0].endswith(SCRIPTS) else None
    return BuildCheck(tests=True)


def silenced(path: str, text: str) -> Counter[str]:
    """Comments that keep a check quiet, and marks that skip a test."""
    found = _SILENT.finditer(text) if path.endswith(SCRIPTS) else ()
    return Counter(one[1] or (one[2] or one[0]).strip() for one in found)


def configures_checks(path: str, old: str, new: str) -> bool:
    """Files of the tools, and the commands in package.json."""
    if path.rpartition("/")[2] == "package.json":
        names = ("scripts", "eslintConfig", "jest", "prettier", "mocha")
        before, after = manifest_of(old), manifest_of(new)
        return any(before.get(name) != after.get(name) for name in names)
    return bool(_CONFIGURATION.search(path)) and old != new


def pins(path: str, text: str) -> dict[str, str]:
    """The packages of a package.json."""
    if path.rpartition("/")[2] != "package.json":
        return {}
    return {name: f"{NPM}{name}@{versions}" for name, versions in manifest_packages(text).items()}


def bound(path: str, text: str) -> list[tuple[str, str]]:
    """Beside `pins` what decides over the packages of packages, which versions run it, and the lines of .npmrc."""
    if path.rpartition("/")[2] == ".npmrc":
        lines = [line.strip() for line in text.splitlines()]
        return [(f"--{line}", line) for line in lines if line and line[0] not in "#;"]
    if path.rpartition("/")[2] != "package.json":
        return []
    manifest = manifest_of(text)
    told = [(name, json.dumps(manifest[name], sort_keys=True)) for name in _DECIDES if manifest.get(name)]
    return [*pins(path, text).items(), *((f"--{name}", f"{name} {value}") for name, value in told)]
