"""What pip prints when it fails."""

from __future__ import annotations

import re
from textwrap import dedent

from agents.languages.problems import Problem, one_line
from agents.languages.python.tracebacks import outermost, tracebacks

_PIP = (
    ("NoMatchingDistribution", re.compile(r"No matching distribution found for (\S.{0,200})")),
    ("ResolutionImpossible", re.compile(r"Cannot install (.{1,400}?) because these package versions have conflicting")),
    ("ResolutionImpossible", re.compile(r"(ResolutionImpossible)")),
    ("RequiresPython", re.compile(r"(Package '?[^'\n]{1,200}'? requires a different Python: .{1,200})")),
    ("FileNotFound", re.compile(r"Could not open requirements file: .{0,60}?: '([^'\n]{1,400})'")),
    ("NotInstallable", re.compile(r"ERROR: (.{1,400} does not appear to be a Python project)")),
    ("UnsupportedWheel", re.compile(r"ERROR: (\S{1,300} is not a (?:supported|valid) wheel)")),
    ("BuildFailed", re.compile(r"(?:Failed building wheel for|Could not build wheels for) (\S{1,200})")),
    ("BuildFailed", re.compile(r"(subprocess-exited-with-error)")),
    ("HashMismatch", re.compile(r"(THESE PACKAGES DO NOT MATCH THE HASHES)")),
    ("InvalidRequirement", re.compile(r"Invalid requirement: '?([^'\n]{1,200})")),
)
_PIP_INVALID = _PIP[-1][1]
_BUILD, _BUILT = re.compile(r"╰─> \[\d+ lines? of output\]\n"), "[end of output]"
_FROM_LINE = re.compile(r"Invalid requirement: .{1,600}\(from line (\d{1,9}) of ([^)\n]{1,400})\)")


def read_pip(text: str) -> list[Problem]:
    """The first reason pip gave."""
    if not re.search(r"^\s*(?:ERROR|error): ", text, re.M):
        return []
    if (wrong := _FROM_LINE.search(text)) and (found := _PIP_INVALID.search(text)):
        return [Problem("pip", "InvalidRequirement", one_line(found[1]), wrong[2], int(wrong[1]))]
    built = _BUILD.search(text)
    if built and (end := text.find(_BUILT, built.end())) >= 0:
        inner = dedent(text[built.end() : end].rstrip())
        raised = outermost(list(tracebacks(inner, "")))[-1:]
        if raised:  # what the package's own build raised says more than that it failed
            return [Problem("pip", raised[0].kind, raised[0].message, frames=raised[0].frames)]
        if said := re.findall(r"^error: (.{1,400})$", inner, re.M):
            return [Problem("pip", "BuildFailed", one_line(said[-1]))]
    for kind, pattern in _PIP:
        if found := pattern.search(text):
            return [Problem("pip", kind, one_line(found[1]))]
    return []
