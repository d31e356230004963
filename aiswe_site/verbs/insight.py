"""The verbs on backlogs, reports, audit trails and questions about code, and what they answer with."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

from django.utils import timezone
from pydantic import BaseModel, Field

from agents.prompts.provenance import Source
from aiswe_site.verbs import answers, facts, trails
from aiswe_site.verbs.callers import Caller
from aiswe_site.verbs.fields import fields
from aiswe_site.verbs.lookup import AnyProject, Number, Slug, row_of, woken
from dashboard.presenters.night import headline
from projects.engine import questions
from projects.errors import NotFound
from projects.models import BacklogItem, Project, Run
from projects.services.accounts import rights
from projects.services.audit import exports
from projects.services.audit.canonical import clean_json
from projects.services.audit.checkpoints import read_heads
from projects.services.audit.vocabulary import schema
from projects.services.backlog import items
from projects.services.backlog.forecast import progress_of, simulate
from projects.services.insight.attention import waiting_for
from projects.services.insight.report import weekly_report as report_of
from projects.services.insight.report_text import text_of
from projects.services.insight.weeks import Week


@dataclass(frozen=True)
class Streamed:
    """An answer that is sent while it is made."""

    media: str
    pieces: Iterator[str] | AsyncIterator[str]
    filename: str = ""  # for a download


class TicketAnswer(answers.Told):
    """A ticket of a project's backlog."""

    key: str
    title: str
    link: str
    minutes: int | None
    autonomy: str
    assigned: datetime | None
    state: str
    run: int | None
    why: str


class BacklogAnswer(BaseModel):
    """A project's open tickets in order, and what the agents get done next."""

    headline: str
    sentence: str
    items: list[TicketAnswer]


class TicketsAnswer(BaseModel):
    """Tickets that were added or changed."""

    items: list[TicketAnswer]


class ReportAnswer(BaseModel):
    """A weekly report with its costs, as data and as text."""

    week: str
    adds_up: bool = Field(description="Whether its rows are the ledger, to the last token.")
    report: dict[str, Any]
    text: str


class TrailAnswer(BaseModel):
    """What verifying a run's audit trail found."""

    run: int
    ok: bool
    events: int = Field(description="Events that are proven.")
    first_bad_seq: int = Field(description="0 when all is well.")
    problem: str
    head_hash: str
    anchors: int = Field(description="Hashes noted outside the database that were met.")
    decisions: list[dict[str, Any]] = Field(description="Rows that are not what the trail recorded.")
    lines: list[str] = Field(description="The same in words.")


class KindsAnswer(BaseModel):
    """The kinds of events."""

    kinds: list[dict[str, Any]]


class MeAnswer(BaseModel):
    """Who calls, and with what scopes."""

    user: str
    superuser: bool
    scopes: list[str]


def _ticket_of(row: BacklogItem) -> TicketAnswer:
    stands = progress_of(row)
    return TicketAnswer(
        source=Source.PERSON,
        **fields(row, "key title link minutes autonomy assigned=assigned_at"),
        state=str(stands.state),
        run=stands.run.pk if stands.run else None,
        why=stands.why,
    )


def list_backlog(caller: Caller, project: Slug) -> BacklogAnswer:
    """List the open tickets of a project in order, and say what the agents get done next."""
    row = row_of(caller, Project, slug=project)
    found = [_ticket_of(item) for item in items.open_items(row).select_related("document", "project")]
    title, sentence = headline(simulate(row, timezone.now()), len(found))
    return BacklogAnswer(headline=title, sentence=sentence, items=found)


def add_tickets(
    caller: Caller,
    project: Slug,
    text: Annotated[str, Field(min_length=1, max_length=1_000_000)],
    csv: Annotated[bool, Field(description="`text` is CSV with a head line, not a ticket a line or block.")] = False,
) -> TicketsAnswer:
    """Add tickets to a project's backlog: one a line, blocks with empty lines between them, or CSV."""
    row = row_of(caller, Project, slug=project)
    given = items.from_csv(text.encode()) if csv else items.from_text(text)
    added = items.add(row, given, by=caller.user, source="csv" if csv else "pasted")
    return TicketsAnswer(items=[_ticket_of(item) for item in added])


def assign_tickets(
    caller: Caller,
    project: Slug,
    keys: Annotated[list[Annotated[str, Field(max_length=40)]], Field(min_length=1, max_length=1_000)],
    minutes: Annotated[str, Field(max_length=20, description="An estimate for each: minutes, or like 1h30.")] = "",
) -> TicketsAnswer:
    """Assign tickets of a project to the agents, who work on them by themselves in its hours."""
    row = row_of(caller, Project, slug=project)
    rights.require(caller.user, row, "backlog.edit")
    rows = items.open_items(row).filter(key__in=keys)
    if missing := sorted(set(keys) - set(rows.values_list("key", flat=True))):
        raise NotFound(f"There is no open ticket {missing[0]!r}. `list_backlog` shows what there is.")
    chosen = list(rows.values_list("pk", flat=True))
    if minutes:
        items.change(row, chosen, by=caller.user, do="estimate", value=minutes)
    changed = items.change(row, chosen, by=caller.user, do="assign")
    woken()
    return TicketsAnswer(items=[_ticket_of(item) for item in changed])


def weekly_report(
    caller: Caller,
    project: AnyProject = "",
    week: Annotated[
        str, Field(pattern=r"^([0-9]{4}-W[0-9]{2})?$", description="Like 2026-W48; this one by default.")
    ] = "",
) -> ReportAnswer:
    """Report what a week brought, what it cost and what is stuck, in the projects that you see."""
    now = timezone.now()
    projects = Project.objects.visible_to(caller.user)
    if project:
        projects = projects.filter(pk=row_of(caller, Project, slug=project).pk)
    needs = waiting_for(caller.user, now, projects.values_list("pk", flat=True) if project else None)
    found = report_of(projects, Week.parse(week) if week else Week.of(now), now=now, needs=needs)
    return ReportAnswer(
        week=str(found.week), adds_up=found.adds_up, report=clean_json(found.document()), text=text_of(found)
    )


def verify_trail(caller: Caller, run: Number) -> TrailAnswer:
    """Recompute the audit trail of a run and compare it with what is stored outside the database."""
    row = row_of(caller, Run, pk=run)
    found = trails.check_run(row.pk, read_heads())
    document = {name: found.document[name] for name in TrailAnswer.model_fields if name not in ("ok", "lines")}
    return TrailAnswer(**document, ok=found.ok, lines=found.lines)


def export_trail(caller: Caller, run: Number) -> Streamed:
    """Export every event of a run with its hash, oldest first, a line of JSON each."""
    row = row_of(caller, Run, pk=run)
    rights.require(caller.user, row.project, "audit.export")
    return Streamed("application/x-ndjson", exports.export_events(row.pk, "jsonl"), f"run-{row.pk}-audit.jsonl")


def event_kinds(caller: Caller) -> KindsAnswer:
    """List every kind of event: its type, what it means, and the fields of its payload."""
    return KindsAnswer(kinds=schema())


def who_am_i(caller: Caller) -> MeAnswer:
    """Tell whose token this is, and what it may do."""
    scopes = caller.token.scopes if caller.token else []
    return MeAnswer(user=caller.user.get_username(), superuser=caller.user.is_superuser, scopes=scopes)


def ask_code(
    caller: Caller,
    project: Slug,
    question: Annotated[str, Field(min_length=1, max_length=questions.LONGEST)],
) -> answers.PlacesAnswer:
    """Find the places of a project's code and documents that answer a question; no model is asked."""
    return facts.places_of(questions.search(row_of(caller, Project, slug=project), question, borrows=True))
