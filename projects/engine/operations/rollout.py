"""Brings what runs on a target to what is wanted there, one look at a time; nothing waits in between."""

from __future__ import annotations

import logging
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db.models import Q
from django.utils import timezone

from agents.languages.registry import languages
from agents.workspace.git import GitError
from projects.engine.operations import hosts
from projects.engine.operations.start_command import start_command, words_of
from projects.engine.sandboxes import limits_of
from projects.errors import LostRace, ProjectsError
from projects.models import Deployment, NoticeKind, Target
from projects.services.notices import outbox
from projects.services.operations import releases
from projects.services.work import leases
from projects.storage.packages import ProjectSupply
from projects.storage.paths import repository_of
from projects.workers.owners import is_alive, this_worker
from sandbox.base import PackageRefused, PackageSet, SandboxError
from sandbox.hosting.base import Host, HostingError, Release, Seen
from sandbox.package_index.errors import IndexUnavailable

log = logging.getLogger("aiswe.operations")
Status = Deployment.Status
MOST_RESTARTS = 3  # of a release that has never passed its health check
PATIENCE_SECONDS = 900.0  # for the first answer of one whose process stays up
KEPT_LOG = 200_000


@dataclass(frozen=True)
class Observed:
    """What a look at a live deployment showed."""

    deployment: Deployment
    seen: Seen
    new_log: str
    restarts: int  # since the look before
    healthy: bool
    answer: str


def due() -> list[Target]:
    """Targets that a worker has to look after: something is wanted, runs, or has to end."""
    up = Q(deployments__status__in=(*Deployment.UP, Status.QUEUED))
    return list(Target.objects.filter(up).select_related("project", "wanted", "live").distinct())


def tend(target: Target) -> Observed | None:
    """One look at a target, unless another worker has it; what its live deployment showed."""
    if hosts.is_local(target) and _elsewhere(target):
        return None
    try:
        token = leases.claim(Target, target.pk, owner=this_worker(), seconds=settings.LEASE_SECONDS)
    except LostRace:
        return None
    try:
        target.refresh_from_db()
        host = hosts.host_of(target)
        _end_the_unwanted(target, host)
        if target.wanted is not None and target.wanted.status == Status.QUEUED:
            _begin(target.wanted, host)
        elif target.wanted is not None and target.wanted.status == Status.STARTING:
            _await(target.wanted, host)
        target.refresh_from_db()
        return _look(target.live, host) if target.live is not None else None
    except (SandboxError, GitError, ProjectsError) as error:
        log.warning("%s: %s", target, error)
        if (row := target.wanted) is not None and row.status in (Status.QUEUED, Status.STARTING):
            fail(row, None, str(error))
        return None
    finally:
        leases.release(Target, target.pk, token=token)


def _elsewhere(target: Target) -> bool:
    rows = target.deployments.filter(status__in=Deployment.UP).exclude(host="")
    return any(row.host != this_worker() and is_alive(row.host) for row in rows)


def _end_the_unwanted(target: Target, host: Host) -> None:
    for row in target.deployments.filter(status__in=Deployment.UP):
        if row.pk == target.wanted_id or (row.pk == target.live_id and target.wanted_id is not None):
            continue
        host.stop(row.release_name)
        _clean(row)
        releases.end(row, Status.STOPPED, "" if target.wanted_id is None else "a newer one was asked for")


def _begin(row: Deployment, host: Host) -> None:
    """Start the release of a row; what cannot be started fails at once."""
    Deployment.objects.filter(pk=row.pk).update(
        status=Status.STARTING, started_at=timezone.now(), host=this_worker(), step="starting its process"
    )
    row.refresh_from_db()
    try:
        if problem := host.problem():
            raise HostingError(problem)
        _start(row, host)
    except IndexUnavailable as away:
        Deployment.objects.filter(pk=row.pk).update(
            status=Status.QUEUED, step=f"waiting for the package index: {away}"[:300]
        )
    except (PackageRefused, HostingError) as refused:
        fail(row, host, str(refused))


def _start(row: Deployment, host: Host) -> None:
    project, told = row.target.project, row.target.options
    repository = repository_of(project)
    tree = repository.worktree(_worktree(row), row.commit)
    paths = repository.files(row.commit)
    command = words_of(told["command"]) if told.get("command") else ()
    if not command and hosts.is_local(row.target):
        command = start_command(paths, lambda path: repository.read(row.commit, path) or "")
    host.start(
        Release(
            name=row.release_name,
            folder=tree.path,
            command=command,
            environment=told.get("environment", {}),
            packages=_packages(row, paths) if hosts.is_local(row.target) else None,
            limits=limits_of(project),
            image=told.get("image", "").replace("{commit}", row.commit),
            health=told.get("health", "/"),
        )
    )
    if hosts.is_local(row.target):
        _clean(row)  # the sandbox has its own copy


def _packages(row: Deployment, paths: list[str]) -> PackageSet | None:
    """What the manifests of the commit name. Raises PackageRefused and IndexUnavailable."""
    repository, lines = repository_of(row.target.project), list[str]()
    for language in languages():
        if language.name == "python" and language.manifest in paths:
            lines += language.listed(repository.read(row.commit, language.manifest) or "")
    return ProjectSupply(row.target.project).fetch(lines) if lines else None


def _await(row: Deployment, host: Host) -> None:
    """Let a release take the requests once it answers, or give it up."""
    seen = host.look(row.release_name)
    waited = (timezone.now() - (row.started_at or timezone.now())).total_seconds()
    if seen.state == "gone":
        if row.host != this_worker() and hosts.is_local(row.target):
            return _begin(row, host)  # its worker is gone, and it with it
        return fail(row, host, f"It is gone: {seen.detail or 'nobody knows why'}.")
    _keep_address(row, host)
    healthy, answer = hosts.answers(row) if seen.state == "running" else (False, seen.detail)
    if healthy and seen.ready is not False:
        _take_over(row, host)
    elif seen.stuck:
        fail(row, host, f"It does not come up: {seen.detail or answer}.")
    elif seen.state == "exited" and seen.restarts >= MOST_RESTARTS:
        fail(row, host, f"Its process ended {seen.restarts + 1} times: {seen.detail}.")
    elif waited > PATIENCE_SECONDS:
        fail(row, host, f"It did not pass its health check within {waited / 60:.0f} minutes: {answer}.")
    else:
        step = f"waiting for its health check: {answer or seen.detail}"[:300]
        Deployment.objects.filter(pk=row.pk).update(step=step, restarts=seen.restarts)
    return None


def _take_over(row: Deployment, host: Host) -> None:
    before = releases.went_live(row)
    _clean(row)
    if before is not None:
        host.stop(before.release_name)
        _clean(before)


def fail(row: Deployment, host: Host | None, reason: str) -> None:
    """Give a release up: what ran before goes on, and people are told."""
    output = ""
    if host is not None:
        with suppress(HostingError):
            output = host.logs(row.release_name).text
            host.stop(row.release_name)
    _clean(row)
    Deployment.objects.filter(pk=row.pk).update(log=output[-KEPT_LOG:])
    releases.end(row, Status.FAILED, reason)
    target = Target.objects.get(pk=row.target_id)
    Target.objects.filter(pk=target.pk, wanted=row).update(wanted=target.live)
    link = {"key": f"deployment:{row.pk}:failed", "link": f"/deployments/{row.pk}"}
    outbox.tell(NoticeKind.FAILED, target.project, **link, text="deployment failed")


def _look(row: Deployment, host: Host) -> Observed:
    """See how a live deployment fares; one that went with its worker is started again."""
    seen = host.look(row.release_name)
    if seen.state == "gone":
        _keep(row, host=this_worker(), log_position=0, restarts=0)
        _start(row, host)
        seen = host.look(row.release_name)
    if row.restart_asked:
        host.restart(row.release_name)
        Deployment.objects.filter(pk=row.pk).update(restart_asked=False)
    _keep_address(row, host)
    printed = host.logs(row.release_name, row.log_position)
    healthy, answer = hosts.answers(row)
    more = max(0, seen.restarts - row.restarts)
    shown: dict[str, Any] = {"restarts": seen.restarts, "healthy": healthy, "memory_mb": seen.memory_mb}
    if printed.text or printed.position != row.log_position:  # else nothing of up to KEPT_LOG is written again
        shown |= {"log": (row.log + printed.text)[-KEPT_LOG:], "log_position": printed.position}
    _keep(row, **shown)
    return Observed(row, seen, printed.text, more, healthy, answer)


def _keep_address(row: Deployment, host: Host) -> None:
    """Let other processes find the socket of a sandbox."""
    if hosts.is_local(row.target):
        _keep(row, address={"socket": host.address(row.release_name).socket})


def _keep(row: Deployment, **shown: Any) -> None:
    """Write down what is new; a look every few seconds mostly finds what the one before found."""
    fresh = {name: value for name, value in shown.items() if getattr(row, name) != value}
    if fresh:
        Deployment.objects.filter(pk=row.pk).update(**fresh)
        vars(row).update(fresh)


def _worktree(row: Deployment) -> str:
    return f"deploy-{row.pk}"


def _clean(row: Deployment) -> None:
    with suppress(GitError, OSError):
        repository_of(row.target.project).remove(_worktree(row))
