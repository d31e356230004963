"""Pushing the branch of a build to the project's remote, on a person's yes."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from django.contrib.auth.models import User

from agents.workspace.addresses import SourceRefused, parse_address
from agents.workspace.pushing import push_commit
from projects.errors import BadInput, StaleVersion
from projects.models import Approval, Project, Run
from projects.services.accounts.rights import require
from projects.services.audit.sitelog import note
from projects.services.delivery.downloads import RESULTS, branches, git_dir_of
from projects.services.repositories.importing import remote_access
from projects.services.work import approval_requests


@dataclass(frozen=True)
class PushTarget:
    """What goes where."""

    address: str
    branch: str
    commit: str


def newest_result(project: Project) -> Run | None:
    """The newest build that has a branch with its results."""
    known = branches(project)
    builds = project.runs.filter(kind=Run.Kind.BUILD).order_by("-pk")
    return next((run for run in builds if f"{RESULTS}{run.pk}" in known), None)


def target_of(run: Run) -> PushTarget:
    """What a push of this build would send. Raises BadInput when it has no results or the project no remote."""
    if not run.project.push_remote:
        raise BadInput(f"{run.project.name} has no remote: set “Push to” in its settings first.")
    return result_for(run, run.project.push_remote)


def result_for(run: Run, address: str) -> PushTarget:
    """What of this build would go to an address. Raises BadInput when it has no results."""
    branch = f"{RESULTS}{run.pk}"
    commit = branches(run.project).get(branch)
    if commit is None:
        raise BadInput(f"Run {run.pk} has no branch {branch} to push.")
    return PushTarget(address, branch, commit)


def push_run(run: Run, *, by: User, address: str, commit: str) -> PushTarget:
    """Push the branch of a build; `address` and `commit` are what the person said yes to.

    Raises NotAllowed, BadInput, and StaleVersion when there is another remote or commit by now.
    """
    require(by, run.project, "approval.decide")
    target = target_of(run)
    if (address, commit) != (target.address, target.commit):
        raise StaleVersion("The remote or the commit is another one by now. Look again before you push.")
    title = f"Push {target.branch} at {commit[:10]} to {address}"
    return send(run, target, by=by, title=title, on_yes="The branch is pushed there, not by force.")


def send(run: Run, target: PushTarget, *, by: User | None, title: str, on_yes: str) -> PushTarget:
    """Push what somebody, whose right was asked for, said yes to; None stands for a setting of the project.

    The yes stands in the run's trail before anything leaves, the outcome in the site's. Raises BadInput.
    """
    if by is not None:
        asked = approval_requests.ask(
            run.project,
            kind=Approval.Kind.PUSH,
            subject=f"{target.commit} {target.address}",
            title=title,
            run=run,
            why="Code leaves this installation.",
            on_yes=on_yes,
            on_no="Nothing is sent.",
        )
        approval_requests.close_approval(asked, Approval.Status.APPROVED, by=by)
    detail = {"project": run.project.slug, **asdict(target)}
    try:
        address = parse_address(target.address)
        push_commit(git_dir_of(run.project), address, target.commit, target.branch, remote_access())
    except SourceRefused as refused:
        note(by or "forge", "run.pushed", f"run {run.pk}", {**detail, "problem": str(refused)}, outcome="fail")
        raise BadInput(f"The push to {target.address} failed: {refused}") from None
    note(by or "forge", "run.pushed", f"run {run.pk}", detail)
    return target
