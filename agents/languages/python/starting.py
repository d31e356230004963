"""How a Python program is started, as its own files tell."""

from __future__ import annotations

import tomllib
from collections.abc import Collection

from agents.languages.layouts import Reader

MAIN = "/__main__.py"


def start_commands(read: Reader, paths: Collection[str]) -> tuple[list[str], str]:
    """Commands and the file that tells them: an entry point, a Django project, a package that runs; else the tests."""
    install = ["pip install -r requirements.txt"] if "requirements.txt" in paths else []
    if scripts := _scripts(read("pyproject.toml")):
        return ["pip install .", scripts[0]], "pyproject.toml"
    if "manage.py" in paths:
        return [*install, "python manage.py migrate", "python manage.py runserver"], "manage.py"
    if main := next((path for path in sorted(paths, key=len) if path.endswith(MAIN)), ""):
        name = main.removesuffix(MAIN).removeprefix("src/").replace("/", ".")
        return [*install, f"python -m {name}"], main
    if any(path.endswith(".py") for path in paths):
        return [*install, "python -m pytest"], ""
    return [], ""


def _scripts(text: str) -> list[str]:
    try:
        project = tomllib.loads(text).get("project", {})
    except tomllib.TOMLDecodeError:
        return []
    scripts = project.get("scripts", {}) if isinstance(project, dict) else {}
    return sorted(scripts) if isinstance(scripts, dict) else []
