"""Documents that commands are given: a file of any accepted format, or a folder of specifications."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from aiswe_site.terminal import output
from aiswe_site.terminal.problems import WrongUse

if TYPE_CHECKING:
    from django.contrib.auth.models import User

    from agents.recipes.recipe import Recipe
    from agents.requirements.readers.folders import Specification
    from agents.scaffold.components import Architecture
    from agents.scaffold.source import DiagramSource
    from projects.models import Project, RequirementDocument, Run
    from sandbox.base import Backend

GIVEN = click.Path(exists=True)
WHAT = "Markdown, text, reStructuredText, HTML, DOCX, PDF; or a folder of Spec Kit, OpenSpec or Kiro."
TICKET = "Or the address of a ticket of Jira Cloud or a forge."
RECIPE = "What it starts from: a name of `aiswe recipes list`, a folder, or a git address, also ADDRESS#TAG."


def recipe(text: str) -> Recipe | None:
    """The recipe that a command names; None for none. Raises WrongUse."""
    from projects.errors import BadInput
    from projects.services.repositories.recipes import recipe_named

    try:
        return recipe_named(text) if text else None
    except BadInput as refused:
        raise WrongUse(str(refused), "`aiswe recipes list` shows what there is.") from None


def _sandbox() -> Backend:
    from aiswe_site.startup.configuration import load
    from sandbox.registry import open_backend

    return open_backend(load().SANDBOX)


def read_given(path: str) -> list[Specification]:
    """What is read from a file or a folder, without Django. Raises DocumentRefused."""
    from agents.requirements.readers.convert import read_file
    from agents.requirements.readers.folders import Specification, read_folder

    return read_folder(path) if Path(path).is_dir() else [Specification("", read_file(path, _sandbox), "")]


def check_one_given(file: str | None, ticket: str) -> None:
    """Raises UsageError when not exactly one of them is given."""
    if bool(file) == bool(ticket):
        words = "Give a file or --ticket, not both or neither: --ticket https://example.atlassian.net/browse/A-1"
        raise click.UsageError(words)


def read_ticket_or_file(file: str | None, ticket: str, by: User, project: Project | None = None) -> list[Specification]:
    """What is read from whichever of them is given. Raises UsageError when it is not one."""
    from projects.services.forges.tickets import read_ticket

    check_one_given(file, ticket)
    found = read_given(file) if file else [read_ticket(ticket, by=by, project=project)]
    for note in found[0].document.notes if ticket else ():
        output.note(note)
    return found


def read_architecture(path: str, line: int) -> tuple[DiagramSource, Architecture]:
    """The architecture in the diagrams of a file: in the one on `line`, or 0 for the one that says most.

    Raises DocumentRefused and NoArchitecture.
    """
    from agents.scaffold.components import read_architecture
    from agents.scaffold.source import read_source

    if Path(path).is_dir():
        raise WrongUse(f"{path} is a folder.", "Name the file with the diagram.")
    source = read_source(path, _sandbox)
    return source, read_architecture(source.diagrams, line)


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
    from projects.services.planning import documents, runs
    from projects.services.planning.plan_rules import nothing_left

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
