"""Documents that commands are given: a file of any accepted format, or a folder of specifications."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from django.contrib.auth.models import User

    from agents.requirements.readers.folders import Specification
    from projects.models import Project, RequirementDocument, Run
    from sandbox.base import Backend

GIVEN = click.Path(exists=True)
WHAT = "Markdown, text, reStructuredText, HTML, DOCX, PDF; or a folder of Spec Kit, OpenSpec or Kiro."


def _sandbox() -> Backend:
    from aiswe_site.configuration import load
    from sandbox.registry import open_backend

    return open_backend(load().SANDBOX)


def read_given(path: str) -> list[Specification]:
    """What is read from a file or a folder, without Django. Raises DocumentRefused."""
    from agents.requirements.readers.convert import read_file
    from agents.requirements.readers.folders import Specification, read_folder

    return read_folder(path) if Path(path).is_dir() else [Specification("", read_file(path, _sandbox), "")]


def to_confirm(document: RequirementDocument) -> str:
    """The command that confirms this document; the newest one of a project need not be named."""
    name = shlex.quote(document.place or document.filename)
    newest = document.project.documents.first() == document
    return f"aiswe requirements confirm {document.project.slug}" + ("" if newest else f" --spec {name}")


def next_step(run: Run) -> str:
    """How a person ends a run's wait for confirmed requirements; "" where it does not wait for that."""
    from agents.engine.waiting import UNCONFIRMED

    if run.document is None or run.wait_reason not in UNCONFIRMED:
        return ""
    return f"Next: aiswe requirements show {run.project.slug}, then {to_confirm(run.document)}"


def store_and_plan(
    project: Project, found: list[Specification], by: User, relation: str = ""
) -> tuple[dict[str, Any], str]:
    """Make documents of them and start their planning; what a command answers, and its sentence."""
    from projects.errors import IllegalMove
    from projects.services.planning import documents
    from projects.services.planning.plan_rules import nothing_left
    from projects.services.work import runs

    rows, words = [], []
    for one in found:
        stored = documents.store_document(project, one.document, one.place, one.background, by=by, relation=relation)
        if why := nothing_left(stored):
            words.append(why.removesuffix("."))
            continue
        run = runs.start_planning(stored, by=by)
        replaces = stored.replaces.version if stored.replaces else None
        rows.append({"document": stored.pk, "run": run.pk, "name": one.document.name, "replaces": replaces})
        words.append(f"run {run.pk} reads {one.document.name} and plans")
    if not rows:
        raise IllegalMove("; ".join(words) + ".")
    result = {"project": project.pk, "slug": project.slug, "document": rows[-1]["document"], "run": rows[-1]["run"]}
    return {**result, "documents": rows}, f"{'; '.join(words)}."
