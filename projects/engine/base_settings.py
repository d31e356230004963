"""What a repository says of its own tests in `.aiswe.toml`: read from the base branch alone, used after a person's yes.

Limits of projects, approvals and gates are not among it.
"""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Mapping
from typing import Any

from agents.workspace.repository import Repository
from projects.errors import BadInput
from projects.models import Approval, Project
from projects.services.decisions.approvals import answer_to
from projects.services.work.approval_requests import ask
from sandbox.services import KINDS

SETTINGS_FILE = ".aiswe.toml"
MOST_SECONDS = 7200
# Variables that would decide what is loaded or reported.
_OURS = ("PYTEST", "PYTHON", "LD_", "COV", "PATH", "HOME", "PIP_", "GIT_", "NODE")
_TESTS = frozenset("arguments python_path plugins environment services test_seconds suite_seconds".split())


class AnswerWanted(Exception):
    """A person must answer before the tests can be run."""


def repository_settings(project: Project, repository: Repository, commit: str) -> tuple[dict[str, Any], list[str]]:
    """The parts of the test setup that the file names, and the packages; nothing when there is none, or after a no.

    Raises AnswerWanted while nobody has answered for exactly this text, and BadInput for what it must not hold.
    """
    path = f"{project.subfolder}/{SETTINGS_FILE}" if project.subfolder else SETTINGS_FILE
    text = repository.read(commit, path)
    if not text:
        return {}, []
    found, packages = _parsed(text)
    subject = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    answer = answer_to(project, kind=Approval.Kind.SETTINGS, subject=subject)
    if answer == Approval.Status.APPROVED:
        return found, packages
    if answer == Approval.Status.REJECTED:
        return {}, []
    ask(
        project,
        kind=Approval.Kind.SETTINGS,
        subject=subject,
        title=f"Run the tests of {project.name} as its {SETTINGS_FILE} says?"[:200],
        why="The repository brings settings for its tests. They hold until the file changes.",
        on_yes="Its tests are run in the sandbox with these arguments, folders, variables and packages.",
        on_no="The file is ignored; its tests are run as they were found.",
        payload={"path": path, "text": text[:20_000]},
    )
    raise AnswerWanted(f"Waits for an answer about {path}.")


def _parsed(text: str) -> tuple[dict[str, Any], list[str]]:
    try:
        tables = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        raise BadInput("it is not valid TOML.") from None
    tests, packages = tables.get("tests", {}), tables.get("packages", {})
    if not isinstance(tests, Mapping) or not isinstance(packages, Mapping):
        raise BadInput("[tests] and [packages] must be tables.")
    unknown = [*(set(tables) - {"tests", "packages"}), *(set(tests) - _TESTS), *(set(packages) - {"needed"})]
    if unknown:
        raise BadInput(f"it has no setting {', '.join(sorted(unknown))[:200]}.")
    needed = packages.get("needed", [])
    if not isinstance(needed, list) or not all(isinstance(line, str) for line in needed):
        raise BadInput("needed must be a list of packages.")
    return checked_edits(tests), needed[:60]


def checked_edits(edits: Mapping[str, Any]) -> dict[str, Any]:
    """Words for the test runner, folders and limits as people write them. Raises BadInput."""
    services = edits.get("services", [])
    if not isinstance(services, list) or not all(name in KINDS for name in services):
        raise BadInput(f"services must be a list of {', '.join(KINDS)}.")
    kinds = [{"kind": name} for name in dict.fromkeys(services)]
    given = {"services": kinds, "environment": _environment(edits.get("environment", {}))}
    return _words(edits) | {name: value for name, value in given.items() if value} | _seconds(edits)


def _words(edits: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, list[str]] = {}
    for name in ("arguments", "python_path", "plugins"):
        words = edits.get(name, [])
        if not isinstance(words, list) or not all(isinstance(word, str) and 0 < len(word) < 300 for word in words):
            raise BadInput(f"{name} must be a list of words.")
        if words:
            found[name] = words[:50]
    for folder in found.get("python_path", []):
        if folder.startswith("/") or ".." in folder.split("/"):
            raise BadInput(f"{folder[:80]!r} is not a folder of the repository.")
    if not all(re.fullmatch(r"[A-Za-z_][\w.]*", name) for name in found.get("plugins", [])):
        raise BadInput("plugins must be names of modules.")
    return found


def _environment(given: Any) -> dict[str, str]:
    if not isinstance(given, Mapping):
        raise BadInput("environment must be a table of names and values.")
    for name, value in given.items():
        if not re.fullmatch(r"[A-Z][A-Z0-9_]{0,60}", str(name)) or name.startswith(_OURS) or not isinstance(value, str):
            raise BadInput(f"The variable {str(name)[:60]!r} cannot be set for tests.")
    return {name: value[:1000] for name, value in given.items()}


def _seconds(edits: Mapping[str, Any]) -> dict[str, float]:
    found = {name: edits[name] for name in ("test_seconds", "suite_seconds") if edits.get(name) is not None}
    for name, seconds in found.items():
        if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 1 <= seconds <= MOST_SECONDS:
            raise BadInput(f"{name} must be a number from 1 to {MOST_SECONDS:,}.")
    return {name: float(seconds) for name, seconds in found.items()}
