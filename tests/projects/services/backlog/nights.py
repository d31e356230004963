"""A backlog with hours, caps and tickets, and what planner and agents do with it."""

from datetime import UTC, datetime, time

from projects.models import BacklogItem, Plan, Project, Run, Task, Usage
from projects.services.backlog import hours, items
from projects.services.planning import plans
from projects.services.work.moves import move_run, move_task
from tests.factories import make_document, plan_content
from tests.rows import fresh

DAY, NIGHT = datetime(2026, 11, 25, 12, tzinfo=UTC), datetime(2026, 11, 25, 20, 30, tzinfo=UTC)


def windowed(project: Project, **caps: int | None) -> None:
    window = (time(20), time(6))
    hours.save(project, by=project.created_by, window=window, time_zone="UTC", caps=caps)


def queue(project: Project, *minutes: int | None, autonomy: str = "") -> list[BacklogItem]:
    text = "\n".join(f"A-{n} Do the thing {n}" for n in range(1, len(minutes) + 1))
    made = items.add(project, items.from_text(text), by=project.created_by, source="pasted")
    for item, estimate in zip(made, minutes, strict=True):
        item.minutes, item.autonomy = estimate, autonomy
        item.save()
    items.change(project, [item.pk for item in made], by=project.created_by, do="assign")
    return made


def begun(project: Project) -> list[str]:
    return list(project.backlog.exclude(document=None).values_list("key", flat=True))


def planned(item: BacklogItem, *, approved: bool = True) -> Plan:
    """What the planner does."""
    assert fresh(item).document is not None
    run = Run.objects.get(document=item.document, kind=Run.Kind.PLAN)
    move_run(run, Run.Status.RUNNING)
    content = plan_content({"T-01": []})
    content["tasks"][0]["requirements"] = [item.document.requirements.get().key]
    plan = plans.propose_plan(item.document, content=content, run=run)
    move_run(run, Run.Status.FINISHED)
    if approved:
        plans.approve_plan(plan, content_hash=plan.content_hash, by=item.project.created_by)
    return plan


def merged(run: Run) -> None:
    move_run(run, Run.Status.RUNNING)
    for task in run.tasks.all():
        for step in (Task.Status.RUNNING, Task.Status.MERGED):
            if task.status == Task.Status.QUEUED:
                move_task(task, Task.Status.READY)
            move_task(task, step)
    move_run(run, Run.Status.FINISHED)


def spend(project: Project, tokens: int, at: datetime) -> None:
    document = make_document(project)
    item = items.add(project, items.from_text("Z-1 Earlier"), by=project.created_by, source="pasted")[0]
    BacklogItem.objects.filter(pk=item.pk).update(document=document, done_at=at)
    run = Run.objects.create(project=project, document=document, status=Run.Status.FINISHED, finished_at=at)
    usage = Usage.objects.create(run=run, key="a", role="coder", model="m", prompt_tokens=tokens)
    Usage.objects.filter(pk=usage.pk).update(at=at)
