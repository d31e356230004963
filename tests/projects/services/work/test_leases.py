"""Of any number of workers one has the task, and whoever had it before can write no more."""

from datetime import timedelta

import pytest
from django.utils import timezone

from projects.errors import BadInput, LeaseLost, LostRace
from projects.models import Run, Task
from projects.services.work import leases, tasks
from projects.services.work.moves import move_task
from tests.factories import bare_run, make_task
from tests.projects.threads import at_once
from tests.rows import fresh

pytestmark = pytest.mark.django_db


def run_out(task: Task) -> None:
    Task.objects.filter(pk=task.pk).update(lease_until=timezone.now() - timedelta(seconds=1))


@pytest.mark.django_db(transaction=True)
def test_of_fifty_claims_at_once_one_wins():
    task = make_task(status="ready")
    results = at_once([lambda n=n: leases.claim(Task, task.pk, owner=f"worker:a:{n}", seconds=30) for n in range(50)])
    assert [result for result in results if result == 1] == [1]
    assert sum(isinstance(result, LostRace) for result in results) == 49


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_of_fifty_threads_with_one_name_one_wins():
    task = make_task(status="ready")
    results = at_once([lambda: leases.claim(Task, task.pk, owner="worker:a:1", seconds=30)] * 50)
    assert sum(isinstance(result, int) for result in results) == 1


def test_a_sleeper_that_wakes_after_its_lease_is_refused_every_write():
    task = make_task(status="ready")
    old = leases.claim(Task, task.pk, owner="worker:a:1", seconds=30)
    move_task(task, "running", token=old)
    run_out(task)
    new = leases.claim(Task, task.pk, owner="worker:b:2", seconds=30)
    assert new == old + 1
    for write in (
        lambda: leases.guard(Task, task.pk, old),
        lambda: leases.renew(Task, task.pk, token=old, seconds=30),
        lambda: move_task(task, "merged", token=old),
        lambda: tasks.escalate_task(task, token=old, text="tired"),
    ):
        with pytest.raises(LeaseLost, match="worker:b:2"):
            write()
    assert leases.release(Task, task.pk, token=old) is False
    assert (fresh(task).status, task.lease_owner) == ("running", "worker:b:2")
    leases.guard(Task, task.pk, new)


def test_a_lease_that_ran_out_but_nobody_took_can_be_renewed():
    task = make_task(status="ready")
    token = leases.claim(Task, task.pk, owner="worker:a:1", seconds=30)
    run_out(task)
    leases.renew(Task, task.pk, token=token, seconds=30)
    with pytest.raises(LostRace, match="worker:a:1"):
        leases.claim(Task, task.pk, owner="worker:b:2", seconds=30)


def test_a_released_lease_is_free_at_once_and_its_token_is_spent():
    task = make_task(status="ready")
    token = leases.claim(Task, task.pk, owner="worker:a:1", seconds=30)
    assert leases.release(Task, task.pk, token=token) is True
    with pytest.raises(LeaseLost, match="nobody"):
        leases.guard(Task, task.pk, token)
    assert leases.claim(Task, task.pk, owner="worker:b:2", seconds=30) == token + 1


@pytest.mark.parametrize("status", ["queued", "needs_you", "merged", "escalated", "skipped", "cancelled", "blocked"])
def test_only_a_ready_or_running_task_can_be_claimed(status):
    task = make_task(status="" if status == "queued" else status)
    with pytest.raises(LostRace):
        leases.claim(Task, task.pk, owner="worker:a:1", seconds=30)


def test_a_lease_from_before_the_clock_was_set_back_counts_as_run_out():
    task = make_task(status="running")
    Task.objects.filter(pk=task.pk).update(lease_owner="worker:gone:1", lease_until=timezone.now() + timedelta(hours=3))
    assert list(tasks.expired_leases()) == [task]
    assert leases.claim(Task, task.pk, owner="worker:b:2", seconds=30) == 1


@pytest.mark.parametrize("seconds", [0, -5, 1e9])
def test_an_unreasonable_length_is_refused(seconds):
    task = make_task(status="ready")
    with pytest.raises(BadInput, match="lease lasts"):
        leases.claim(Task, task.pk, owner="worker:a:1", seconds=seconds)


def test_a_task_that_does_not_exist_is_named():
    with pytest.raises(BadInput, match="no task 424242"):
        leases.claim(Task, 424242, owner="worker:a:1", seconds=30)


def test_running_tasks_that_nobody_holds_are_found():
    run = bare_run()
    held, dropped = make_task(run, status="ready"), make_task(run, status="ready")
    make_task(run, status="ready")
    for task in (held, dropped):
        token = leases.claim(Task, task.pk, owner="worker:a:1", seconds=30)
        move_task(task, "running", token=token)
    run_out(dropped)
    assert list(tasks.expired_leases()) == [dropped]


def test_what_a_dead_worker_held_is_free_before_its_lease_runs_out():
    run = bare_run()
    task, other = make_task(run, status="ready"), make_task(run, status="ready")
    token = leases.claim(Task, task.pk, owner="worker:a:1", seconds=300)
    leases.claim(Task, other.pk, owner="worker:a:2", seconds=300)
    leases.claim(Run, run.pk, owner="worker:a:1", seconds=300)
    assert leases.acquire_merge(run.pk, owner="worker:a:1#T-01", seconds=300)
    asked: list[str] = []

    def is_alive(owner: str) -> bool:
        asked.append(owner)
        return owner != "worker:a:1"

    assert tasks.release_dead_owners(is_alive) == 3
    assert set(asked) == {"worker:a:1", "worker:a:2"}
    with pytest.raises(LeaseLost):
        leases.guard(Task, task.pk, token)
    assert leases.claim(Task, task.pk, owner="worker:a:3", seconds=30) == token + 2
    with pytest.raises(LostRace):
        leases.claim(Task, other.pk, owner="worker:a:3", seconds=30)
    assert leases.acquire_merge(run.pk, owner="worker:a:3#T-01", seconds=30)


@pytest.mark.django_db(transaction=True)
def test_one_merges_at_a_time():
    run = bare_run()
    results = at_once(
        [lambda n=n: leases.acquire_merge(run.pk, owner=f"worker:a:1#T-{n}", seconds=30) for n in range(12)]
    )
    assert results.count(True) == 1


def test_the_right_to_merge_is_kept_renewed_and_given_back_by_its_owner_alone():
    run = bare_run()
    assert leases.acquire_merge(run.pk, owner="one", seconds=30)
    assert not leases.acquire_merge(run.pk, owner="one", seconds=30)
    assert not leases.release_merge(run.pk, owner="two")
    assert leases.release_merge(run.pk, owner="one")
    assert leases.acquire_merge(run.pk, owner="two", seconds=30)
    Run.objects.filter(pk=run.pk).update(merge_until=timezone.now() - timedelta(seconds=1))
    assert leases.acquire_merge(run.pk, owner="three", seconds=30)


def test_a_run_has_a_lease_of_the_same_kind():
    run = bare_run()
    token = leases.claim(Run, run.pk, owner="worker:a:1", seconds=30)
    leases.renew(Run, run.pk, token=token, seconds=30)
    leases.guard(Run, run.pk, token)
    with pytest.raises(LostRace):
        leases.claim(Run, run.pk, owner="worker:b:2", seconds=30)
    assert leases.release(Run, run.pk, token=token)
    Run.objects.filter(pk=run.pk).update(status="finished")
    with pytest.raises(LostRace):
        leases.claim(Run, run.pk, owner="worker:b:2", seconds=30)
    with pytest.raises(LeaseLost, match="run"):
        leases.guard(Run, run.pk, token)
