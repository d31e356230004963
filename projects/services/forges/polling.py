"""When a forge is asked: after a delivery, while comments are work, and now and then where no webhook reaches us."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

from django.db.models import Exists, OuterRef, Q

from agents.forges.contract import Forge, ForgeRefused
from agents.secrets.redaction import redact
from projects.errors import BadInput, ProjectsError
from projects.models import ForgeComment, ForgeDelivery, ForgeLink, PullRequest, RequirementDocument, Run
from projects.services.audit.canonical import clean_line
from projects.services.audit.sitelog import note
from projects.services.backlog.scheduler import held_up_by
from projects.services.forges import answers, comments
from projects.services.forges.links import forge_of
from projects.services.forges.receiving import JOB, mark_handled, prune, waiting
from projects.services.forges.requests import keep_current
from projects.services.planning.build_logs import fix_log
from projects.workers.queue import enqueue

EVERY = timedelta(minutes=2)  # a request of a link that is polled
LONGEST_REST = timedelta(hours=1)
FIRST_REST = timedelta(seconds=30)  # after a failure; doubled by each further one
ROUNDS = 5  # how often one job looks again because more came meanwhile
MOST_REQUESTS = 50  # of one link that are asked for in one go
MOST_LOG = 4_000_000  # bytes of the end of a build's log
Build = Callable[[PullRequest, str], None]  # takes the name of a failed build of what stands on a request's branch
Outcome = ForgeComment.Outcome


def tend(now: datetime) -> None:
    """Wake a job for each pull request that something waits for. Called by the clock."""
    prune(now)
    delivered = ForgeDelivery.objects.filter(link=OuterRef("link"), number=OuterRef("number"), handled_at=None)
    open_ones = Q(outcome=Outcome.TAKEN, run=None) | answers.unanswered()
    unfinished = ForgeComment.objects.filter(open_ones, request=OuterRef("pk"))
    for link in ForgeLink.objects.filter(project__archived_at=None):
        if link.rests_until is not None and link.rests_until > now:
            continue
        wanted = Q(Exists(delivered)) | Q(Exists(unfinished)) | Q(pk__in=_worked_on(link))
        if link.polls:
            wanted |= Q(state=PullRequest.State.OPEN) & (Q(checked_at=None) | Q(checked_at__lte=now - EVERY))
        for pk in link.requests.filter(wanted).values_list("pk", flat=True)[:MOST_REQUESTS]:
            enqueue(JOB, pk)


def _worked_on(link: ForgeLink) -> set[int]:
    rows = RequirementDocument.objects.filter(project=link.project_id, start__request__isnull=False)
    return set(rows.filter(start__ended__isnull=True).values_list("start__request", flat=True))


def _is_due(request: PullRequest, now: datetime) -> bool:
    """Whether the forge has to be asked; how planning and building go is known without it."""
    rows = request.comments.all()
    if waiting(request).exists() or rows.filter(answers.unanswered()).exists():
        return True
    if rows.filter(outcome=Outcome.TAKEN, run=None).exists() and not held_up_by(request.link.project):
        return True
    polls = request.link.polls and request.state == PullRequest.State.OPEN
    return polls and (request.checked_at is None or now - request.checked_at >= EVERY)


def read_request(
    request: PullRequest, forge: Forge, push: answers.Push, build: Build, now: datetime, *, always: bool = False
) -> None:
    """Bring a pull request up to date: follow what was taken as work, see what is new on the forge, answer there.

    The forge is asked when something calls for it, or `always`. One that does not answer is left alone for a while.
    """
    for _ in range(ROUNDS):
        try:
            answers.follow(request, push)
            if not (always or _is_due(request, now)):
                return
            rows = list(waiting(request).values_list("pk", "build"))
            stands, found = comments.look(request, forge, now)
            comments.begin(request, stands.head_commit)
            answers.send(request, forge, found)
            for one in sorted({one for _, one in rows if one}):
                _hand_on(request, one, build)
        except ForgeRefused as refused:
            return rest(request.link, refused, now)
        went_well(request.link, now)
        mark_handled([pk for pk, _ in rows], f"{request} was looked at.", now)
        if not waiting(request).exists():
            return
    enqueue(JOB, request.pk)


def bring_up_to_date(request: PullRequest, now: datetime, *, always: bool = False) -> None:
    """read_request() with the request's own forge; what was built goes to its branch, a failed build to its fixer."""
    try:
        forge = forge_of(request.link)
    except ForgeRefused as refused:
        return rest(request.link, refused, now)
    return read_request(request, forge, _push, _build, now, always=always)


def _push(request: PullRequest, run: Run) -> str:
    try:
        return keep_current(request, run).aside
    except BadInput as refused:
        if isinstance(refused.__cause__, ForgeRefused) and not refused.__cause__.definite:
            raise refused.__cause__ from None
        raise


def _hand_on(request: PullRequest, name: str, build: Build) -> None:
    """A failed build goes to its fixer; one whose log the forge does not have or give is noted. Raises ForgeRefused."""
    try:
        build(request, name)
    except ForgeRefused as refused:
        if not refused.definite:
            raise
        told = {"build": f"{name} of {request}", "why": str(refused)}
        note("forge", "forge.build_left", request.link.project.slug, told, outcome="fail")


def _build(request: PullRequest, build: str) -> None:
    """Have a failed build of what stands on the branch fixed, one for each commit."""
    link, source = request.link, f"{request} at {request.commit[:10]}"
    by = request.opened_by or link.created_by
    known = RequirementDocument.every.filter(project=link.project_id, start__source=source)
    if not link.takes_requests or by is None or known.exists():
        return
    log = forge_of(link).build_log(build, MOST_LOG)
    try:
        fix_log(link.project, log, by=by, source=source, request=request.pk)
    except ProjectsError as refused:
        note("forge", "forge.build_left", link.project.slug, {"build": source, "why": str(refused)}, outcome="fail")


def rest(link: ForgeLink, refused: ForgeRefused, now: datetime) -> None:
    """Leave a forge alone that did not answer, longer each time, and as long as it said itself."""
    longer = FIRST_REST * 2 ** min(link.failures, 10)
    asked = timedelta(seconds=min(refused.wait or 0, LONGEST_REST.total_seconds()))
    link.failures, link.rests_until = min(link.failures + 1, 1_000), now + min(max(longer, asked), LONGEST_REST)
    link.problem, link.polled_at = clean_line(str(redact(str(refused))), 300), now
    link.save(update_fields=["failures", "rests_until", "problem", "polled_at"])


def went_well(link: ForgeLink, now: datetime) -> None:
    """It answered: nothing is held against it any more."""
    link.failures, link.rests_until, link.problem, link.polled_at = 0, None, "", now
    link.save(update_fields=["failures", "rests_until", "problem", "polled_at"])
