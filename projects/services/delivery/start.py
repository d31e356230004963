"""How to start what was built: as its own files say, else by its tests. Nothing of it is run here."""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import dataclass

from agents.workspace.repository import Repository

_HEADING = re.compile(r"^#+\s.*\b(run|start|started|usage|use|quick\s?start)\b", re.IGNORECASE)
_FENCE = re.compile(r"^\s*(```|~~~)")
MOST_LINES = 12


@dataclass(frozen=True)
class StartWords:
    """Command lines, and the file that tells them."""

    lines: list[str]
    source: str

    @property
    def text(self) -> str:
        """The lines as one text."""
        return "\n".join(self.lines)


def how_to_start(repository: Repository, commit: str) -> StartWords | None:
    """The commands, from the README, the manifest, or what runs the tests; None when no file tells. Raises GitError."""
    paths = set(repository.files(commit))

    def text(path: str) -> str:
        return (repository.read(commit, path) or "") if path in paths else ""

    if lines := _from_readme(text("README.md")):
        return StartWords(lines, "README.md")
    install = ["pip install -r requirements.txt"] if "requirements.txt" in paths else []
    if scripts := _scripts(text("pyproject.toml")):
        return StartWords(["pip install .", scripts[0]], "pyproject.toml")
    if "manage.py" in paths:
        return StartWords([*install, "python manage.py migrate", "python manage.py runserver"], "manage.py")
    if command := _npm(text("package.json")):
        return StartWords(["npm install", command], "package.json")
    if main := next((path for path in sorted(paths, key=len) if path.endswith("/__main__.py")), ""):
        name = main.removesuffix("/__main__.py").removeprefix("src/").replace("/", ".")
        return StartWords([*install, f"python -m {name}"], main)
    if any(path.endswith(".py") for path in paths):
        return StartWords([*install, "python -m pytest"], "its tests")
    return None


def _from_readme(text: str) -> list[str]:
    """The first block of commands below a heading about running or using it."""
    below = inside = False
    found: list[str] = []
    for line in text.splitlines():
        if _FENCE.match(line):
            if inside and found:
                break
            inside = below and not inside
        elif inside:
            found.append(line.rstrip())
        elif line.startswith("#"):
            below = bool(_HEADING.match(line))
    return [line for line in found if line.strip()][:MOST_LINES]


def _scripts(text: str) -> list[str]:
    try:
        project = tomllib.loads(text).get("project", {})
    except tomllib.TOMLDecodeError:
        return []
    scripts = project.get("scripts", {}) if isinstance(project, dict) else {}
    return sorted(scripts) if isinstance(scripts, dict) else []


def _npm(text: str) -> str:
    try:
        scripts = json.loads(text or "{}").get("scripts", {})
    except (ValueError, AttributeError):
        return ""
    return "npm start" if isinstance(scripts, dict) and "start" in scripts else ""
