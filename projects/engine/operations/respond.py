"""The operations agent: what it makes of a look at a deployment, and how it ends an incident.

It rolls back first where users suffer, has the cause fixed by the same planning, building and gates as any other work,
deploys the result, and watches. Every step is on the incident's timeline; what it cannot end it gives up loudly.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from django.db.models import QuerySet
from django.utils import timezone

from agents.languages.problems import Problem
from projects.engine.operations import repair, signs
from projects.engine.operations.rollout import Observed
from projects.engine.operations.signs import Sign
from projects.errors import ProjectsError
from projects.models import BadRequest, Deployment, Incident, Target
from projects.services.delivery.changes import Changed, changes_between
from projects.services.operations import incidents, releases, traffic
from projects.services.operations.traffic import Metrics

Kind, Status = Incident.Kind, Incident.Status
LOOKS_DOWN = 3  # looks in a row at which a health check failed
CRASHES = 3  # of a version: it is no chance that its process ends
SUFFERING_SHARE, SUFFERING_REQUESTS = 0.2, 5
RECENT_MINUTES, USUAL_MINUTES = 3, 24 * 60
MOST_ROLLOUTS = 4  # that the agent may begin on a target in an hour; more is flapping
LOG_AGE = timedelta(seconds=10)  # so long a failed request waits for what the program prints about it
_down: dict[int, int] = {}  # looks in a row, by deployment
_printed: dict[int, Problem] = {}  # by deployment: the last failure that its present process printed


def respond(target: Target, observed: Observed | None) -> None:
    """Take note of what went wrong, and bring each open incident one step on."""
    if not target.watched:
        return
    if observed is not None:
        for sign in _signs(target, observed):
            _take(target, observed.deployment, sign)
    for incident in incidents.open_for(target):
        target.refresh_from_db()
        _advance(target, incident)


def _signs(target: Target, seen: Observed) -> Iterator[Sign]:
    row, fresh = seen.deployment, BadRequest.objects.filter(deployment=seen.deployment, seen=False)
    found = signs.problems_in(signs.with_begun(row.log, seen.new_log))
    failed = [one for one in fresh if one.status is None or one.status >= 500]
    if found:
        _printed[row.pk] = found[-1]
    if seen.restarts:
        request = next((one for one in reversed(failed) if one.status is None), None)
        if (last := _printed.pop(row.pk, None)) is not None:
            yield signs.of_problem(last, crash=True, request=request)
        else:
            yield signs.of_exit(seen.seen.exit_code, row.log, request)
        _noted(failed)
    elif found:
        for at, problem in enumerate(found):
            request = failed[min(at, len(failed) - 1)] if failed else None
            yield signs.of_problem(problem, crash=False, request=request)
        _noted(failed)
    else:
        old = [one for one in failed if timezone.now() - one.at > LOG_AGE]
        yield from map(signs.of_answer, old)
        _noted(old)
    if (spike := _spike(target, row, fresh)) is not None:
        yield spike
    calm = seen.healthy or seen.restarts or seen.seen.state != "running"  # a crash has a sign of its own
    _down[row.pk] = 0 if calm else _down.get(row.pk, 0) + 1
    if _down[row.pk] >= LOOKS_DOWN:
        yield signs.of_health(seen.answer)


def _noted(requests: list[BadRequest]) -> None:
    BadRequest.objects.filter(pk__in=[one.pk for one in requests]).update(seen=True)


def _spike(target: Target, row: Deployment, fresh: QuerySet[BadRequest]) -> Sign | None:
    slow = [one for one in fresh if one.milliseconds >= traffic.SLOW_MS and one.status is not None and one.status < 500]
    if not slow:
        return None
    found = signs.of_latency(traffic.metrics(row, minutes=RECENT_MINUTES), _usual(target, row), slow)
    if found is not None:
        _noted(slow)
    return found


def _usual(target: Target, row: Deployment) -> Metrics | None:
    """How it was before: of the version before, else of this one until a while ago."""
    before = releases.previous_of(target)
    if before is not None and before.ended_at is not None:
        return traffic.metrics(before, minutes=USUAL_MINUTES, until=before.ended_at)
    return traffic.metrics(row, minutes=USUAL_MINUTES, until=timezone.now() - timedelta(minutes=RECENT_MINUTES + 1))


def _take(target: Target, row: Deployment, sign: Sign) -> None:
    """Open an incident for a sign, or count it on the one that is open."""
    incident, new = incidents.report(
        target,
        kind=sign.kind,
        signature=sign.signature,
        title=sign.title,
        deployment=row,
        evidence=sign.evidence,
        request=sign.request,
    )
    if not new:
        if sign.kind == Kind.CRASH and incident.kind == Kind.ERROR:  # it was printed before its process was seen to end
            Incident.objects.filter(pk=incident.pk).update(kind=Kind.CRASH)
        if incident.status == Status.WATCHING and incident.fix_id == row.pk:
            repair.failed(target, incident, "it happened again with the fix")
        return
    before = releases.previous_of(target)
    changed = changes_between(target.project, before.commit, row.commit) if before is not None else Changed()
    cause = _cause(target, row, sign, before, changed)
    if sign.kind == Kind.ENVIRONMENT:
        said = f"{cause} No change of the code is tried."
        incidents.step(incident, said, status=Status.NEEDS_YOU, cause=cause)
    else:
        incidents.step(incident, cause, cause=cause)


def _cause(target: Target, row: Deployment, sign: Sign, before: Deployment | None, changed: Changed) -> str:
    if sign.kind == Kind.ENVIRONMENT:
        return f"The cause lies outside the code: {sign.cause}."
    if before is None:
        return f"Seen with #{row.number}, the first version on {target.name}."
    if _known_before(target, row, sign.signature):
        return f"Seen with earlier versions than #{row.number} too: what changed last is not the cause."
    told = f"It began with #{row.number}, which brought {changed or 'changes that git does not tell'}."
    if suspects := changed.suspects(sign.files):
        told += f" It comes from {', '.join(suspects[:3])}, which changed with it."
    elif sign.files and changed.paths:
        return f"First seen with #{row.number}; nothing that changed with it ({changed}) is in the traceback."
    elif sign.kind == Kind.SLOW and changed.paths:
        told += f" What changed: {', '.join(changed.paths[:5])}."
    return told


def _known_before(target: Target, row: Deployment, signature: str) -> bool:
    earlier = Incident.objects.filter(target=target, signature=signature, deployment__number__lt=row.number)
    return earlier.exclude(deployment__commit=row.commit).exists()


def _advance(target: Target, incident: Incident) -> None:
    if incident.status != Status.WATCHING and incident.kind != Kind.ENVIRONMENT:
        _relieve(target, incident)
        incident.refresh_from_db()
    if incident.status == Status.OPEN:
        repair.begin(target, incident)
    elif incident.status in (Status.FIXING, Status.NEEDS_YOU) and incident.run is not None:
        repair.follow(target, incident)
    elif incident.status == Status.WATCHING:
        repair.watch(target, incident)


def _relieve(target: Target, incident: Incident) -> None:
    """Before anything is fixed: back to the version before where users suffer, or an end to a crash loop."""
    row = target.live
    if incident.relieved or row is None or row.pk != incident.deployment_id or target.wanted_id != row.pk:
        return
    looping = row.restarts >= CRASHES
    if not (looping or _suffering(row, incident)):
        return
    Incident.objects.filter(pk=incident.pk).update(relieved=True)
    if not may_roll_out(target):
        repair.give_up(incident, f"The agent began {MOST_ROLLOUTS} rollouts within an hour and stops here.")
        return
    before = releases.previous_of(target)
    if before is not None and not _known_before(target, row, incident.signature):
        why = f"incident {incident.pk}: {incident.title}"
        back = releases.roll_back(target, by=None, reason=why)
        waits = " once a person says yes" if back.status == Deployment.Status.ASKED else ""
        incidents.step(
            incident, f"Rolled back to {before.commit[:10]} (#{before.number}){waits}, because users suffer."
        )
    elif looping:
        releases.stop(target, by=None, reason=f"it ended {row.restarts} times")
        incidents.step(
            incident, f"Stopped, because its process ended {row.restarts} times; nothing can be rolled back to."
        )
    else:
        incidents.step(incident, "It keeps running: no earlier version is known to do better.")


def _suffering(row: Deployment, incident: Incident) -> bool:
    if incident.kind in (Kind.SLOW, Kind.DOWN):
        return True
    now = traffic.metrics(row, minutes=RECENT_MINUTES)
    return now.requests >= SUFFERING_REQUESTS and (now.error_share or 0.0) >= SUFFERING_SHARE


def may_roll_out(target: Target) -> bool:
    """Whether the agent may begin another rollout; a target that is rolled to and fro helps nobody."""
    since = timezone.now() - timedelta(hours=1)
    return target.deployments.filter(by=None, created_at__gt=since).count() < MOST_ROLLOUTS


def respond_safely(target: Target, observed: Observed | None) -> None:
    """respond(), where a refusal (a project that was archived meanwhile) is said on the incident."""
    try:
        respond(target, observed)
    except ProjectsError as refused:
        for incident in incidents.open_for(target):
            repair.say_once(incident, str(refused))
