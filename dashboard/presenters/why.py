"""The why line of a run: what it does or waits for, since when, and who can end the wait; made from typed reasons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from django.db.models import Max
from django.urls import reverse

from dashboard.drawing.run_graph import tries_of
from dashboard.presenters.queue import address_of
from dashboard.text.safe import one_line
from projects.models import Approval, Chat, Event, RequirementDocument, Run, Task
from projects.models.project import Role
from projects.models.waiting import is_scheduled, phrase
from projects.services.accounts import rights
from projects.services.audit.vocabulary import PUT_ASIDE, STEPS
from projects.services.work.graphs import is_outage

MOST_NAMED = 3
STEP_WORDS = dict(
    zip(STEPS, ("the coder writes it", "the coder repairs it", "its tests pass", "it is reviewed"), strict=True)
)
# Phrases of projects.models.waiting that go on from the key of a task.
VERBS = ("wants", "reaches", "asks", "removes", "would", "failed", "waits")
FREE_WORKER = "If none takes it, see System: a worker may not be running."


@dataclass(frozen=True)
class Why:
    """`lead` is what matters most, `rest` what goes on beside it; `who` can end the wait, at `href` if anywhere."""

    lead: str
    rest: str = ""
    since: datetime | None = None
    who: str = ""
    href: str = ""
    label: str = ""
    needs: bool = False


def those_who_may(verb: str) -> str:
    """ "Architect or Developer": the roles with this right."""
    labels = [str(Role(role).label) for role in rights.roles_that_may(verb)]
    return " or ".join([part for part in (", ".join(labels[:-1]), labels[-1]) if part])


def why_of(run: Run, tasks: Sequence[Task]) -> Why:
    """The sentence for a run as it is now, or as it was after its event `last_seq`."""
    why = _why_of(run, tasks)
    if run.replay_of:  # nothing of it can be decided here
        return replace(why, who="", href="", label="", needs=False)
    return why


def _why_of(run: Run, tasks: Sequence[Task]) -> Why:
    if run.kind == Run.Kind.CHAT:
        return _of_chat(run)
    if run.status in (Run.Status.QUEUED, Run.Status.RUNNING) and is_scheduled(run.wait_reason):
        who = f"{those_who_may('backlog.edit')} can change window and caps"
        at = reverse("backlog", args=[run.project_id])
        return Why(_capital(run.why), _work(run, tasks), run.why_since, who, at, "Open the backlog")
    if run.status == Run.Status.QUEUED:
        others = Run.objects.filter(status=Run.Status.RUNNING).exclude(pk=run.pk).count()
        busy = f"{others} other run{'s are' if others > 1 else ' is'} at work. " if others else ""
        return Why("Waits for a free worker", busy + FREE_WORKER, run.created_at)
    if run.status in Run.OVER:
        return _over(run, tasks)
    if run.status == Run.Status.PAUSED:
        who = f"{those_who_may('run.control')} can resume it"
        return Why(_capital(run.why_detail or "paused"), since=run.why_since, who=who)
    stuck = [task for task in tasks if task.status in (Task.Status.NEEDS_YOU, Task.Status.ESCALATED)]
    pending = [] if hasattr(run, "shown_at") else list(run.approvals.filter(status="pending").order_by("pk"))
    if stuck or pending:
        return _stuck(run, stuck, pending, _work(run, tasks))
    if run.status == Run.Status.NEEDS_YOU or (run.wait_reason and not tasks):
        return _run_waits(run)
    if run.kind != Run.Kind.BUILD:
        return Why(_planning(run), since=run.started_at)
    if work := _work(run, tasks):
        return Why(work, _ready(run, tasks))
    return _resting(run, tasks)


def _of_chat(run: Run) -> Why:
    """Whose turn it is in a conversation."""
    if run.status in Run.OVER:
        return Why("The chat is over", run.why_detail, run.finished_at)
    if run.status == Run.Status.NEEDS_YOU:
        asked = [] if hasattr(run, "shown_at") else list(run.approvals.filter(status="pending").order_by("pk"))
        who = f"{those_who_may('run.control')} can answer"
        at = address_of(asked[0]) if asked else ""
        return Why(f"The model asks: {run.why_detail}", "", run.why_since, who, at, "Answer", needs=True)
    if run.status == Run.Status.RUNNING:
        place = Chat.objects.filter(run=run.pk).values_list("place", flat=True).first() or Chat.DASHBOARD
        return Why("The model is at work" if place == Chat.DASHBOARD else f"The chat is open in {place}")
    return Why("Your turn", run.why_detail, run.why_since if run.why_detail else None)


def _over(run: Run, tasks: Sequence[Task]) -> Why:
    detail = run.why_detail
    if run.status == Run.Status.FAILED:
        who = f"{those_who_may('run.control')} can resume it"
        return Why("The run failed", detail, run.why_since, who, needs=True)
    if run.status == Run.Status.CANCELLED:
        return Why("The run was stopped", detail, run.why_since)
    if not tasks:
        return Why("Finished", detail or "nothing here waits for anybody", run.finished_at)
    merged = sum(task.status == Task.Status.MERGED for task in tasks)
    left = len(tasks) - merged
    if left:
        return Why(
            f"{left} of {len(tasks)} tasks {'is' if left == 1 else 'are'} left out", f"{merged} merged", run.finished_at
        )
    all_of_them = f"all {merged} tasks are merged" if merged > 1 else "its task is merged"
    return Why("Finished", f"{all_of_them}; nothing here waits for anybody.", run.finished_at)


def _stuck(run: Run, stuck: list[Task], pending: list[Approval], work: str) -> Why:
    """A person can bring it on: the question or the task that waits for one, and what goes on meanwhile."""
    waiting = {task.pk for task in stuck} | {asked.task_id for asked in pending if asked.kind != "escalation"}
    more = (
        f"{len(waiting) - 1} more {'waits' if len(waiting) == 2 else 'wait'} for a person" if len(waiting) > 1 else ""
    )
    meanwhile = f"meanwhile {work}" if work else ""
    rest = "; ".join(part for part in (more, meanwhile) if part)
    asked = next((one for one in pending if one.kind != "escalation"), None)
    if asked is not None:
        task = next((task for task in stuck if task.pk == asked.task_id), None)
        lead = says(task) if task else f"A decision waits: {asked.title}"
        who = f"{those_who_may('approval.decide')} can decide"
        return Why(lead, rest, asked.requested_at, who, address_of(asked), f"Decide: {asked.title}", needs=True)
    if not stuck:
        first = pending[0]
        return Why(first.title, rest, first.requested_at, "", address_of(first), f"Decide: {first.title}", needs=True)
    task = stuck[0]
    moves = Event.objects.filter(run=run, task=task, seq__lte=run.last_seq, type__in=PUT_ASIDE)
    since = moves.order_by("-seq").values_list("at", flat=True).first()
    lead, href = says(task), reverse("task", args=[task.pk])
    if task.status == Task.Status.ESCALATED:
        lead = f"{task.key} is given up: {task.why_detail or 'it is out of tries'}"
    return Why(lead, rest, since, f"{those_who_may('task.retry')} can decide", href, "Look at it", needs=True)


def says(task: Task) -> str:
    """What a task waits for, as a sentence about it."""
    text = phrase(task.wait_reason, task.why_detail) or task.get_status_display().lower()
    if text.startswith("waiting for"):
        return f"{task.key} is {text}"
    return f"{task.key} {text}" if text.split(" ")[0] in VERBS else f"{task.key}: {text}"


def _run_waits(run: Run) -> Why:
    document = run.document
    text = _capital(phrase(run.wait_reason, run.why_detail) or "a person has to decide how it goes on")
    if document is not None and document.status == RequirementDocument.Status.EXTRACTED:
        href = f"{reverse('requirements', args=[run.project_id])}?v={document.version}"
        who = f"{those_who_may('requirement.edit')} can confirm them"
        return Why(text, "", run.why_since, who, href, "Open the requirements", needs=True)
    needs = run.status == Run.Status.NEEDS_YOU
    who = f"{those_who_may('run.control')} can resume it" if needs else "It is tried again by itself"
    return Why(text, "", run.why_since, who, needs=needs)


def _planning(run: Run) -> str:
    if run.kind == Run.Kind.TESTS:
        return "The tester writes tests for a module"
    if run.kind == Run.Kind.REVIEW:
        return "The reviewer reads a change"
    document = run.document
    if document is None:
        return "The planner is at work"
    name = one_line(document.filename, 60)
    read = document.status != RequirementDocument.Status.UPLOADED
    return f"The planner splits {name} into tasks" if read else f"The planner reads {name}"


def _work(run: Run, tasks: Sequence[Task]) -> str:
    """What each running task is at: "T-03 try 2 of 6: the coder repairs it"."""
    running = [task for task in tasks if task.status == Task.Status.RUNNING]
    if not running:
        return ""
    steps = Event.objects.filter(run=run, task__in=running[:MOST_NAMED], seq__lte=run.last_seq, type__in=STEPS)
    newest = steps.order_by().values("task").annotate(newest=Max("seq")).values("newest")
    latest = {row.task_id: row for row in Event.objects.filter(run=run, seq__in=newest).defer("payload", "blobs")}
    parts = []
    for task in running[:MOST_NAMED]:
        tries = tries_of(task)
        parts.append(f"{task.key}{' ' + tries if tries else ''}: {_step(task, latest.get(task.pk))}")
    more = len(running) - MOST_NAMED
    return "; ".join(parts) + (f"; {more} more at work" if more > 0 else "")


def _step(task: Task, event: Event | None) -> str:
    if event is None:
        return f"the {one_line(task.agent, 20)} begins"
    begins, _, tests, gate = STEPS
    if event.outcome == "fail" and event.type in (tests, gate):
        return "its tests fail" if event.type == tests else "the security gate stops it"
    return STEP_WORDS["diagnosis" if event.type == begins and event.attempt > 1 else event.type]


def _ready(run: Run, tasks: Sequence[Task]) -> str:
    """Why ready tasks do not run: a model or sandbox that does not answer, or the number that may run at a time."""
    ready = [task for task in tasks if task.status == Task.Status.READY]
    resting = [task for task in ready if is_outage(task)]
    if resting:
        return f"{says(resting[0])}; it is tried again by itself"
    limit = run.project.parallel_tasks
    if not ready or sum(task.status == Task.Status.RUNNING for task in tasks) < limit:
        return f"{len(ready)} ready for a free worker" if ready else ""
    may = those_who_may("project.edit")
    return f"{len(ready)} ready, but only {limit} may run at a time ({may} can raise it)"


def _resting(run: Run, tasks: Sequence[Task]) -> Why:
    """Nothing runs at the moment."""
    ready = [task for task in tasks if task.status == Task.Status.READY]
    resting = [task for task in ready if is_outage(task)]
    if resting and len(resting) == len(ready):
        who = "It is tried again by itself; System shows what does not answer"
        more = f"{len(resting) - 1} more wait too" if len(resting) > 1 else ""
        return Why(says(resting[0]), more, run.why_since, who, reverse("system"), "Open System", needs=False)
    if ready:
        more = f" and {len(ready) - 1} more are" if len(ready) > 1 else " is"
        return Why(f"{ready[0].key}{more} ready and waits for a free worker", FREE_WORKER, run.why_since)
    blocked = next((task for task in tasks if task.status == Task.Status.BLOCKED), None)
    if blocked is not None:
        return Why(says(blocked), "", run.why_since, f"{those_who_may('task.retry')} can retry what it needs")
    return Why("The next tasks are being chosen", since=run.started_at)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
