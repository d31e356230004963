"""Which test runner an npm package uses, with which arguments, and which of its files are tests: from its files alone.

Used outside a sandbox to read a repository, and sent into one with the test run.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatch
from typing import Any

RUNNERS = ("vitest", "jest", "mocha", "ava", "tape", "node")
SCRIPT_FILE = re.compile(r"\.[cm]?[jt]sx?$")
TEST_NAME = re.compile(r"(?:^|[./_-])(?:tests?|spec)\.[cm]?[jt]sx?$|(?:^|/)test-[^/]+\.[cm]?[jt]sx?$", re.IGNORECASE)
TYPED = re.compile(r"(?<!\.d)\.[cm]?tsx?$")
FOLDERS = frozenset({"test", "tests", "__tests__", "spec", "specs"})
# Folders whose files are no tests by themselves.
ASIDE = frozenset(
    "node_modules fixtures fixture __fixtures__ helpers helper support mocks __mocks__ __snapshots__ dist build"
    " coverage lib-cov vendor examples example bench benchmark benchmarks types test-d".split()
)
# Options that people's scripts have, and that a run of ours decides itself: reports, coverage, watching, speed.
DROPPED = re.compile(
    r"(?:-(?:R|w|b|j|C|v|s|i)|--?(?:test-)?(?:reporters?|reporter-destination)|--(?:watch(?:All)?|bail|parallel|jobs|coverage|verbose"
    r"|silent|ci|colou?rs?|no-colou?rs?|run|ui|open|forceExit|detectOpenHandles|runInBand|maxWorkers|logHeapUsage"
    r"|inspect(?:-brk)?|experimental-test-coverage|collectCoverage|coverage[A-Z][\w-]*|collectCoverageFrom|passWithNoTests|pool|cache|tap"
    r"|test-force-exit|test-coverage-\w+|typecheck|update|fail-zero|allowOnly|test-concurrency|test-only))(?:[=.].*)?"
)
WITH_VALUE = frozenset(
    "-R -j --reporter --reporters --test-reporter --test-reporter-destination --maxWorkers --jobs --coverageReporters"
    " --coverageDirectory --collectCoverageFrom --pool --test-concurrency".split()
)
# What loads TypeScript or JSX for people; the sandbox has its own way.
LOADERS = re.compile(
    r"(?:ts-node|tsx|tsm|esbuild-register|esm-module-alias|@swc-node|@swc|@esbuild-kit|sucrase|@oxc-node|jiti|tsimp)"
    r"(?:/[\w./-]*)?$"
)
TAKES_LOADER = frozenset({"-r", "--require", "--import", "--loader", "--experimental-loader"})
RUNS_SCRIPT = re.compile(r"^(?:npm|pnpm|yarn|bun)(?:\s+-\S+)*\s+(?:run(?:-script)?\s+)?(?:-\S+\s+)*([\w:.@/-]+)")
NO_WRAPPERS = frozenset(
    "eslint tsc prettier standard xo biome oxlint rm rimraf echo cp mkdir ls cat tsd publint attw jshint semistandard"
    " git touch sleep".split()
)


def scripts_of(manifest: Mapping[str, Any]) -> dict[str, str]:
    given = manifest.get("scripts")
    return {str(name): str(text) for name, text in given.items()} if isinstance(given, dict) else {}


def dependencies_of(manifest: Mapping[str, Any]) -> dict[str, str]:
    """All of them, by name; ranges as text."""
    found: dict[str, str] = {}
    for key in ("peerDependencies", "optionalDependencies", "devDependencies", "dependencies"):
        given = manifest.get(key)
        if isinstance(given, dict):
            found |= {str(name): str(versions) for name, versions in given.items()}
    return found


def test_commands(manifest: Mapping[str, Any]) -> list[list[str]]:
    """The words of the commands behind `npm test`, in order, without the scripts that only call others."""
    scripts, found, seen = scripts_of(manifest), list[list[str]](), set[str]()

    def follow(text: str, depth: int) -> None:
        for part in re.split(r"&&|\|\||;|(?<!\|)\|(?!\|)", text):
            part = part.strip()
            called = RUNS_SCRIPT.match(part)
            name = called[1] if called else ""
            try:
                words = shlex.split(part)
            except ValueError:
                words = part.split()
            if words and words[0] in ("run-s", "run-p", "npm-run-all", "run-series", "npm-run-all2"):
                for word in words[1:]:
                    for each in scripts:
                        if (each == word or fnmatch(each, word)) and each not in seen and depth < 5:
                            seen.add(each)
                            follow(scripts[each], depth + 1)
            elif name in scripts and name not in seen and depth < 5:
                seen.add(name)
                follow(scripts[name], depth + 1)
            elif words:
                found.append(words)

    follow(scripts.get("test", ""), 0)
    return found


def runner_of(manifest: Mapping[str, Any], paths: Iterable[str] = ()) -> tuple[str, list[str]]:
    """The runner and its arguments: what the script "test" says, else what is among the dependencies."""
    for words in test_commands(manifest):
        if found := _in_words(words):
            return found
    needed = dependencies_of(manifest)
    for name in RUNNERS[:-1]:
        if name in needed:
            return name, []
    paths = list(paths)
    component = any(TEST_NAME.search(path) and path.endswith(("x",)) for path in paths)
    return ("vitest" if component else "node"), []


def _in_words(words: Sequence[str]) -> tuple[str, list[str]] | None:
    for at, word in enumerate(words):
        name = word.rpartition("/")[2]
        if name in ("_mocha", "mocha.js"):
            name = "mocha"
        if name in ("vitest", "jest", "mocha", "ava", "tape") and at == _program(words, at):
            return name, kept_arguments(words[at + 1 :])
        if name in ("vitest.mjs", "jest.js") and any("node" in one for one in words[:at]):
            return name.partition(".")[0], kept_arguments(words[at + 1 :])
        if name in ("node", "tsx", "ts-node") and "--test" in words[at + 1 :]:
            return "node", kept_arguments([one for one in words[at + 1 :] if one != "--test"])
    return None


def _program(words: Sequence[str], at: int) -> int:
    """`at`, unless the word there is an argument of another program, as in `eslint test mocha`."""
    before = [word.rpartition("/")[2] for word in words[:at] if not word.startswith("-") and "=" not in word]
    return -1 if before and before[0] in NO_WRAPPERS else at


def kept_arguments(words: Sequence[str]) -> list[str]:
    """The arguments without what a run of ours decides itself."""
    found: list[str] = []
    skip, before = False, ""
    for at, word in enumerate(words):
        following = words[at + 1] if at + 1 < len(words) else ""
        if skip:
            skip = False
        elif DROPPED.fullmatch(word):
            skip = word in WITH_VALUE and not following.startswith("-")
        elif word in TAKES_LOADER and LOADERS.match(following):
            skip = True
        elif (word.partition("=")[0] in TAKES_LOADER and "=" in word and LOADERS.match(word.partition("=")[2])) or (
            word in ("run", "watch") and not before
        ):
            pass
        elif word in ("2>&1", "&"):
            break
        else:
            found.append(word)
        before = word
    return found


def is_test_name(path: str) -> bool:
    """True for the names that runners take for tests."""
    return TEST_NAME.search(path) is not None and not ASIDE & set(path.split("/")[:-1])


def test_files(paths: Iterable[str]) -> list[str]:
    """Files that are tests by their names, else all scripts in folders for tests."""
    scripts = [path for path in paths if SCRIPT_FILE.search(path) and not ASIDE & set(path.split("/")[:-1])]
    scripts = [path for path in scripts if not path.endswith((".d.ts", ".d.mts", ".d.cts"))]
    named = [path for path in scripts if TEST_NAME.search(path)]
    top = [path for path in scripts if path.split("/")[0] in FOLDERS]
    found = named if any(path.rpartition("/")[2] not in ("test.js", "test.ts") for path in named) or not top else top
    return sorted(found or top)


def expanded(words: Sequence[str], paths: Sequence[str]) -> list[str]:
    """The files that paths, folders and patterns among these words mean."""
    found: list[str] = []
    for word in words:
        pattern = word.removeprefix("./").rstrip("/") or "."
        if pattern in paths:
            found.append(pattern)
        elif any(sign in pattern for sign in "*?[{"):
            found += [path for path in paths if glob_pattern(pattern).fullmatch(path)]
        else:
            below = [path for path in paths if pattern == "." or path.startswith(f"{pattern}/")]
            found += [path for path in below if SCRIPT_FILE.search(path)]
    return [path for path in dict.fromkeys(found) if "node_modules" not in path.split("/")]


def glob_pattern(text: str) -> re.Pattern[str]:
    """A shell's pattern, with `**` for folders and `{a,b}`, as one regular expression."""
    made, at, depth = "", 0, 0
    while at < len(text):
        sign = text[at]
        if text.startswith("**/", at):
            made, at = made + r"(?:[^/]+/)*", at + 3
            continue
        if text.startswith("**", at):
            made, at = made + r".*", at + 2
            continue
        if sign == "*":
            made += r"[^/]*"
        elif sign == "?" and at + 1 < len(text) and text[at + 1] == "(":
            made, at = made + "(?:(?:", at + 2
            end = text.find(")", at)
            made, at = made + text[at : end if end > 0 else len(text)] + "))?", (end if end > 0 else len(text)) + 1
            continue
        elif sign == "?":
            made += r"[^/]"
        elif sign == "{":
            made, depth = made + "(?:", depth + 1
        elif sign == "}" and depth:
            made, depth = made + ")", depth - 1
        elif sign == "," and depth:
            made += "|"
        else:
            made += re.escape(sign)
        at += 1
    try:
        return re.compile(made + ")" * depth)
    except re.error:
        return re.compile(re.escape(text))
