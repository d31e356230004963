"""Tickets of other servers: read into documents and backlogs, and told what became of them on a person's yes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User

from agents.forges.contract import ForgeRefused, Ticket
from agents.forges.ticket_text import about, as_markdown, read_files
from agents.forges.tickets import Tickets, jira_address, open_tickets
from agents.requirements.documents import DocumentRefused, read_document
from agents.requirements.readers.convert import read_any
from agents.requirements.readers.folders import Specification
from agents.workspace.fetching import RemoteAccess
from projects.errors import BadInput, StaleVersion
from projects.models import Approval, BacklogItem, Project, Run, SiteEvent
from projects.services.accounts.rights import require
from projects.services.audit.canonical import clean_line
from projects.services.audit.sitelog import note
from projects.services.backlog import items
from projects.services.delivery import state
from projects.services.forges.links import in_words
from projects.services.planning.reading import configured_sandbox, read_bytes
from projects.services.repositories.importing import by_host, remote_access
from projects.services.work import approval_requests

MOST_IMPORTED = 200
IMPORTED = (BacklogItem.Source.JIRA, BacklogItem.Source.FORGE)


@dataclass(frozen=True)
class TicketReport:
    """What would be written on the ticket that a build was for; `written` says when it was, and by whom."""

    address: str
    text: str
    written: str = ""

    @property
    def digest(self) -> str:
        """What a person says yes to."""
        return hashlib.sha256(f"{self.address}\n{self.text}".encode()).hexdigest()


@dataclass(frozen=True)
class ImportedTickets:
    """The tickets that a backlog took, and the keys of the others.

    Those are closed there, or done, left out or begun here, or the backlog has the key for a ticket elsewhere.
    """

    items: list[BacklogItem]
    left: list[str]


@contextmanager
def _refusals() -> Iterator[None]:
    try:
        with in_words():
            yield
    except DocumentRefused as refused:
        raise BadInput(f"{refused.name}: {refused.reason} {refused.hint}") from None


def _open(address: str, *, one: bool = True) -> tuple[Tickets, str]:
    jira = RemoteAccess(settings.GIT_HOSTS, by_host(settings.JIRA_TOKENS))
    return open_tickets(address, jira, remote_access(), one=one)


def read_ticket(address: str, *, by: User, project: Project | None = None) -> Specification:
    """The ticket at an address as a document, whose place is that address; of a `project` that is there.

    Raises NotAllowed, and BadInput with what to do.
    """
    if project is not None:
        require(by, project, "document.upload")
    with _refusals():
        server, key = _open(address)
        ticket = server.ticket(key)
        files, left = read_files(ticket, server.attachment, lambda data, name: read_any(data, name, configured_sandbox))
        data = as_markdown(ticket, files).encode("utf-8", "replace")
        document = read_document(data, f"{ticket.key.replace('#', '-')}.md")
    note(by, "ticket.read", ticket.web_address, {"files": [name for name, _ in files], "left": left})
    return Specification(ticket.web_address, replace(document, notes=(*document.notes, *about(ticket, left))), "")


def read_given(given: tuple[bytes, str], *, by: User, project: Project | None = None) -> Specification:
    """What a form was given: the bytes and the name of a file, or no bytes and the address of a ticket.

    Raises NotAllowed and BadInput.
    """
    data, name = given
    if not data and "://" in name:
        return read_ticket(name, by=by, project=project)
    return Specification("", read_bytes(data, name), "")


def import_tickets(project: Project, where: str, query: str, *, by: User) -> ImportedTickets:
    """Put what a query finds into the backlog; a ticket that is there takes the new words, as long as nothing began.

    `where` is a site of Jira, where the query is JQL, or a repository on a forge. Raises NotAllowed and BadInput.
    """
    require(by, project, "backlog.edit")
    with _refusals():
        source = BacklogItem.Source.JIRA if jira_address(where) else BacklogItem.Source.FORGE
        if source == BacklogItem.Source.JIRA and not query.strip():
            raise BadInput('Say which tickets, in JQL: project = SHOP AND status = "To Do".')
        found = _open(where, one=False)[0].tickets(query.strip()[:2_000], MOST_IMPORTED)
    if not found:
        raise BadInput("The query finds no ticket.")
    settled = set(project.backlog.exclude(left_out="", done_at=None, document=None).values_list("key", flat=True))
    settled |= {one.key for one in found if one.state != "open"}
    read = project.documents.filter(place__in=[one.web_address for one in found]).values_list("place", flat=True)
    settled |= {one.key for one in found if one.web_address in set(read)}
    # Keys are those of a site or a name alone: the same key may be another ticket, of a fork or of another site.
    links = dict(project.backlog.exclude(link="").values_list("key", "link"))
    settled |= {one.key for one in found if links.get(one.key, one.web_address).lower() != one.web_address.lower()}
    rows = [_row(one) for one in found if one.key not in settled]
    added = items.add(project, rows, by=by, source=source) if rows else []
    note(by, "backlog.imported", project.slug, {"from": where, "query": query, "found": len(found)})
    return ImportedTickets(added, [one.key for one in found if one.key in settled])


def _row(ticket: Ticket) -> dict[str, Any]:
    text = ticket.text
    if len(text) > items.MOST_TEXT:
        more = "\n\n(It is longer: the rest is at its address.)"
        text = text[: items.MOST_TEXT - len(more)] + more
    minutes = ticket.minutes if ticket.minutes and 1 <= ticket.minutes <= items.MOST_MINUTES else ""
    return {"key": ticket.key, "title": ticket.title, "text": text, "link": ticket.web_address, "minutes": str(minutes)}


def report_of(run: Run, found: state.RunResult | None = None) -> TicketReport | None:
    """What would be written about a build on the ticket that it was for; None when it was for none, or is not over.

    `found` is its result, where that is known already.
    """
    document = run.document
    if document is None or run.kind != Run.Kind.BUILD or run.status not in Run.OVER:
        return None
    item = BacklogItem.objects.filter(document=document, source__in=IMPORTED).first()
    address = item.link if item else document.place
    if not address.startswith("https://"):
        return None
    found = found or state.result(run)
    met = f"{found.met} of {len(found.asked)} requirements met"
    told = [f"AI SWE built this in run {run.pk} of {_quoted(run.project.name)}: {met}."]
    if found.commit:
        told.append(
            f"Commit {_quoted(found.commit[:12])}" + (f" on branch {_quoted(found.branch)}." if found.branch else ".")
        )
    if found.tests:
        counts = ", ".join(f"{int(found.tests.get(name) or 0)} {name}" for name in ("passed", "failed"))
        told.append(f"Tests at the last merge: {counts}.")
    if (request := run.pull_requests.first()) is not None:
        told.append(f"Pull request, {request.get_state_display()}: {request.web_address}")
    told += [f"Not done: {_quoted(f'{task.key} {task.title}')}." for task in found.left_out[:10]]
    report = TicketReport(address, "\n".join(told))
    rows = SiteEvent.objects.filter(action="ticket.written", subject=f"run {run.pk}", outcome="ok")
    last = rows.filter(detail__digest=report.digest).order_by("seq").last()
    return replace(report, written=f"{last.at:%Y-%m-%d %H:%M} UTC by {last.actor}") if last else report


def _quoted(text: str) -> str:
    """Words of other people as code: there no forge reads a mention, a command or a link."""
    return f"`{clean_line(text.replace('`', ''), 120)}`"


def write_back(run: Run, *, by: User, digest: str, move: str = "") -> TicketReport:
    """Write the report on the ticket and, where `move` names a step or a state, take that step there.

    What is written there already is not written again: then the ticket is moved alone. `digest` is that of the report
    that the person said yes to. The yes stands in the run's trail before anything leaves, the outcome in the site's.
    Raises NotAllowed, BadInput, and StaleVersion when it would say something else.
    """
    require(by, run.project, "approval.decide")
    report, move = report_of(run), clean_line(move, 60)
    if report is None:
        raise BadInput(f"Run {run.pk} is not over, or it was not for a ticket of another server.")
    if digest != report.digest:
        raise StaleVersion("What would be written is something else by now. Look again before you say yes.")
    if report.written and not move:
        raise BadInput(f"That was written on the ticket already: {report.written}.")
    with _refusals():
        server, key = _open(report.address)
        steps = server.transitions(key) if move else []
        step = next((one for one in steps if move.lower() in (one.name.lower(), one.to.lower())), None)
        if move and step is None:
            known = ", ".join(f"{one.name} (to {one.to})" for one in steps) or "none"
            raise BadInput(f"{key} has no step {move!r} now. There are: {known}.")
        _approved(run, report, key, move, by)
        detail = {"project": run.project.slug, "address": report.address, "digest": digest, "move": move}
        doing = "ticket.written"
        try:
            if not report.written:
                server.comment(key, report.text)
                note(by, doing, f"run {run.pk}", detail)
            if step is not None:
                doing = "ticket.moved"
                server.move(key, step)
                note(by, doing, f"run {run.pk}", detail)
        except ForgeRefused as refused:
            note(by, doing, f"run {run.pk}", detail | {"problem": str(refused)}, outcome="fail")
            raise
    return report


def _approved(run: Run, report: TicketReport, key: str, move: str, by: User) -> None:
    """Keep the yes, with the words that it is about."""
    also = f" and move it: {move}" if move else ""
    leaves = f"A step leaves this installation for {report.address}, where these words are already."
    if not report.written:
        leaves = f"Words leave this installation for {report.address}."
    asked = approval_requests.ask(
        run.project,
        kind=Approval.Kind.PUSH,
        subject=f"{report.digest} {move}",
        title=f"Move {key}: {move}" if report.written else f"Write the result on {key}{also}",
        run=run,
        why=f"{leaves}\n\n{report.text}",
        on_yes="The ticket is moved." if report.written else "They are written below the ticket.",
        on_no="Nothing is sent.",
    )
    approval_requests.close_approval(asked, Approval.Status.APPROVED, by=by)
