"""What resolvers, linters and type checkers of Python print when they fail, and what kinds of failure that are."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from agents.languages.problems import Problem, one_line, relative
from agents.languages.python.pip_output import read_pip

KINDS: Mapping[str, str] = {
    "pip": "dependency conflict",
    "uv": "dependency conflict",
    "ruff": "lint",
    "flake8": "lint",
    "mypy": "compile error",
    "pytest": "failing test",
    "unittest": "failing test",
    "python": "uncaught error",
}
MISSING = frozenset({"ModuleNotFoundError"})
BROKEN = frozenset({"SyntaxError", "IndentationError", "TabError"})
_UV = re.compile(r"^[ \t]*(?:error: |× )?No solution found when resolving (?P<what>.{1,200}):?$", re.M)
_UV_REASON = re.compile(r"^[ \t]*(?:cause: |╰─▶ )(?P<why>(?:.{1,2000}\n?){1,12})", re.M)
_UV_OTHER = re.compile(r"^error: (?P<why>(?:Failed to|The lockfile|Distribution|Request failed).{1,400})$", re.M)
_RUFF_FULL = re.compile(
    r"^(?P<code>[A-Z]{1,5}\d{3,4}|[a-z-]{5,40}):? (?:\[\*\] )?(?P<what>.{1,400})"
    r"\n[ \t]*--> (?P<file>[^\n:]{1,400}):(?P<line>\d{1,7})",
    re.M,
)
_RUFF_SHORT = re.compile(
    r"^(?P<file>[^\s:][^\n:]{0,400}\.pyi?):(?P<line>\d{1,7}):\d{1,5}:? "
    r"(?P<code>[A-Z]{1,5}\d{3,4}):? (?:\[\*\] )?(?P<what>.{1,400})$",
    re.M,
)
_UNFORMATTED = re.compile(r"^would reformat:? (?P<file>.{1,400})$", re.M | re.I)
_MYPY = re.compile(
    r"^(?P<file>[^\s:][^\n:]{0,400}\.pyi?):(?P<line>\d{1,7})(?::\d{1,5})?: error: "
    r"(?P<what>.{1,400}?)(?:  \[(?P<code>[\w-]{1,40})\])?$",
    re.M,
)
_COMPILING = re.compile(r"^\*\*\* Error compiling '", re.M)
_BROKEN = re.compile(
    r'^[ \t]*File "(?P<file>[^"\n]{1,400})", line (?P<line>\d{1,7})\n(?P<code>.{0,400})\n(?:[ \t]*[\^~]{1,200}\n)?'
    r"(?:Sorry: )?(?P<kind>SyntaxError|IndentationError|TabError): (?P<what>.{1,300})$",
    re.M,
)
_CONFLICT = re.compile(r"^The conflict is caused by:\n(?P<why>(?:[ ]{4}.{1,300}\n){1,12})", re.M)
_LISTED = re.compile(r"-r (?P<file>[\w./-]{1,200}\.txt)")


def read_build(text: str, root: str = "") -> list[Problem]:
    """Failures that the readers of test reports and tracebacks do not know."""
    if conflict := _UV.search(text):
        why = _UV_REASON.search(text)
        said = one_line(why["why"] if why else conflict[0], 600)
        file = "requirements.txt" if "you require " in said else "pyproject.toml"  # else it speaks of the project
        return [Problem("uv", "NoSolution", said, file)]
    if "pyproject.toml" in text and (other := _UV_OTHER.search(text)):
        return [Problem("uv", "Failed", one_line(other["why"]), "pyproject.toml")]
    if _COMPILING.search(text):
        return [
            Problem(
                "python",
                one["kind"],
                one_line(f"{one['what']}: {one['code']}"),
                relative(one["file"], root),
                int(one["line"]),
            )
            for one in _BROKEN.finditer(text)
        ]
    if pip := read_pip(text):
        return [one if one.file or KINDS.get(one.tool) != KINDS["pip"] else _listed(one, text) for one in pip]
    for tool, pattern in (("ruff", _RUFF_FULL), ("mypy", _MYPY), ("ruff", _RUFF_SHORT), ("ruff", _UNFORMATTED)):
        if found := [_placed(tool, one.groupdict(), root) for one in pattern.finditer(text)]:
            return found
    return []


def _placed(tool: str, one: Mapping[str, str | None], root: str) -> Problem:
    message = one_line(one.get("what") or "Would reformat")
    return Problem(
        tool, one.get("code") or "format", message, relative(one["file"] or "", root), int(one.get("line") or 0)
    )


def _listed(one: Problem, text: str) -> Problem:
    named = _LISTED.search(text)
    if why := _CONFLICT.search(text):
        one = replace(one, message=one_line("; ".join(line.strip() for line in why["why"].splitlines())))
    return replace(one, file=named["file"] if named else "requirements.txt")


def build_kind(problem: Problem) -> str:
    """The kind by the error's name, else by the tool."""
    if problem.kind in MISSING:
        return "missing module"
    return "compile error" if problem.kind in BROKEN else KINDS[problem.tool]


def build_words(tool: str) -> Sequence[str]:
    """Words of a command that runs the tool."""
    return {"python": ["python", "compileall"], "uv": ["uv "]}.get(tool, [tool])
