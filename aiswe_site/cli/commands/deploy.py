"""aiswe deploy: put a version somewhere, and see or steer what runs there."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import click

from aiswe_site.cli import arguments
from aiswe_site.terminal import output
from aiswe_site.terminal.operator import acting_user
from aiswe_site.terminal.problems import WrongUse
from aiswe_site.verbs.fields import fields

if TYPE_CHECKING:
    from projects.models import Deployment, Project, Target

EVERY_SECONDS = 1.0


@click.command()
@click.argument("project", type=arguments.named_project)
@click.argument("target", default="")
@click.option("--commit", default="", help="This commit instead of the newest.")
@click.option("--back", "verb", flag_value="back", help="Go back to the version before.")
@click.option("--restart", "verb", flag_value="restart", help="End its process and start it again.")
@click.option("--stop", "verb", flag_value="stop", help="Have nothing run there.")
@click.option("--status", "verb", flag_value="status", help="Only say what runs there.")
@click.option("--log", "verb", flag_value="log", help="Print the end of its output.")
@click.option("--wait", is_flag=True, help="Watch until it is live or has failed.")
@arguments.as_option
@output.json_option
def command(project: Project, target: str, commit: str, verb: str | None, wait: bool, user: str) -> int:
    """Deploy the newest commit of PROJECT to TARGET, by default its only one.

    A project without any gets one called "staging": a sandbox on this machine.
    """
    from projects.services.operations import releases

    by = acting_user(user)
    place = _target(project, target, by, make=verb is None)
    if verb == "log":
        row = _newest(place)
        return output.answer({"deployment": row.number, "log": row.log}, row.log.rstrip("\n") or "It printed nothing.")
    if verb == "restart":
        releases.restart(place, by=by)
    elif verb == "stop":
        releases.stop(place, by=by)
    elif verb == "back":
        releases.roll_back(place, by=by, reason="by command")
    elif verb is None:
        releases.deploy(place, commit or releases.newest_commit(project), by=by, reason="by command")
    works = verb != "status" and arguments.tell_worker()
    if wait and works and verb not in ("restart", "stop"):
        _watch(place)
    return _told(place)


def _target(project: Project, name: str, by: Any, *, make: bool) -> Target:
    from projects.services.operations import targets

    rows = list(project.targets.order_by("pk"))
    if not name and not rows and make:
        return targets.add_target(project, name="staging", kind="sandbox", by=by)
    found = [row for row in rows if row.name == name] if name else rows
    if len(found) == 1:
        return found[0]
    names = ", ".join(row.name for row in rows) or "none yet"
    what = f"{project.slug} has no target {name!r}" if name else f"Name one of the targets of {project.slug}"
    raise WrongUse(f"{what}.", f"Its targets: {names}. `aiswe target add {project.slug} NAME` adds one.")


def _newest(target: Target) -> Deployment:
    row = target.live or target.deployments.first()
    if row is None:
        raise WrongUse(f"Nothing was deployed to {target.name} yet.", "Leave out --log to deploy the newest commit.")
    return row


def _watch(target: Target) -> None:
    """Until the newest deployment is live, over, or waits for a person."""
    from projects.models import Deployment

    said = ""
    while True:
        row = target.deployments.first()
        if row is None or row.status not in (Deployment.Status.QUEUED, Deployment.Status.STARTING):
            return
        step = row.step or row.get_status_display().lower()
        if step != said:
            output.note(f"#{row.number}: {step}")
            said = step
        time.sleep(EVERY_SECONDS)


def _told(target: Target) -> int:
    target.refresh_from_db()
    row, live = target.deployments.first(), target.live
    document = {
        "target": target.name,
        "host": target.host_name,
        "live": fields(live, "number commit healthy restarts memory_mb live_at") if live else None,
        "newest": fields(row, "number commit status step reason") if row else None,
    }
    words = []
    if live is not None:
        health = "healthy" if live.healthy else "its health check fails"
        runs = f"#{live.number} ({live.commit[:10]}) is live on {target.name}, {health}."
        words.append(f"{runs} Host name: {target.host_name}")
    if row is not None and row != live:
        words.append(
            f"#{row.number} ({row.commit[:10]}) {row.get_status_display().lower()}. {row.step or row.reason}".strip()
        )
    ok = row is None or row.status not in ("failed", "refused")
    return output.answer(document, "\n".join(words) or f"Nothing runs on {target.name}.", ok=ok)
