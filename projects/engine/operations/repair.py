"""From an incident to a fix that is live: planned and built like any other work, then tried with the same request."""

from __future__ import annotations

from datetime import timedelta

import httpx
from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from agents.languages.registry import is_test
from projects.engine.operations import hosts
from projects.errors import ProjectsError
from projects.models import BadRequest, Deployment, Incident, Plan, Run, Target, Task
from projects.services.backlog.scheduler import held_up_by
from projects.services.delivery.changes import changes_between, diff_of
from projects.services.operations import incidents, releases
from projects.services.planning import runs
from projects.services.planning.small_work import plan_document, small_document
from projects.services.work.locks import lock_project
from projects.storage.paths import repository_of
from sandbox.hosting.base import HostingError

Kind, Status = Incident.Kind, Incident.Status
MOST_FIXES = 2  # of one incident
QUIET = timedelta(minutes=5)  # with the fix live and the signature not seen again
MOST_BODY, MOST_EVIDENCE, MOST_DIFF = 1500, 3000, 1500
NO_HELP = "The fix did not help: "


def begin(target: Target, incident: Incident) -> None:
    """Have the fix planned, in the name of whoever made the target; people decide where the autonomy wants it."""
    if incident.fixes >= MOST_FIXES:
        return give_up(incident, f"{incident.fixes} fixes did not help.")
    if busy := held_up_by(target.project):
        return say_once(incident, f"The fix waits: the project is at {busy}.")
    if (owner := _owner(target)) is None:
        return incidents.step(incident, "Nobody is left in whose name it could be fixed.", status=Status.NEEDS_YOU)
    try:
        with transaction.atomic():
            lock_project(target.project_id)
            run = plan_document(
                small_document(
                    target.project,
                    _wish(target, incident),
                    name=f"INC-{incident.pk}.{incident.fixes + 1}",
                    by=owner,
                    acceptance=_acceptance(incident),
                ),
                by=owner,
            )
            incidents.step(
                incident, f"Planning the fix: run {run.pk}.", status=Status.FIXING, run=run, fixes=incident.fixes + 1
            )
    except ProjectsError as refused:
        incidents.step(incident, f"The fix cannot be planned: {refused}", status=Status.NEEDS_YOU)
    return None


def _owner(target: Target) -> User | None:
    made_by, deployed_by = target.created_by, target.deployments.exclude(by=None).first()
    people = [made_by, deployed_by.by if deployed_by else None]
    return next((one for one in people if one is not None and one.is_active), None)


def _wish(target: Target, incident: Incident) -> str:
    """The requirement. What the program printed is quoted, and cut down to its frames and its message."""
    request = incident.request
    if incident.kind == Kind.SLOW:
        first = f"Answer {_line(request)} as fast as before." if request else "Answer as fast as before."
    elif request is not None:
        first = f"Answer {_line(request)} without an error of the server."
    else:
        first = f"The program must not end with: {incident.title}."
    parts = [first, f"Seen on {target.name}: {incident.title}. {incident.cause}"]
    if request is not None:
        parts += ["The request:", _fenced(_request(request))]
    if incident.evidence:
        parts += ["What the program printed:", _fenced(incident.evidence[-MOST_EVIDENCE:])]
    parts += _tried(target, incident)
    return "\n\n".join(parts)


def _tried(target: Target, incident: Incident) -> list[str]:
    """What the last fix changed and what came of it; it was taken back where it ran, not in the code."""
    failures = [row["text"] for row in incident.timeline if row["text"].startswith(NO_HELP)]
    if not failures:
        return []
    told = [f"An earlier fix did not help: {failures[-1].removeprefix(NO_HELP)}"]
    row = target.deployments.filter(reason__startswith=_why(incident)).order_by("-number").first()
    before = target.deployments.filter(number__lt=row.number).order_by("-number").first() if row else None
    if row is not None and before is not None:
        changed = changes_between(target.project, before.commit, row.commit)
        code = [path for path in changed.paths if not is_test(path)]
        if diff := diff_of(target.project, before.commit, row.commit, code):
            told += [f"It brought {changed}. The code still has it:", _fenced(diff[:MOST_DIFF])]
    return told


def _why(incident: Incident) -> str:
    """What the deployments of its fixes say why they were made."""
    return f"Fix of incident {incident.pk}: "


def _acceptance(incident: Incident) -> list[str]:
    if incident.kind == Kind.SLOW:
        return ["A test shows that the work for one request no longer grows as it did."]
    if incident.request is None:
        return ["A regression test fails without the fix."]
    return [
        "A regression test repeats the request and fails without the fix.",
        "A valid request succeeds; an invalid one is refused with a 4xx status.",
    ]


def _line(request: BadRequest) -> str:
    return f"{request.method} {request.path.partition('?')[0]}"[:200]


def _request(request: BadRequest) -> str:
    headers = [f"{name}: {value}" for name, value in request.headers.items() if name == "content-type"]
    body = request.body[:MOST_BODY]
    return "\n".join([f"{request.method} {request.path[:500]}", *headers, *(["", body] if body else [])])


def _fenced(text: str) -> str:
    marks = "```"
    while marks in text:
        marks += "`"
    return f"{marks}text\n{text}\n{marks}"


def follow(target: Target, incident: Incident) -> None:
    """See how planning and building go; what was merged is deployed."""
    run = incident.run
    if run is None:
        return
    if run.kind == Run.Kind.PLAN:
        build = Run.objects.filter(kind=Run.Kind.BUILD, document=run.document, pk__gt=run.pk).order_by("-pk").first()
        if build is not None:
            return incidents.step(incident, f"Building the fix: run {build.pk}.", status=Status.FIXING, run=build)
        return _plan(target, incident, run)
    if run.status == Run.Status.FINISHED:
        return _merged(target, incident, run)
    if run.status in Run.OVER:
        return _needs(incident, f"Building the fix ended: run {run.pk} {run.get_status_display().lower()}; {run.why}")
    if run.status == Run.Status.NEEDS_YOU:
        return _needs(incident, f"Run {run.pk} waits for a person: {run.why}")
    if incident.status == Status.NEEDS_YOU:
        incidents.step(incident, f"Run {run.pk} goes on.", status=Status.FIXING)
    return None


def _plan(target: Target, incident: Incident, run: Run) -> None:
    plan = Plan.objects.filter(document=run.document).order_by("-version").first()
    if plan is not None and plan.status == Plan.Status.APPROVED:
        try:
            runs.start_build(plan, by=_owner(target))
        except ProjectsError as refused:
            say_once(incident, f"The build of the fix waits: {refused}")
    elif plan is not None and plan.status == Plan.Status.PROPOSED:
        say_once(incident, f"The plan of the fix waits for a yes: plan v{plan.version}.")
    elif run.status in (Run.Status.FAILED, Run.Status.CANCELLED):
        _needs(incident, f"The fix was not planned: run {run.pk} {run.get_status_display().lower()}; {run.why}")


def _merged(target: Target, incident: Incident, run: Run) -> None:
    merged = Task.objects.filter(run=run, status=Task.Status.MERGED)
    if not merged.exists():
        return _needs(incident, f"Run {run.pk} merged nothing.")
    commit = repository_of(target.project).head()
    row = releases.deploy(target, commit, by=None, reason=f"{_why(incident)}{incident.title}")
    waits = " once a person says yes" if row.status == Deployment.Status.ASKED else ""
    said = f"Merged by run {run.pk}; {commit[:10]} is deployed as #{row.number}{waits}."
    return incidents.step(incident, said, status=Status.WATCHING, fix=row)


def watch(target: Target, incident: Incident) -> None:
    """With the fix live, repeat the request, and wait until it stays quiet."""
    fix = incident.fix
    if fix is None:
        return incidents.step(incident, "The deployment of the fix is gone.", status=Status.NEEDS_YOU)
    if fix.status in (Deployment.Status.FAILED, Deployment.Status.REFUSED, Deployment.Status.STOPPED):
        return failed(target, incident, f"#{fix.number} {fix.get_status_display().lower()}: {fix.reason[-300:]}")
    if fix.status == Deployment.Status.ROLLED_BACK:
        return failed(target, incident, f"#{fix.number} was rolled back")
    if fix.status == Deployment.Status.ASKED:
        return say_once(incident, f"Deploying #{fix.number} waits for a yes.")
    if fix.live_at is None:
        return None
    if not incident.replayed:
        return _replay(target, incident, fix)
    if incident.last_seen < fix.live_at and timezone.now() - fix.live_at >= QUIET:
        return incidents.step(incident, "Quiet since the fix is live.", status=Status.RESOLVED)
    return None


def _replay(target: Target, incident: Incident, fix: Deployment) -> None:
    """The request that failed, once more, to the version with the fix."""
    request = incident.request
    if request is None:
        return incidents.step(incident, f"#{fix.number} is live and is watched.", replayed=True)
    try:
        answer = hosts.ask(fix, request.method, request.path, headers=request.headers, content=request.body.encode())
    except (httpx.HTTPError, HostingError, OSError) as error:
        return failed(target, incident, f"the request is still not answered ({type(error).__name__})")
    if answer.status_code >= 500:
        return failed(target, incident, f"the request is still answered with {answer.status_code}")
    took = answer.elapsed.total_seconds() * 1000
    if incident.kind == Kind.SLOW and took >= request.milliseconds:
        return failed(target, incident, f"the request still takes {took:.0f} ms")
    said = f"#{fix.number} is live: {_line(request)} is answered with {answer.status_code} in {took:.0f} ms."
    return incidents.step(incident, said, replayed=True)


def failed(target: Target, incident: Incident, why: str) -> None:
    """A fix that did not help is taken back, and another one is tried, or none."""
    fix, told = incident.fix, f"{NO_HELP}{why}."
    if fix is not None and fix.status == Deployment.Status.LIVE and target.live_id == fix.pk:
        try:
            back = releases.roll_back(target, by=None, reason=f"incident {incident.pk}: {why}")
            told += f" Back to {back.commit[:10]}."
        except ProjectsError as refused:
            told += f" It stays: {refused}"
    incidents.step(incident, told, status=Status.OPEN, fix=None, replayed=False, run=None)
    if incident.fixes >= MOST_FIXES:
        give_up(incident, f"{incident.fixes} fixes did not help.")


def give_up(incident: Incident, why: str) -> None:
    """Say loudly that a person has to go on."""
    incidents.step(incident, f"Given up: {why} A person has to go on.", status=Status.GIVEN_UP)


def _needs(incident: Incident, text: str) -> None:
    if incident.status != Status.NEEDS_YOU:
        incidents.step(incident, text, status=Status.NEEDS_YOU)
    else:
        say_once(incident, text)


def say_once(incident: Incident, text: str) -> None:
    """A line on the timeline, unless it is its last one already."""
    if not incident.timeline or incident.timeline[-1]["text"] != text:
        incidents.step(incident, text)
