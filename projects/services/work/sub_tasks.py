"""Sub-tasks: what a task found missing while it was built becomes a task of its run, for which it waits."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any, NamedTuple

from django.db.models import Max

from agents.engine.waiting import Waiting, WaitReason
from agents.events.lifecycle import TaskAdded
from agents.languages.registry import language_of
from agents.secrets.redaction import redact
from projects.models import Approval, Task
from projects.models.project import NO_APPROVAL
from projects.services.audit.canonical import clean_line, clean_text
from projects.services.audit.events import emit
from projects.services.work.approval_requests import ask, stored_subject
from projects.services.work.moves import TASK_OVER

MINUTES = 20  # a helper, not a part of the product


class SubTaskRequest(NamedTuple):
    """What a task lacks, the file that should have it, and why, in a model's words."""

    what: str
    path: str
    why: str


def sub_task_for(task: Task, wish: SubTaskRequest, *, actor: str, fenced: Callable[[Callable[[], Any]], Any]) -> str:
    """What came of the wish, in words for who asked. `fenced` runs a write under the run's lock and the task's lease.

    A task of the plan that is still to write the file is waited for instead. Where plans need an approval a person is
    asked first. Raises Waiting while nobody has answered, and until the sub-task is merged or left out.
    """
    made = Task.objects.filter(asked_by=task).first()
    if made is None:
        if (planned := _planned(task, wish.path)) is not None:
            fenced(lambda: task.needs.add(planned))
            raise Waiting(WaitReason.DEPENDENCY, f"{planned.key}, which writes {wish.path}")
        if task.run.autonomy not in NO_APPROVAL and (refused := _refusal(task, wish)):
            return refused
        made = fenced(lambda: _add(task, wish, actor))
    if made.status == Task.Status.MERGED:
        return f"It is there: {made.key} has made it."
    if made.status == Task.Status.SKIPPED:
        return f"A person left it out ({made.why_detail}). Do without it, in files of this task."
    raise Waiting(WaitReason.DEPENDENCY, f"its sub-task {made.key}")


def _planned(task: Task, path: str) -> Task | None:
    """An open task of the run that writes the file and does not itself wait for this one."""
    behind, queue = {task.pk}, [task]
    for one in queue:
        followers = [after for after in one.unblocks.all() if after.pk not in behind]
        behind |= {after.pk for after in followers}
        queue += followers
    others = task.run.tasks.exclude(status__in=TASK_OVER).exclude(pk__in=behind)
    return next((one for one in others if path in one.files), None)


def _refusal(task: Task, wish: SubTaskRequest) -> str:
    """What a person said against the sub-task, "" for a yes; raises Waiting while nobody has answered."""
    title = f"{task.key}: may it have a sub-task for {wish.what}, in {wish.path}?"
    asked: dict[str, Any] = {"kind": Approval.Kind.PLAN, "run": task.run, "task": task}
    subject = f"sub-task of {task.key}: {wish.what}, in {wish.path}"
    last = Approval.objects.filter(**asked, subject=stored_subject(subject)).order_by("-pk").first()
    if last is not None and last.status == Approval.Status.APPROVED:
        return ""
    if last is not None and last.status == Approval.Status.REJECTED:
        return f"A person said no ({last.reason}). Do without it, in files of this task."
    ask(
        task.run.project,
        **asked,
        subject=subject,
        title=title,
        why=f"{task.key} {task.title} says that it lacks {wish.what}, in {wish.path}.\n{wish.why}".strip(),
        on_yes=f"It becomes a task of this run, tested and reviewed like any other; {task.key} waits for it.",
        on_no=f"{task.key} goes on without it and is told your reason.",
        payload={"what": wish.what, "path": wish.path},
    )
    raise Waiting(WaitReason.SUB_TASK_CONSENT, f"{wish.what}, in {wish.path}")


def _add(task: Task, wish: SubTaskRequest, actor: str) -> Task:
    keys = set(task.run.tasks.values_list("key", flat=True))
    what = str(redact(wish.what))
    made = Task.objects.create(
        run=task.run,
        asked_by=task,
        ordinal=(task.run.tasks.aggregate(last=Max("ordinal"))["last"] or 0) + 1,
        key=next(key for number in count(1) if (key := f"{task.key[:34]}.{number}") not in keys),
        title=clean_line(f"{what}, in {wish.path}", 200),
        description=clean_text(
            f"Make this and nothing else: {what}, in {wish.path}.\n"
            f"Task {task.key} ({task.title}) will use it. It says: {redact(wish.why) or '-'}"
        ),
        expects=clean_text(f"{wish.path} has {what}."),
        kind="code" if language_of(wish.path) else "config",
        minutes=MINUTES,
        files=[wish.path],
    )
    made.requirements.set(task.requirements.all())
    task.needs.add(made)
    added = TaskAdded(
        summary=f"{task.key} waits for its sub-task {made.key}: {made.title}",
        key=made.key,
        asked_by=task.key,
        what=what,
        path=wish.path,
        reason=wish.why,
    )
    emit(task.run_id, added, actor=actor, task_id=made.pk)
    return made
