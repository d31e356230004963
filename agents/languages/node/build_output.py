"""What linters for JavaScript print when they fail, and what kinds of failure of a build there are."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from agents.languages.node.npm_output import read_npm
from agents.languages.problems import Problem, one_line, relative

KINDS: Mapping[str, str] = {
    "npm": "dependency conflict",
    "tsc": "compile error",
    "eslint": "lint",
    "prettier": "lint",
    "node-test": "failing test",
    "mocha": "failing test",
    "jest": "failing test",
    "vitest": "failing test",
    "node": "uncaught error",
}
MISSING = frozenset({"ModuleNotFound", "TS2307", "TS7016", "ERR_MODULE_NOT_FOUND"})
RESOLVING = frozenset({"ERESOLVE", "ETARGET", "EUSAGE", "E404", "EBADENGINE", "ENOVERSIONS", "EOVERRIDE", "ENOTSUP"})
_FILE = re.compile(r"^(?P<file>(?:/|[A-Z]:\\|\./)?[^\s:][^\n:]{0,400}\.[cm]?[jt]sx?)$")
_ESLINT = re.compile(
    r"^\s{1,4}(?P<line>\d{1,7}):\d{1,7}\s{1,9}error\s{1,9}(?P<what>\S.{0,400}?)\s{2,80}(?P<rule>[\w@/-]{1,80})$"
)
_PARSING = re.compile(r"^\s{1,4}(?P<line>\d{1,7}):\d{1,7}\s+error\s+(?P<what>Parsing error: .{1,300})$")
_PRETTIER = re.compile(r"^\[warn\] (?P<file>\S{1,400}\.\w{1,5})$", re.M)
_UNFIT = re.compile(
    r"^npm (?:ERR!|error) Found: (?P<found>\S{1,200})$(?:\n.{0,300}){1,30}?\nnpm (?:ERR!|error) Could not resolve "
    r"dependency:\nnpm (?:ERR!|error) (?P<wanted>.{1,300})$",
    re.M,
)
_INVALID = re.compile(r"^npm (?:ERR!|error) ((?:Invalid|Missing): .{1,300})$", re.M)


def read_build(text: str, root: str = "") -> list[Problem]:
    """Failures that the readers of test reports and compilers do not know."""
    if found := _eslint(text, root):
        return found
    if "Code style issues" in text:
        return [
            Problem("prettier", "format", "Code style issues found", relative(one["file"], root))
            for one in _PRETTIER.finditer(text)
        ]
    found = read_npm(text)
    if found and found[0].kind in RESOLVING:  # other codes only repeat that a script failed
        if stale := _INVALID.search(text):
            return [Problem("npm", found[0].kind, one_line(stale[1]), "package.json")]
        if unfit := _UNFIT.search(text):
            return [
                Problem("npm", found[0].kind, one_line(f"{unfit['wanted']}; found {unfit['found']}"), "package.json")
            ]
        return found
    return []


def _eslint(text: str, root: str) -> list[Problem]:
    found, file = list[Problem](), ""
    for line in text.splitlines():
        if named := _FILE.match(line):
            file = named["file"]
        elif file and (one := _ESLINT.match(line) or _PARSING.match(line)):
            rule = one.groupdict().get("rule") or "parsing"
            found.append(Problem("eslint", rule, one_line(one["what"]), relative(file, root), int(one["line"])))
    return found


def build_kind(problem: Problem) -> str:
    """The kind by the error's code, else by the tool."""
    if problem.kind in MISSING:
        return "missing module"
    if problem.kind == "SyntaxError" and problem.tool == "node":
        return "compile error"
    return "other" if problem.tool == "npm" and problem.kind not in RESOLVING else KINDS[problem.tool]


def build_words(tool: str) -> Sequence[str]:
    """Words of a command that runs the tool."""
    return {"node-test": ["node --test", "npm test"], "node": ["node "]}.get(tool, [tool])
