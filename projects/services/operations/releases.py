"""Deployments: asked for, answered, moved and ended. What hosts do is projects.engine.operations."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Max
from django.utils import timezone

from agents.workspace.git import GitError
from projects.errors import BadInput, IllegalMove, NotFound
from projects.models import Approval, Deployment, Project, Run, Target
from projects.models.project import NO_APPROVAL
from projects.services.accounts.rights import require
from projects.services.audit.canonical import clean_line, clean_text
from projects.services.audit.sitelog import note
from projects.services.work.approval_requests import ask, close_questions
from projects.storage.paths import repository_of
from projects.workers.queue import enqueue

Status = Deployment.Status
JOB = "projects.operations_jobs.operate"


def deploy(
    target: Target, commit: str, *, by: User | None, reason: str = "", returns_to: Deployment | None = None
) -> Deployment:
    """Put a commit on a target. `by` is None for an agent, which asks a person where the rules want one.

    A person's word is the yes, except for production, where somebody is always asked. Raises NotAllowed and BadInput.
    """
    if by is not None:
        require(by, target.project, "deploy")
    if not commit:
        raise BadInput("There is no commit to deploy yet.")
    asks = target.is_production or (by is None and target.project.autonomy not in NO_APPROVAL)
    if returns_to is not None and not target.is_production:
        asks = False  # what ran before was let there already, and users suffer meanwhile
    with transaction.atomic():
        target = Target.objects.select_for_update(no_key=True).get(pk=target.pk)
        for waiting in target.deployments.filter(status__in=(Status.ASKED, Status.QUEUED)):
            _end(waiting, Status.REPLACED, "a newer one was asked for")
        last = target.deployments.aggregate(last=Max("number"))["last"] or 0
        row = Deployment.objects.create(
            target=target,
            number=last + 1,
            commit=commit,
            status=Status.ASKED if asks else Status.QUEUED,
            reason=clean_text(reason),
            returns_to=returns_to,
            by=by,
        )
        note(by or "operations", "deployment.asked", str(row), {"commit": commit, "reason": clean_line(reason, 300)})
        if asks:
            _ask(row)
        else:
            _want(row)
    return row


def follow(run: Run) -> None:
    """What a build has merged goes to the targets that follow; people are asked where the rules want it."""
    commit = newest_commit(run.project)
    for target in Target.objects.filter(project=run.project, follows=True, is_production=False):
        newest = target.deployments.first()
        if commit and (newest is None or newest.commit != commit):
            deploy(target, commit, by=None, reason=f"merged by run {run.pk}")


def _ask(row: Deployment) -> None:
    where = row.target
    before = where.live
    ask(
        where.project,
        kind=Approval.Kind.DEPLOY,
        subject=f"{where.pk}:{row.number}:{row.commit}",
        title=f"Deploy {row.commit[:10]} to {where.name}?",
        why=row.reason or "A new version is ready.",
        on_yes="It starts beside what runs now and takes over once its health check passes.",
        on_no=f"{before.commit[:10]} keeps running." if before else "Nothing is started.",
        payload={"deployment": row.pk, "target": where.name, "commit": row.commit, "production": where.is_production},
    )


def answered(approval: Approval, *, yes: bool) -> None:
    """What a person said about a deployment that waits; called in the transaction of the answer."""
    row = Deployment.objects.filter(pk=approval.payload.get("deployment"), status=Status.ASKED).first()
    if row is None:
        return
    if yes:
        Deployment.objects.filter(pk=row.pk).update(status=Status.QUEUED)
        _want(row)
    else:
        _end(row, Status.REFUSED, approval.reason or "refused")


def _want(row: Deployment) -> None:
    Target.objects.filter(pk=row.target_id).update(wanted=row)
    enqueue(JOB)


def roll_back(target: Target, *, by: User | None, reason: str) -> Deployment:
    """Back to the version that ran before the present one. Raises NotAllowed and NotFound."""
    if by is not None:
        require(by, target.project, "deploy")
    before = previous_of(target)
    if before is None:
        raise NotFound(f"There is no earlier version on {target.name} to go back to.")
    return deploy(target, before.commit, by=by, reason=reason, returns_to=before)


def newest_commit(project: Project) -> str:
    """What would be deployed; "" while nothing was built or imported."""
    try:
        return repository_of(project).head()
    except GitError:
        return ""


def previous_of(target: Target) -> Deployment | None:
    """The newest deployment of another commit that was live before the present one, and was not taken back."""
    now = target.live or target.wanted
    rows = target.deployments.exclude(live_at=None).exclude(status=Status.ROLLED_BACK)
    if now is not None:
        rows = rows.filter(number__lt=now.number).exclude(commit=now.commit)
    return rows.order_by("-number").first()


def stop(target: Target, *, by: User | None, reason: str = "") -> None:
    """Have nothing run there. Raises NotAllowed and IllegalMove."""
    if by is not None:
        require(by, target.project, "deploy")
    if not target.deployments.filter(status__in=(*Deployment.UP, Status.QUEUED, Status.ASKED)).exists():
        raise IllegalMove(f"Nothing runs on {target.name}.")
    with transaction.atomic():
        for row in target.deployments.filter(status__in=(Status.QUEUED, Status.ASKED)):
            _end(row, Status.STOPPED, reason or "stopped")
        Target.objects.filter(pk=target.pk).update(wanted=None)
        note(by or "operations", "deployment.stopped", str(target), {"reason": clean_line(reason, 300)})
        enqueue(JOB)


def restart(target: Target, *, by: User | None, reason: str = "") -> None:
    """End the process that is live there and start it again. Raises NotAllowed and IllegalMove."""
    if by is not None:
        require(by, target.project, "deploy")
    if target.live is None:
        raise IllegalMove(f"Nothing is live on {target.name}.")
    with transaction.atomic():
        note(by or "operations", "deployment.restarted", str(target.live), {"reason": clean_line(reason, 300)})
        Deployment.objects.filter(pk=target.live.pk).update(restart_asked=True)
        enqueue(JOB)


def end(row: Deployment, status: str, reason: str) -> None:
    """A deployment is over; the question about it is closed. In a transaction of its own or the caller's."""
    with transaction.atomic():
        _end(row, status, reason)
        Target.objects.filter(pk=row.target_id, live=row).update(live=None)


def _end(row: Deployment, status: str, reason: str) -> None:
    kept = f"{row.reason}\n{reason}".strip() if reason and reason not in row.reason else row.reason
    rows = Deployment.objects.filter(pk=row.pk).exclude(status__in=Deployment.OVER)
    if not rows.update(status=status, reason=clean_text(kept), step="", ended_at=timezone.now(), healthy=None, host=""):
        return
    close_questions(
        reason or status,
        project=row.target.project,
        kind=Approval.Kind.DEPLOY,
        subject=f"{row.target_id}:{row.number}:{row.commit}",
    )
    note("operations", f"deployment.{status}", str(row), {"reason": clean_line(reason, 300)})


def went_live(row: Deployment) -> Deployment | None:
    """The new one takes the requests; returns the one that had them."""
    with transaction.atomic():
        target = Target.objects.select_for_update(no_key=True).get(pk=row.target_id)
        before = target.live if target.live_id != row.pk else None
        now = timezone.now()
        Deployment.objects.filter(pk=row.pk).update(status=Status.LIVE, live_at=now, step="", healthy=True)
        Target.objects.filter(pk=target.pk).update(live=row)
        note("operations", "deployment.live", str(row), {"commit": row.commit})
        if before is not None:
            newer = row.returns_to_id is not None
            _end(before, Status.ROLLED_BACK if newer else Status.REPLACED, f"#{row.number} took over")
    return before
