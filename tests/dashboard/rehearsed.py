"""A project whose past commits were done again."""

from __future__ import annotations

from typing import Any

from agents.rehearsal.results import CommitResult
from projects.models import Project
from projects.services.insight.rehearsals import Order, RehearsalFolder
from projects.storage.paths import home, repository_of

PASS = {"blocked": 0, "findings": list[str]()}
WORKED: dict[str, Any] = {
    "environment": "works",
    "gates": PASS,
    "tries": 1,
    "seconds": 75.0,
    "sight": {"files": [1, 2]},
}
GOOD = CommitResult("a" * 40, "Add <b>coins</b>", outcome="merged", resolved=True, first_try=True, **WORKED)
BAD = CommitResult("b" * 40, "Count them", outcome="merged", resolved=False, asked=["gate: exec"], **WORKED)
SHAS = (GOOD.sha, BAD.sha, "c" * 40, "d" * 40, "e" * 40)


def rehearsed(project: Project, name: str, model: str, *results: CommitResult) -> None:
    """Keep these results of five commits that were ordered."""
    folder = RehearsalFolder(home() / "rehearsals" / name)
    with folder.taken():
        folder.begin(Order(str(repository_of(project).git_dir.resolve()), SHAS, model))
    for result in results:
        folder.keep(result)


def every_outcome(project: Project) -> None:
    """Two rehearsals: one that is done, with all that can come of a commit, and one that goes on."""
    stood = {
        "blocked": 1,
        "findings": ["HIGH semgrep py-dynamic-code at coins.py:128: Text is run as Python code."],
    }
    others = [
        CommitResult("c" * 40, "Weigh them", outcome="escalated", cause="The limit of 6 tries is reached.", **WORKED),
        CommitResult("d" * 40, "Sort them", outcome="blocked", cause="A gate objects.", **WORKED | {"gates": stood}),
        CommitResult("e" * 40, "Polish", environment="The tests need a server that is not here.", seconds=12.0),
    ]
    rehearsed(project, "first", "", CommitResult(GOOD.sha, GOOD.subject, outcome="looked_at", **WORKED))
    rehearsed(project, "second", "qwen2.5-coder:7b", GOOD, BAD, *others)
