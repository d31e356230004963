"""What came of a demo, read from the database and the repository."""

from __future__ import annotations

from typing import Any

from aiswe_site.demo import story
from projects.models import Approval, Run, Task
from projects.services.audit.chain import verify_chain
from projects.services.planning import runs
from projects.storage.paths import repository_path


def newest_run(planning: Run) -> Run:
    """The run to look at now: the build once there is one."""
    return story.build_of(planning) or Run.objects.get(pk=planning.pk)


def standstill(run: Run) -> str:
    """Why nothing will move any more without a person; "" while something may."""
    if run.status in Run.OVER:
        return (
            "" if run.status == Run.Status.FINISHED else f"run {run.pk} {run.get_status_display().lower()}: {run.why}"
        )
    if run.status != Run.Status.NEEDS_YOU or run.kind == Run.Kind.PLAN:
        return ""
    moving = run.tasks.filter(status__in=(Task.Status.RUNNING, Task.Status.READY)).exists()
    asked = Approval.objects.filter(run=run, status=Approval.Status.PENDING).exists()
    stuck = run.tasks.filter(status__in=(Task.Status.NEEDS_YOU, Task.Status.ESCALATED)).exists()
    return run.why or "needs a person" if not moving and (asked or stuck) else ""


def summary(run: Run, seconds: float) -> dict[str, Any]:
    """The demo's document; see docs/reference/cli.md."""
    numbers = runs.totals(run)
    chain = verify_chain(run.pk)
    return {
        "run": run.pk,
        "status": run.status,
        "tasks": {"merged": numbers["tasks"]["merged"], "escalated": numbers["tasks"]["escalated"]},
        "repairs": numbers["repairs"],
        "findings": numbers["findings"],
        "tests": {"adjudicated": numbers["tests_adjudicated"]},
        "repository": str(repository_path(run.project)),
        "audit": {"verified": chain.ok, "events": chain.events},
        "seconds": round(seconds, 1),
    }


def all_merged(run: Run) -> bool:
    """True when the run ended with every task merged and an unbroken audit trail."""
    tasks = run.tasks
    return (
        run.kind == Run.Kind.BUILD
        and run.status == Run.Status.FINISHED
        and tasks.exists()
        and not tasks.exclude(status=Task.Status.MERGED).exists()
        and verify_chain(run.pk).ok
    )
