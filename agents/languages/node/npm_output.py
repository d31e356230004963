"""What npm prints when it fails."""

from __future__ import annotations

import re

from agents.languages.problems import Problem, one_line

_NPM = re.compile(r"^npm (?:ERR!|error) ?(.*)$", re.M)
_NPM_SCRIPT = re.compile(r"Missing script: \"([^\"\n]{1,200})\"")
_NPM_NAME = re.compile(
    r"'((?:@[\w.-]+/)?[\w.-]+@[^'\s]{1,200})'|No matching version found for ((?:@[\w.-]+/)?\S{1,200}?)\.?$", re.M
)
_NO_COMMAND = re.compile(r"^(?:\S{0,40}sh: )?(?:line )?(?:\d{1,9}: )?(\S{1,200}): (?:command )?not found$", re.M)
_SCRIPT = re.compile(r"^> (\S{1,200}) \S{1,200}\n> .+$", re.M)


def read_npm(text: str) -> list[Problem]:
    """The error npm ended with, by its code."""
    lines = _NPM.findall(text)
    if (unknown := _NO_COMMAND.search(text)) and _SCRIPT.search(text):
        return [Problem("npm", "CommandNotFound", f"{unknown[1]}: not found", "package.json")]
    if not lines:
        return []
    said = "\n".join(lines)
    if script := _NPM_SCRIPT.search(said):
        return [Problem("npm", "MissingScript", f"Missing script: {script[1]}", "package.json")]
    code = next((line[5:].strip() for line in lines if line.startswith("code ")), "npm")
    if name := _NPM_NAME.search(said):
        return [Problem("npm", code, f"{code} {name[1] or name[2]}", "package.json")]
    reasons = [line for line in lines if not line.startswith(("code ", "A complete log"))]
    words = (re.sub(rf"^{re.escape(code)}\s?", "", line) for line in reasons)
    return [Problem("npm", code, one_line(" ".join(words)), "package.json")]
