"""What npm and pip say when they cannot do it."""

from __future__ import annotations

import re

from agents.repair.traces.base import Problem, one_line

_NPM = re.compile(r"^npm (?:ERR!|error) ?(.*)$", re.M)
_NPM_SCRIPT = re.compile(r"Missing script: \"([^\"\n]{1,200})\"")
_NPM_NAME = re.compile(
    r"'((?:@[\w.-]+/)?[\w.-]+@[^'\s]{1,200})'|No matching version found for ((?:@[\w.-]+/)?\S{1,200}?)\.?$", re.M
)
_PIP = (
    ("NoMatchingDistribution", re.compile(r"No matching distribution found for (\S.{0,200})")),
    ("ResolutionImpossible", re.compile(r"Cannot install (.{1,400}?) because these package versions have conflicting")),
    ("ResolutionImpossible", re.compile(r"(ResolutionImpossible)")),
    ("BuildFailed", re.compile(r"(?:Failed building wheel for|Could not build wheels for) (\S{1,200})")),
    ("BuildFailed", re.compile(r"(subprocess-exited-with-error)")),
    ("HashMismatch", re.compile(r"(THESE PACKAGES DO NOT MATCH THE HASHES)")),
    ("InvalidRequirement", re.compile(r"Invalid requirement: '?([^'\n]{1,200})")),
)


def read_npm(text: str) -> list[Problem]:
    """The error npm ended with, by its code."""
    lines = _NPM.findall(text)
    if not lines:
        return []
    said = "\n".join(lines)
    if script := _NPM_SCRIPT.search(said):
        return [Problem("npm", "MissingScript", f"Missing script: {script[1]}", "package.json")]
    code = next((line[5:].strip() for line in lines if line.startswith("code ")), "npm")
    name = _NPM_NAME.search(said)
    if name:
        return [Problem("npm", code, f"{code} {name[1] or name[2]}", "package.json")]
    words = [
        re.sub(rf"^{re.escape(code)}\s?", "", line)
        for line in lines
        if not line.startswith(("code ", "A complete log"))
    ]
    return [Problem("npm", code, one_line(" ".join(words)), "package.json")]


def read_pip(text: str) -> list[Problem]:
    """The first reason pip gave."""
    if not re.search(r"^\s*(?:ERROR|error): ", text, re.M):
        return []
    for kind, pattern in _PIP:
        if found := pattern.search(text):
            return [Problem("pip", kind, one_line(found[1]))]
    return []
