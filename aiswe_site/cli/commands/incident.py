"""aiswe incident: what went wrong where a project runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from aiswe_site.cli import arguments
from aiswe_site.startup import django
from aiswe_site.terminal import output
from aiswe_site.terminal.operator import acting_user
from aiswe_site.verbs.fields import fields

if TYPE_CHECKING:
    from projects.models import Incident

numbered = arguments.numbered("Incident", "incident", "`aiswe incident list` lists them.")


@click.group()
def command() -> None:
    """What went wrong where projects run, and what was done about it."""


def _row(incident: Incident) -> dict[str, Any]:
    names = "id=pk title kind status count cause fixes first_seen last_seen resolved_at"
    found = fields(incident, f"{names} target=target.name project=target.project.slug run=run.pk")
    return found | {"seconds": incident.seconds_to_resolution}


@command.command("list")
@arguments.project_option
@output.json_option
def list_(slug: str) -> int:
    """List incidents, the newest first; those without a project are of this installation."""
    django.start()
    from projects.models import Incident

    rows = Incident.objects.select_related("target__project", "run")
    if slug:
        rows = rows.filter(target__project=arguments.project(slug))
    found = [_row(row) for row in rows[:200]]
    columns: dict[str, output.Column] = {
        "ID": "id",
        "State": "status",
        "Where": "target",
        "Project": "project",
        "What": "title",
    }
    return output.answer(found, lambda: output.records(found, columns, nothing="Nothing went wrong."))


@command.command()
@click.argument("incident", type=numbered)
@output.json_option
def show(incident: Incident) -> int:
    """Show the cause of an INCIDENT and every step that was taken."""

    def people() -> None:
        output.say(f"{incident.title}: {incident.get_status_display().lower()}\n{incident.cause}")
        for step in incident.timeline:
            output.say(f"{step['at'][:19]}  {step['actor']}: {step['text']}")

    document = _row(incident) | {"timeline": incident.timeline, "evidence": incident.evidence}
    return output.answer(document, people)


@command.command()
@click.argument("incident", type=numbered)
@arguments.as_option
@output.json_option
def retry(incident: Incident, user: str) -> int:
    """Have the operations agent try again to end an INCIDENT."""
    from projects.services.operations import incidents

    incidents.retry(incident, by=acting_user(user))
    arguments.tell_worker()
    return output.answer(_row(incident), "The operations agent tries again.")


@command.command()
@click.argument("incident", type=numbered)
@click.argument("reason")
@arguments.as_option
@output.json_option
def close(incident: Incident, reason: str, user: str) -> int:
    """Close an INCIDENT, with the REASON why it is over."""
    from projects.services.operations import incidents

    incidents.close(incident, by=acting_user(user), reason=reason)
    return output.answer(_row(incident), "The incident is closed.")
