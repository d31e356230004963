"""A ticket on its way from the backlog to a merge, by the real jobs, with a window that closes in the middle."""

from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from agents.engine.waiting import WaitReason
from agents.llm.runner import ModelRunner
from projects.jobs import upkeep
from projects.models import Project, Run, SiteEvent, Task
from projects.services.backlog import hours, items, scheduler
from projects.services.backlog.forecast import State, progress_of
from tests.factories import make_project
from tests.projects.jobs_driver import REAL_JOBS, Driver, small_replies, write_scenario
from tests.rows import fresh

pytestmark = REAL_JOBS
TICKET = "add(a, b) shall give the sum of two numbers."


def assigned(folder: Path, **settings: Any) -> Project:
    replies = {key: text.replace('["FR-01", "FR-02"]', '["R1"]') for key, text in small_replies("T-01").items()}
    project = make_project("Sums", model=write_scenario(folder / "scenario", replies), **settings)
    [item] = items.add(project, items.from_text(TICKET), by=project.created_by, source="pasted")
    items.change(project, [item.pk], by=project.created_by, do="assign")
    return project


def test_a_ticket_of_a_project_without_approvals_is_merged_by_itself(tmp_path: Path, driver: Driver) -> None:
    project = assigned(tmp_path, autonomy="none")
    upkeep.sweep()
    driver.work()
    [item] = project.backlog.all()
    stands = progress_of(item)
    assert (stands.state, stands.run.status) == (State.DONE, Run.Status.FINISHED)
    upkeep.sweep()
    assert project.backlog.get().done_at is not None
    assert SiteEvent.objects.filter(actor="scheduler", action="backlog.begun").count() == 1


def test_a_closing_window_lets_the_step_end(tmp_path: Path, driver: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    project = assigned(tmp_path, autonomy="none")
    complete, shut = ModelRunner.complete, []

    def watched(runner: Any, *args: Any, **options: Any) -> Any:
        answer = complete(runner, *args, **options)
        if Task.objects.filter(status=Task.Status.RUNNING).exists() and not shut:
            shut.append(True)  # while the first reply of the build was written
        return answer

    why = WaitReason.WINDOW, "20:00 (UTC)"
    monkeypatch.setattr(ModelRunner, "complete", watched)
    monkeypatch.setattr(hours, "closed", lambda project, now: why if shut == [True] else None)
    monkeypatch.setattr(scheduler, "closed", lambda project, now: why if shut == [True] else None)
    upkeep.sweep()
    driver.work()
    run = Run.objects.get(kind=Run.Kind.BUILD)
    task = run.tasks.get()
    assert (task.status, task.why) == ("ready", "waiting for the window until 20:00 (UTC)")
    assert (run.status, run.why) == ("running", "waiting for the window until 20:00 (UTC)")
    assert run.usages.count() == 1  # its reply was not thrown away
    for _ in range(3):  # closed: sweeps change nothing, and say nothing more
        upkeep.sweep()
        driver.work()
    last = Run.objects.get(pk=run.pk).last_seq
    assert last == run.last_seq
    shut.append(True)
    upkeep.sweep()
    driver.work()
    assert (fresh(run).status, run.left_out) == (Run.Status.FINISHED, 0)
    assert run.usages.count() == 3  # tests, code, review: as without the pause
    scheduler.advance_all(timezone.now())
    assert project.backlog.get().done_at is not None
