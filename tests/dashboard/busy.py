"""A build in the middle of its work, of any size: merged layers, tasks at work in several states, the rest queued."""

from datetime import datetime, timedelta
from typing import Any
from unittest import mock

from django.utils import timezone

from projects.models import Attempt, Plan, Run, Task
from tests.factories import make_document, make_plan, make_project, make_run
from tests.rows import emit

SMALL = {
    "T-01": ("Project and settings", [], 10),
    "T-02": ("Patients and doctors", ["T-01"], 10),
    "T-03": ("Opening hours", ["T-01"], 12),
    "T-04": ("Sign-in and roles", ["T-01"], 10),
    "T-05": ("Find free slots", ["T-02", "T-03"], 12),
    "T-06": ("Patient register", ["T-02", "T-04"], 15),
    "T-07": ("Book without overlap", ["T-05"], 30),
    "T-08": ("Record of access", ["T-04"], 15),
    "T-09": ("Cancel and move", ["T-07"], 20),
    "T-10": ("Reminder messages", ["T-06", "T-07"], 15),
    "T-11": ("Access report as CSV", ["T-08"], 10),
    "T-12": ("Whole-visit check", ["T-09", "T-10"], 10),
}
WORDS = "Cancel Move List Report Letters Referrals Invoices Payments Slots Rooms".split()
STEPS = (("tester", "cmd", 2), ("coder", "thought", 5), ("coder", "file.diff", 1), ("tester", "test.result", 2))


def busy(owner: Any = None, count: int = 12, *, name: str = "") -> Run:
    """A third of the tasks is merged, three are at work, one waits for a person."""
    project = make_project(name or f"Clinic with {count} tasks", by=owner)
    plan = make_plan(make_document(project), needs=_needs(count))
    content = dict(plan.content)
    for spec in content["tasks"]:
        title, _, minutes = SMALL.get(spec["key"], (f"{WORDS[int(spec['key'][2:]) % 10]} for the desk", [], 20))
        spec |= {"title": title, "minutes": minutes}
    Plan.objects.filter(pk=plan.pk).update(content=content)
    plan.refresh_from_db()
    run = make_run(plan)
    start = timezone.now() - timedelta(minutes=34)
    Run.objects.filter(pk=run.pk).update(started_at=start)
    merged = 5 if count == 12 else count // 3
    for place, task in enumerate(run.tasks.order_by("ordinal")):
        if place >= merged + (3 if count == 12 else 4):
            break
        begun = start + timedelta(minutes=min(22, 7 * place * 12 / count))
        tries = 2 if place in (3, merged + 1) else 1
        _work(run, task, begun, tries)
        state = "merged" if place < merged else "needs_you" if place == merged + 3 else "running"
        over = begun + timedelta(minutes=9 * tries)
        values = {"status": state, "started_at": begun, "finished_at": over if state == "merged" else None}
        if state == "needs_you":
            values |= {"wait_reason": "package_consent", "why_detail": "reportlab"}
        Task.objects.filter(pk=task.pk).update(**values)
    run.refresh_from_db()
    return run


def _needs(count: int) -> dict[str, list[str]]:
    if count == 12:
        return {key: needs for key, (_, needs, _) in SMALL.items()}
    width = max(1, count // 9)
    keys = [f"T-{n:02d}" for n in range(1, count + 1)]
    found: dict[str, list[str]] = {}
    for n, key in enumerate(keys):
        before = [n - width, n - width + (n % width < width - 1)]
        found[key] = [] if n < width else [keys[place] for place in dict.fromkeys(before)]
    return found


def _work(run: Run, task: Task, begun: datetime, tries: int) -> None:
    """The steps of a task at their times; the last of several tries is the one that passes."""
    at = begun
    for number in range(1, tries + 1):
        for role, kind, minutes in STEPS:
            at += timedelta(minutes=minutes)
            fails = number < tries and kind == "test.result"
            words = f"{role} at {task.key}"
            with mock.patch("django.utils.timezone.now", return_value=at):
                emit(
                    *(run.pk, kind),
                    **{"role": role, "task_id": task.pk, "attempt": number, "summary": words},
                    outcome="fail" if fails else "",
                )
        outcome = "failed" if number < tries else "running" if task.status == "running" else "passed"
        attempt = Attempt.objects.create(task=task, number=number, outcome=outcome, branch_coverage=71 + number)
        Attempt.objects.filter(pk=attempt.pk).update(finished_at=at)
