"""How a package for Node is laid out, and how its tests are run in the sandbox."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from agents.languages.layouts import Reader, RepositoryLayout
from agents.languages.node.packages import is_for_node, manifest_of, packages_in
from sandbox.inside.node_choice import (
    ASIDE,
    FOLDERS,
    SCRIPT_FILE,
    TEST_NAME,
    TYPED,
    dependencies_of,
    expanded,
    kept_arguments,
    runner_of,
    test_commands,
    test_files,
)
from sandbox.package_index.names import NPM, NPM_NAME, NPM_RANGE
from sandbox.test_setup import TestSetup

_CONFIGURED = {
    "vitest": re.compile(r"vitest\.config\.[cm]?[jt]s"),
    "jest": re.compile(r"jest\.config\.(?:[cm]?[jt]s|json)"),
    "mocha": re.compile(r"\.mocharc(?:\.[\w]+)?"),
    "ava": re.compile(r"ava\.config\.[cm]?js"),
}
_CONFIGURATION = re.compile(
    r"(?:vitest|vite|jest|babel|ava|rollup|swc)\.config\.\w+|\.(?:mocharc|babelrc|swcrc|taprc)(?:\.\w+)?|tsconfig[\w.]*\.json"
)
_ASIDE_FILE = re.compile(r"\.config\.\w+$|(?:^|/)\.[^/]+$|test-d\.ts$|(?:^|/)(?:gulp|grunt)file\.\w+$", re.IGNORECASE)
# Programs whose test files are ordinary ones: run by Node, they say by their exit code how it went.
_PLAIN_PROGRAMS = frozenset({"uvu", "tap", "zora", "node-tap", "baretest", "pta"})
_AS_NODE = frozenset({"borp", "node--test", "glob"})  # they find test files and hand them to Node's own runner
_OTHERS = re.compile(
    r"^(?:jasmine|karma|qunit|lab|ospec|bun|deno|wtr|web-test-runner|testem|cypress|playwright|intern|nodeunit|vows|expresso"
    r"|cucumber-js|wallaby|aegir|airtap|zuul|tsd|tst|lerna|nx|turbo|hereby|gulp|grunt|make|react-scripts|ng)$"
)
_WRAPPERS = frozenset({"npx", "c8", "nyc", "cross-env", "env", "istanbul", "tsx", "ts-node"})
_MANY = 4000  # files whose imports are read


def layout_of(paths: Sequence[str], read: Reader) -> RepositoryLayout | None:
    """The layout of these files; None where there is no package.json with scripts for Node beside it."""
    folder = _package_folder(paths)
    if folder is None:
        return None
    top = f"{folder}/" if folder else ""
    inside = [path.removeprefix(top) for path in paths if path.startswith(top)]
    found = _of_package(inside, lambda path: read(top + path), read(f"{top}package.json"))
    if found is None or not folder:
        return found
    setup = found.setup
    words = tuple(word if word.startswith("-") else top + word for word in setup.arguments)
    configuration = setup.configuration and top + setup.configuration
    fields = ("source_roots", "test_paths", "helpers")
    moved = {name: tuple(top + path for path in getattr(found, name)) for name in fields}
    values = {**vars(setup), "arguments": words, "configuration": configuration, "python_path": (folder,)}
    return RepositoryLayout(**{**vars(found), **moved, "setup": TestSetup(**values)})


def _package_folder(paths: Sequence[str]) -> str | None:
    """The folder of the package: the top, else the only one below it that has tests."""
    if "package.json" in paths:
        return ""
    below = [path.rpartition("/")[0] for path in paths if path.rpartition("/")[2] == "package.json"]
    below = [one for one in below if one.count("/") < 2 and not ASIDE & set(one.split("/"))]
    tested = [one for one in below if any(path.startswith(f"{one}/") and TEST_NAME.search(path) for path in paths)]
    return tested[0] if len(tested) == 1 else None


def _of_package(paths: Sequence[str], read: Reader, text: str) -> RepositoryLayout | None:
    manifest = manifest_of(text)
    scripts = [path for path in paths if is_for_node(path) and "node_modules" not in path.split("/")]
    if not scripts:
        return None
    runner, arguments, problem = _runner(manifest, paths)
    words = [word for word in arguments if not word.startswith("-")]
    tests = expanded(words, paths) or test_files(paths)
    roots = [one for one in ("src", "lib", "source", "app") if any(path.startswith(f"{one}/") for path in scripts)]
    if not problem:
        problem = _problem(manifest, paths, tests)
    named = (path for path in paths if _matches(_CONFIGURED.get(runner), path))
    needed, useful = _packages(paths, tests, read, manifest, runner, arguments)
    engines = manifest.get("engines")
    return RepositoryLayout(
        language="node",
        style="src" if "src" in roots else "flat",
        source_roots=tuple(roots or [""]),
        test_paths=tuple(_places(tests)),
        helpers=tuple(path for path in scripts if path not in tests and FOLDERS & set(path.split("/")[:-1])),
        runtime=str(engines.get("node", "")) if isinstance(engines, dict) else "",
        needed=tuple(needed),
        useful=tuple(useful),
        setup=TestSetup(runner=runner, arguments=tuple(arguments), configuration=next(named, "")),
        problem=problem,
    )


def _matches(pattern: re.Pattern[str] | None, path: str) -> bool:
    return pattern is not None and pattern.fullmatch(path) is not None


def _places(tests: Sequence[str]) -> list[str]:
    """The folders of the tests, or the files themselves where they lie among the sources."""
    found = dict.fromkeys(
        next((path[: path.index(f"{part}/") + len(part)] for part in path.split("/")[:-1] if part in FOLDERS), path)
        for path in tests
    )
    return sorted(found)[:200]


def _runner(manifest: Mapping[str, Any], paths: Sequence[str]) -> tuple[str, list[str], str]:
    """The runner, its arguments, and why there is none that is known here."""
    commands = test_commands(manifest)
    known = runner_of({**manifest, "dependencies": {}, "devDependencies": {}}, ()) if commands else ("", [])
    if commands and known != ("node", []):
        return (*known, "")
    if any("--test" in words for words in commands):
        return "node", [], ""
    for words in commands:
        if (found := _program(words, paths)) is not None:
            return (*found, "")
    runner, arguments = runner_of(manifest, paths)
    programs = [words[0].rpartition("/")[2] for words in commands if words]
    strange = [name for name in programs if _OTHERS.match(name)]
    if runner == "node" and strange:
        return "node", [], f"Its tests are run by {strange[0]}, which is not supported."
    return runner, arguments, ""


def _program(words: Sequence[str], paths: Sequence[str]) -> tuple[str, list[str]] | None:
    """The runner that a command stands for, where it starts a plain program or a script of the project."""
    rest = [word for word in words if word.rpartition("/")[2] not in _WRAPPERS and "=" not in word]
    name = rest[0].rpartition("/")[2] if rest else ""
    if name in _PLAIN_PROGRAMS:
        return "tape", _plain_arguments(rest[1:], paths)
    if name in _AS_NODE:
        return "node", []
    if name != "node" and not (rest and rest[0] in paths):
        return None
    scripts = [word.removeprefix("./") for word in (rest[1:] if name == "node" else rest)]
    files = [path for word in scripts for path in (word, f"{word}.js") if path in paths and SCRIPT_FILE.search(path)]
    return ("tape", files[:1]) if files else None


def _plain_arguments(words: Sequence[str], paths: Sequence[str]) -> list[str]:
    """Test files of a program that takes a folder and a pattern, as `uvu tests .spec`."""
    kept = [word for word in kept_arguments(words) if not word.startswith("-")]
    found = expanded(kept[:1], paths)
    if len(kept) == 2 and not expanded(kept[1:], paths):
        try:
            found = [path for path in found if re.search(kept[1], path)]
        except re.error:
            return []
    return [path for path in found or expanded(kept, paths) if not ASIDE & set(path.split("/")[:-1])]


def _problem(manifest: Mapping[str, Any], paths: Sequence[str], tests: Sequence[str]) -> str:
    workspaces = manifest.get("workspaces") or "pnpm-workspace.yaml" in paths or "lerna.json" in paths
    if workspaces and not any(path.split("/")[0] in FOLDERS | {"src"} for path in tests):
        return "It holds several packages (workspaces): import one of them with --subfolder."
    return "" if tests else "No test files were found (*.test.js, *.spec.js, test/)."


def _packages(
    paths: Sequence[str],
    tests: Sequence[str],
    read: Reader,
    manifest: Mapping[str, Any],
    runner: str,
    arguments: Sequence[str],
) -> tuple[list[str], list[str]]:
    """Requirement lines that the tests need, and others that are of use."""
    own, declared = str(manifest.get("name", "")), dependencies_of(manifest)
    development = _names(manifest, "devDependencies")
    used = _used(development, paths, tests, read, _said(manifest, arguments))
    if runner in development:
        used.add(runner)
    needed = {name: declared.get(name, "*") for name in _required(manifest) | used if name != own}
    useful = {name: declared[name] for name in development if name.startswith("@types/")}
    if any(TYPED.search(path) for path in paths):
        useful |= {name: declared[name] for name in ("typescript", "tsx") if name in development}
    if runner == "vitest" and "vitest" in development:
        useful["@vitest/coverage-v8"] = declared["vitest"]
    lines = _lines(needed)
    return lines, [line for line in _lines(useful) if line not in lines]


def _required(manifest: Mapping[str, Any]) -> set[str]:
    """Packages that the sources cannot do without."""
    meta = manifest.get("peerDependenciesMeta")
    marks = meta.items() if isinstance(meta, dict) else ()
    optional = {name for name, about in marks if isinstance(about, dict) and about.get("optional")}
    return _names(manifest, "dependencies") | (_names(manifest, "peerDependencies") - optional)


def _used(development: set[str], paths: Sequence[str], tests: Sequence[str], read: Reader, configured: str) -> set[str]:
    """Packages for development that tests, configuration or sources use; `configured` is what package.json says."""
    beside = [path for path in paths if is_for_node(path) and FOLDERS & set(path.split("/")[:-1])]
    near = dict.fromkeys([*tests, *beside])
    texts = {path: read(path) for path in [*near, *(path for path in paths if _CONFIGURATION.fullmatch(path))][:_MANY]}
    imported = {name for text in texts.values() for name in packages_in(text)}
    words = " ".join([*(text for path, text in texts.items() if path not in near), configured])
    used = {name for name in development if name in imported or _is_named(name, words)}
    sources = [path for path in paths if path not in near and _is_source(path)]
    return used | (development & {name for path in sources[:_MANY] for name in packages_in(read(path))})


def _is_source(path: str) -> bool:
    return is_for_node(path) and not _ASIDE_FILE.search(path) and not ASIDE & set(path.split("/")[:-1])


def _names(manifest: Mapping[str, Any], key: str) -> set[str]:
    given = manifest.get(key)
    return {str(name) for name in given} if isinstance(given, dict) else set()


def _said(manifest: Mapping[str, Any], arguments: Sequence[str]) -> str:
    """What package.json itself says about how tests run."""
    sections = ("jest", "mocha", "ava", "babel", "vitest")
    return " ".join([*arguments, *(json.dumps(manifest.get(key, "")) for key in sections)])


def _is_named(name: str, told: str) -> bool:
    """Whether a configuration names the package, in full or as its plugins are named for short."""
    short = re.sub(r"^(?:babel-|jest-environment-|jest-)", "", name.rpartition("/")[2])
    return re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", told) is not None or (
        name.startswith(("jest-environment-", "babel-"))
        and re.search(rf"[\"']{re.escape(short)}[\"']", told) is not None
    )


def _lines(wanted: Mapping[str, str]) -> list[str]:
    """In order of name; a range that names no release of the registry is left out."""
    found = []
    for name, versions in sorted(wanted.items()):
        versions = versions.strip() or "*"
        if NPM_NAME.fullmatch(name) and NPM_RANGE.fullmatch(versions) and not versions.startswith("workspace"):
            found.append(f"{NPM}{name}@{versions}")
    return found
