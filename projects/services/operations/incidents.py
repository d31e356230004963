"""Incidents: opened by a sign, followed step by step, ended with words on how."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import F
from django.utils import timezone

from agents.secrets.redaction import redact
from projects.errors import IllegalMove
from projects.models import BadRequest, Deployment, Incident, NoticeKind, Target
from projects.services.accounts.rights import require, require_administrator
from projects.services.audit.canonical import clean_line, clean_text
from projects.services.audit.sitelog import note
from projects.services.notices import outbox

Status = Incident.Status
MOST_STEPS = 200
LOUD = {Status.NEEDS_YOU, Status.GIVEN_UP}


def report(
    target: Target | None,
    *,
    kind: str,
    signature: str,
    title: str,
    deployment: Deployment | None = None,
    evidence: str = "",
    cause: str = "",
    request: BadRequest | None = None,
) -> tuple[Incident, bool]:
    """The open incident with this signature, counted once more, or a new one; True when it is new.

    One that was given up after fixes is counted too until a version comes that was not there then: a row of its own
    would have as many fixes tried again.
    """
    with transaction.atomic():
        if target is not None:
            Target.objects.select_for_update(no_key=True).get(pk=target.pk)
        rows = Incident.objects.filter(target=target, signature=signature).exclude(status__in=Incident.OVER)
        found = rows.first() or _given_up(deployment, signature)
        if found is not None:
            Incident.objects.filter(pk=found.pk).update(count=F("count") + 1, last_seen=timezone.now())
            found.refresh_from_db()
            return found, False
        found = Incident.objects.create(
            target=target,
            deployment=deployment,
            kind=kind,
            signature=signature[:64],
            title=clean_line(str(redact(title)), 200),
            evidence=clean_text(str(redact(evidence)))[-20_000:],
            cause=clean_text(cause),
            request=request,
        )
        note("operations", "incident.opened", f"{target or 'this installation'}: {found.title}", {"kind": kind})
    return found, True


def _given_up(deployment: Deployment | None, signature: str) -> Incident | None:
    """The incident with this signature, if fixes of it were given up when the version that has it was there already."""
    if deployment is None:
        return None
    rows = Incident.objects.filter(target=deployment.target_id, signature=signature).order_by("-pk")
    last = rows.first()
    if last is None or last.status != Status.GIVEN_UP or not last.fixes or last.resolved_at is None:
        return None
    same = Deployment.objects.filter(target=deployment.target_id, commit=deployment.commit)
    return last if same.filter(created_at__lte=last.resolved_at).exists() else None


def step(incident: Incident, text: str, *, actor: Any = "operations", status: str = "", **changes: Any) -> None:
    """Add a line to the timeline, and move the incident where a status is given."""
    name = actor.get_username() if hasattr(actor, "get_username") else str(actor)
    said = clean_text(str(redact(text)))[:2000]
    with transaction.atomic():
        row = Incident.objects.select_for_update(no_key=True).get(pk=incident.pk)
        row.timeline = [*row.timeline, {"at": timezone.now().isoformat(), "actor": name, "text": said}][-MOST_STEPS:]
        before = row.status
        if status:
            row.status = status
            row.resolved_at = timezone.now() if status in Incident.OVER else None
        for field, value in changes.items():
            setattr(row, field, value)
        row.save()
        if status and status != before:
            where = row.target or "this installation"
            note(actor, f"incident.{status}", f"{where}: {row.title}", {"text": clean_line(said, 300)})
            if status in LOUD:
                kind = NoticeKind.DECISION if status == Status.NEEDS_YOU else NoticeKind.FAILED
                link = {"key": f"incident:{row.pk}:{status}", "link": f"/incidents/{row.pk}"}
                text = f"incident: {Status(status).label.lower()}"
                if row.target is not None:
                    outbox.tell(kind, row.target.project, **link, text=text)
                else:
                    outbox.tell_administrators(kind, **link, text=text)
    incident.refresh_from_db()


def close(incident: Incident, *, by: User, reason: str) -> None:
    """A person ends it. Raises NotAllowed and IllegalMove."""
    if incident.target is not None:
        require(by, incident.target.project, "deploy")
    else:
        require_administrator(by, "Closing an incident of this installation")
    if incident.status in Incident.OVER:
        raise IllegalMove("This incident is over already.")
    step(incident, reason or "closed by a person", actor=by, status=Status.RESOLVED)


def retry(incident: Incident, *, by: User) -> None:
    """A person has the agent try again. Raises NotAllowed and IllegalMove."""
    if incident.target is None:
        raise IllegalMove("Nothing of this installation is mended by itself.")
    require(by, incident.target.project, "deploy")
    if incident.status not in (Status.NEEDS_YOU, Status.GIVEN_UP):
        raise IllegalMove("The agent is at it already.")
    step(incident, "asked to try again", actor=by, status=Status.OPEN, fixes=0)


def open_for(target: Target | None) -> list[Incident]:
    """Incidents of a target, or with None of this installation, that are not over, oldest first."""
    return list(Incident.objects.filter(target=target).exclude(status__in=Incident.OVER).order_by("pk"))
