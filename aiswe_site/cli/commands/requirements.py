"""aiswe requirements: extraction alone, a project's next document, and confirming what was read."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, Any

import click

from agents.events.base import counted
from agents.requirements.model import KINDS
from aiswe_site.cli import arguments, documents
from aiswe_site.terminal import output
from aiswe_site.terminal.operator import acting_user
from aiswe_site.terminal.problems import WrongUse
from aiswe_site.verbs.fields import fields

if TYPE_CHECKING:
    from agents.requirements.documents import Document
    from agents.requirements.model import Extraction
    from projects.models import Project, Requirement, RequirementDocument


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
@click.argument("file", type=documents.GIVEN)
@output.json_option
def read(file: str) -> None:
    """List every requirement in FILE with its lines, what follows from them, and what stays open. No model is needed.

    FILE is Markdown, text, reStructuredText, HTML, DOCX or PDF, or a folder of Spec Kit, OpenSpec or Kiro. The word
    "read" may be left out: `aiswe requirements FILE`.
    """
    from agents.requirements.extract import extract

    found = [(one, extract(one.document)) for one in documents.read_given(file)]

    def people() -> None:
        for one, extraction in found:
            if one.place:
                output.say(one.place)
            _list(one.document, extraction)

    result = [{"document": one.document.name, **_plain(extraction)} for one, extraction in found]
    output.answer({"documents": result} if found[0][0].place else _plain(found[0][1]), people)


def _plain(found: Extraction) -> dict[str, Any]:
    """What was found, and what rules suggest because of it."""
    from agents.requirements.implicit import imply

    return {**found.to_json(), "suggestions": [implied.to_json() for implied in imply(found.requirements)]}


def _list(document: Document, found: Extraction) -> None:
    def place(lines: tuple[int, int]) -> str:
        page = bisect_right(document.pages, lines[0])
        return "–".join(str(n) for n in dict.fromkeys(lines)) + (f", page {page}" if page else "")

    rows = [
        (
            r.key,
            r.author_key,
            r.kind.replace("_", "-"),
            place(r.lines),
            r.text if len(r.text) <= 160 else r.text[:157] + "…",
        )
        for r in found.requirements
    ]
    output.table(("Key", "In the document", "Kind", "Lines", "Text"), rows, nothing="No requirement was found.")
    output.say(
        f"{counted(len(rows), 'requirement')}; {found.mapped_paragraphs} of {found.paragraphs} paragraphs mapped."
    )
    for question in found.questions:
        output.say(f"Open, line {place(question.lines)}: {question.text}")
    for note in document.notes:
        output.note(note)


@command.command()
@click.argument("project", type=arguments.named_project)
@click.argument("file", type=documents.GIVEN, required=False)
@click.option("--ticket", default="", metavar="URL", help=documents.TICKET)
@click.option("--replaces", is_flag=True, help="It replaces the one of its name, else the newest.")
@click.option("--adds", is_flag=True, help="It adds to the earlier ones, whatever its name.")
@arguments.as_option
@output.json_option
def upload(project: Project, file: str | None, ticket: str, replaces: bool, adds: bool, user: str) -> None:
    """Give PROJECT (its short name) a document: its first, or the next one. It is read, then planned.

    It replaces the document of the same file name, and adds to the project where there is none.

    FILE is Markdown, text, reStructuredText, HTML, DOCX or PDF, or a folder of Spec Kit, OpenSpec or Kiro: a document
    for each of its specifications. A ticket that is read again replaces what was read of it before.
    """
    if replaces and adds:
        raise WrongUse("A document replaces earlier ones or adds to them.", "Give --replaces or --adds, not both.")
    from django.db import transaction

    from projects.errors import BadInput

    by = acting_user(user)
    found = documents.read_ticket_or_file(file, ticket, by, project)
    with transaction.atomic():
        try:
            result, words = documents.store_and_plan(project, found, by, "replaces" * replaces + "adds" * adds)
        except BadInput as refused:
            raise WrongUse(str(refused), "Leave out --replaces.") from refused
    output.answer(result, f"{words[:1].upper()}{words[1:]}\nNext: aiswe run watch {result['run']}")
    arguments.tell_worker()


spec_option = click.option(
    "--spec", default="", metavar="PATH", help="Of this specification or file; the newest document by default."
)


@command.command()
@click.argument("project", type=arguments.named_project)
@spec_option
@output.json_option
def show(project: Project, spec: str) -> None:
    """Show what the newest document of PROJECT (its short name) asks for, and what a rule or a model suggests.

    Of one that replaces another it shows what was added, altered and removed.
    """
    from projects.services.planning.documents import extract_written
    from projects.services.planning.progress import differences
    from projects.services.planning.suggestions import read_by_model

    document = extract_written(_document(project, spec))
    found = list(document.requirements.values("key", "author_key", "origin", "status", "text", "reason"))
    difference = [one.to_json() for one in differences(document)]

    def people() -> None:
        rows = [
            (row["key"], row["author_key"], row["origin"], row["status"], f"{row['text']} {row['reason']}".strip())
            for row in found
        ]
        output.table(
            ("Key", "In the document", "Origin", "Status", "Text and reason"), rows, nothing="No requirement was found."
        )
        for one in difference:
            if one["change"] != "same":
                output.say(f"{one['change'].capitalize()}: {one['key']} {one['after'] or one['before']}")
        for left in document.unmapped:
            output.say(f"No requirement: {left['text']}")
        if document.status == document.Status.CONFIRMED:
            output.say(f"Confirmed. A change is a new version: aiswe requirements upload {project.slug} FILE")
        else:
            output.say(f"Next: {documents.to_confirm(document)}, with --accept KEY for each suggestion to take")
        if read_by_model(document).exists():
            output.say("--accept-read takes all that the model reads in the document.")

    names = "document=pk version status"
    result = {"project": project.slug, **fields(document, names), "requirements": found}
    replaces = document.replaces.version if document.replaces else None
    output.answer({**result, "replaces": replaces, "difference": difference}, people)


def _open(project: Project, spec: str) -> RequirementDocument:
    """A document whose requirements nobody confirmed yet."""
    from projects.services.planning.documents import extract_written

    document = extract_written(_document(project, spec))
    if document.status == document.Status.CONFIRMED:
        raise WrongUse(f"{document} is confirmed already.", "Upload a new version to change what was confirmed.")
    return document


def _document(project: Project, spec: str) -> RequirementDocument:
    newest = {one.place or one.filename: one for one in reversed(project.documents.all())}
    found = newest.get(spec) if spec else project.documents.first()
    if found is None and spec:
        known = ", ".join(sorted(newest)) or "none"
        raise WrongUse(f"{project.slug} has no specification or document {spec}.", f"It has: {known}.")
    if found is None:
        hint = f"`aiswe requirements upload {project.slug} FILE` gives it one."
        raise WrongUse(f"{project.slug} has no document yet.", hint)
    return found


@command.command()
@click.argument("project", type=arguments.named_project)
@spec_option
@click.option("--accept", "keys", multiple=True, metavar="KEY", help="Accept this suggestion too; may be repeated.")
@click.option("--accept-read", is_flag=True, help="Accept what the model alone reads in the document as asked for.")
@arguments.as_option
@output.json_option
def confirm(project: Project, spec: str, keys: tuple[str, ...], accept_read: bool, user: str) -> None:
    """Confirm the requirements of PROJECT (its short name): what its newest document says is accepted.

    Suggestions, which a rule or a model inferred, are rejected unless --accept names them or --accept-read means them.
    """
    from django.db import transaction

    from projects.models import Requirement, RequirementDocument
    from projects.services.planning import documents as service
    from projects.services.planning import suggestions

    by, document = acting_user(user), service.extract_written(_document(project, spec))
    suggested = suggestions.suggested(document).values_list("key", flat=True)
    if unknown := sorted(set(keys) - set(suggested)):
        known = ", ".join(suggested) or "none"
        raise WrongUse(f"{', '.join(unknown)} is not a suggestion in {document}.", f"Suggestions: {known}.")
    if keys:
        _open(project, spec)
    with transaction.atomic():
        if document.status != RequirementDocument.Status.CONFIRMED:
            if accept_read:
                suggestions.accept_read(document, by=by)
            suggestions.decide_suggestions(document, keys, by=by, reject_others=True)
        service.confirm_requirements(document, by=by)
    rows = list(document.requirements.values("key", "origin", "status", "text"))
    accepted = [row["key"] for row in rows if row["status"] == Requirement.Status.ACCEPTED]
    left_out = [row["key"] for row in rows if row["status"] == Requirement.Status.REJECTED]
    words = f"Confirmed: {counted(len(accepted), 'requirement')} of {project.slug}."
    if left_out:
        words += f"\nLeft out: {', '.join(left_out)}"
    result = {"project": project.slug, "document": document.pk, "accepted": accepted, "rejected": left_out}
    planning = document.runs.order_by("-pk").first()
    output.answer(result, f"{words}\nNext: aiswe run watch {planning.pk}" if planning else words)
    arguments.tell_worker()


@command.command()
@click.argument("project", type=arguments.named_project)
@spec_option
@arguments.as_option
@output.json_option
def withdraw(project: Project, spec: str, user: str) -> None:
    """Take back the newest document of PROJECT (its short name), as long as nothing was built from it.

    Its planning ends, and the document that it replaced is in force again.
    """
    from projects.services.planning.withdrawing import withdraw_document

    document = _document(project, spec)
    withdraw_document(document, by=acting_user(user))
    output.answer({"project": project.slug, "document": document.pk}, f"{document} is withdrawn.")


@command.command()
@click.argument("project", type=arguments.named_project)
@click.argument("text")
@spec_option
@click.option(
    "--kind", default="functional", show_default=True, type=click.Choice([kind.replace("_", "-") for kind in KINDS])
)
@click.option("--criterion", "criteria", multiple=True, metavar="TEXT", help="How one sees it; may be repeated.")
@arguments.as_option
@output.json_option
def add(project: Project, text: str, spec: str, kind: str, criteria: tuple[str, ...], user: str) -> None:
    """Add the requirement TEXT, which is not in the newest document of PROJECT (its short name); it is accepted."""
    from projects.services.planning.documents import add_requirement

    document = _open(project, spec)
    if (same := document.requirements.filter(text=text.strip()).first()) is not None:
        raise WrongUse(f"{document} says that already: {same.key}.", f"`aiswe requirements show {project.slug}`")
    row = add_requirement(document, by=acting_user(user), text=text, kind=kind.replace("-", "_"), acceptance=criteria)
    _changed(document, [row])


def _deciding(verb: str, about: str) -> None:
    """Add the command that moves requirements to what `verb` says."""

    @command.command(verb, help=about)
    @click.argument("project", type=arguments.named_project)
    @click.argument("keys", nargs=-1, required=True, metavar="KEY...")
    @spec_option
    @arguments.as_option
    @output.json_option
    def decide(project: Project, keys: tuple[str, ...], spec: str, user: str) -> None:
        from django.db import transaction

        from projects.services.planning.documents import set_requirement

        by, document = acting_user(user), _open(project, spec)
        rows = {row.key: row for row in document.requirements.all()}
        if unknown := [key for key in keys if key not in rows]:
            raise WrongUse(f"{document} has no requirement {', '.join(unknown)}.", f"It has: {', '.join(rows)}.")
        with transaction.atomic():
            _changed(document, [set_requirement(rows[key], by=by, status=f"{verb}ed") for key in dict.fromkeys(keys)])


_deciding("accept", "Accept suggestions of a rule or the model, or what was rejected before, by their KEYs.")
_deciding("reject", "Reject requirements by their KEYs: they are not built.")


def _changed(document: RequirementDocument, rows: list[Requirement]) -> None:
    words = "\n".join(f"{row.get_status_display()}: {row.key} {row.text}" for row in rows)
    found = [fields(row, "key origin kind status text acceptance") for row in rows]
    result = {"project": document.project.slug, "document": document.pk, "requirements": found}
    output.answer(result, f"{words}\nNext: {documents.to_confirm(document)}")
