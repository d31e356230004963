"""aiswe requirements: extraction alone, a project's next document, and confirming what was read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from aiswe_site.cli import django, output
from aiswe_site.cli.problems import WrongUse

if TYPE_CHECKING:
    from projects.models import Project


class FileOrVerb(click.Group):
    """`aiswe requirements FILE` reads a document; the words of its commands come first (a file of such a name: ./…)."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put in the command that a file leaves out."""
        words = [word for word in args if not word.startswith("-")]
        if args and not {"-h", "--help"} & set(args) and (not words or words[0] not in self.commands):
            args = ["read", *args]
        return super().parse_args(ctx, args)


@click.group(cls=FileOrVerb)
def command() -> None:
    """List the requirements in a document (`aiswe requirements FILE`); upload, show and confirm those of a project."""


@command.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
@output.json_option
def read(file: str) -> None:
    """List every requirement in FILE with its lines, and every paragraph without one. No model is needed.

    The word "read" may be left out: `aiswe requirements FILE`.
    """
    from agents.requirements.documents import read_path
    from agents.requirements.extract import extract

    found = extract(read_path(file))

    def people() -> None:
        rows = [
            (
                r.key,
                r.author_key,
                r.kind.replace("_", "-"),
                "–".join(str(n) for n in dict.fromkeys(r.lines)),
                r.text if len(r.text) <= 160 else r.text[:157] + "…",
            )
            for r in found.requirements
        ]
        output.table(("Key", "In the document", "Kind", "Lines", "Text"), rows, nothing="No requirement was found.")
        mapped = found.mapped_paragraphs
        output.say(f"{len(rows)} requirements; {mapped} of {found.paragraphs} paragraphs mapped.")

    output.answer(found.to_json(), people)


@command.command()
@click.argument("project", type=django.named_project)
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
@django.as_option
@output.json_option
def upload(project: Project, file: str, user: str) -> None:
    """Give PROJECT (its short name) a document: its first, or the next one. It is read, then planned."""
    from agents.requirements.documents import read_path

    name = read_path(file).name
    from django.db import transaction

    from projects.services.planning import documents
    from projects.services.work import runs

    by = django.acting_user(user)
    with transaction.atomic():
        stored = documents.upload_document(project, Path(file).read_bytes(), name, by=by)
        run = runs.start_planning(stored, by=by)
    words = f"Run {run.pk} reads {name} and plans.\nNext: aiswe run watch {run.pk}"
    output.answer({"project": project.pk, "slug": project.slug, "document": stored.pk, "run": run.pk}, words)
    django.tell_worker()


@command.command()
@click.argument("project", type=django.named_project)
@output.json_option
def show(project: Project) -> None:
    """Show what the newest document of PROJECT (its short name) asks for, and what a rule or a model suggests."""
    from projects.services.planning import documents

    document = project.documents.first()
    if document is None:
        raise WrongUse(*_no_document(project))
    documents.extract_written(document)
    found = list(document.requirements.values("key", "author_key", "origin", "status", "text", "reason"))

    def people() -> None:
        rows = [
            (row["key"], row["author_key"], row["origin"], row["status"], f"{row['text']} {row['reason']}".strip())
            for row in found
        ]
        output.table(
            ("Key", "In the document", "Origin", "Status", "Text and reason"), rows, nothing="No requirement was found."
        )
        for left in document.unmapped:
            output.say(f"No requirement: {left['text']}")
        output.say(f"Next: aiswe requirements confirm {project.slug}, with --accept KEY for each suggestion to take")

    output.answer({"project": project.slug, "document": document.pk, "requirements": found}, people)


def _no_document(project: Project) -> tuple[str, str]:
    return f"{project.slug} has no document yet.", f"`aiswe requirements upload {project.slug} FILE` gives it one."


@command.command()
@click.argument("project", type=django.named_project)
@click.option("--accept", "keys", multiple=True, metavar="KEY", help="Accept this suggestion too; may be repeated.")
@django.as_option
@output.json_option
def confirm(project: Project, keys: tuple[str, ...], user: str) -> None:
    """Confirm the requirements of PROJECT (its short name): what its newest document says is accepted.

    Suggestions, which a rule or a model inferred, are rejected unless --accept names them.
    """
    from django.db import transaction

    from projects.models import Requirement, RequirementDocument
    from projects.services.planning import documents

    by, document = django.acting_user(user), project.documents.first()
    if document is None:
        raise WrongUse(*_no_document(project))
    documents.extract_written(document)
    suggested = document.requirements.exclude(origin__in=(Requirement.Origin.EXPLICIT, Requirement.Origin.MANUAL))
    if unknown := sorted(set(keys) - set(suggested.values_list("key", flat=True))):
        known = ", ".join(suggested.values_list("key", flat=True)) or "none"
        raise WrongUse(f"{', '.join(unknown)} is not a suggestion in {document}.", f"Suggestions: {known}.")
    if keys and document.status == RequirementDocument.Status.CONFIRMED:
        raise WrongUse(f"{document} is confirmed already.", "Upload a new version to change what was confirmed.")
    with transaction.atomic():
        if document.status != RequirementDocument.Status.CONFIRMED:
            for row in suggested.filter(status=Requirement.Status.PROPOSED):
                status = Requirement.Status.ACCEPTED if row.key in keys else Requirement.Status.REJECTED
                documents.set_requirement(row, by=by, status=status)
        documents.confirm_requirements(document, by=by)
    rows = list(document.requirements.values("key", "origin", "status", "text"))
    accepted = [row["key"] for row in rows if row["status"] == Requirement.Status.ACCEPTED]
    left_out = [row["key"] for row in rows if row["status"] == Requirement.Status.REJECTED]
    words = f"{len(accepted)} requirements of {project.slug} are confirmed."
    if left_out:
        words += f"\nLeft out: {', '.join(left_out)}"
    result = {"project": project.slug, "document": document.pk, "accepted": accepted, "rejected": left_out}
    planning = document.runs.order_by("-pk").first()
    output.answer(result, f"{words}\nNext: aiswe run watch {planning.pk}" if planning else words)
    django.tell_worker()
