import pytest

from agents.engine.waiting import WaitReason
from projects.errors import BadInput, IllegalMove, NotAllowed
from projects.models import Approval, Event, Task
from projects.services.decisions.approvals import decide
from projects.services.work import tasks
from projects.services.work.approval_requests import ask
from projects.services.work.moves import move_run, move_task
from tests.factories import bare_run, make_project, make_run, make_task, make_user, owner_of
from tests.rows import fresh, undone
from tests.tables import each_row

pytestmark = pytest.mark.django_db


def states(run) -> dict[str, str]:
    return dict(Task.objects.filter(run=run).values_list("key", "status"))


def chain():
    """T-01 ← T-02 ← T-03, and T-04 alone."""
    run = bare_run()
    first = make_task(run, key="T-01")
    second = make_task(run, key="T-02", needs=[first])
    third = make_task(run, key="T-03", needs=[second])
    return run, first, second, third, make_task(run, key="T-04")


def test_tasks_become_ready_when_all_they_need_is_done():
    run, first, second, *_ = chain()
    assert [task.key for task in tasks.ready_tasks(run.pk)] == ["T-01", "T-04"]
    first.refresh_from_db()
    move_task(first, "running")
    move_task(first, "merged")
    assert [task.key for task in tasks.ready_tasks(run.pk)] == ["T-02", "T-04"]
    assert fresh(second).status == "ready"


def test_asking_for_ready_tasks_twice_moves_nothing_twice():
    run, *_ = chain()
    tasks.ready_tasks(run.pk)
    told = Event.objects.filter(run=run).count()
    tasks.ready_tasks(run.pk)
    assert Event.objects.filter(run=run).count() == told


def test_what_waits_behind_an_escalated_task_is_blocked_and_comes_back():
    run, first, *_ = chain()
    tasks.ready_tasks(run.pk)
    first.refresh_from_db()
    move_task(first, "running")
    tasks.escalate_task(first, text="It cannot be done.\nTried twice.")
    tasks.ready_tasks(run.pk)
    assert states(run) == {"T-01": "escalated", "T-02": "blocked", "T-03": "blocked", "T-04": "ready"}
    assert Task.objects.get(run=run, key="T-03").why == "waits for T-01, which is escalated"
    person = make_user(role="developer", project=run.project)
    tasks.retry_task(first, by=person, note="use a list")
    tasks.ready_tasks(run.pk)
    assert states(run) == {"T-01": "ready", "T-02": "queued", "T-03": "queued", "T-04": "ready"}


def test_a_skipped_task_lets_its_followers_go_on():
    run, first, *_ = chain()
    tasks.skip_task(first, by=make_user(role="developer", project=run.project), reason="not needed")
    assert [task.key for task in tasks.ready_tasks(run.pk)] == ["T-02", "T-04"]


def test_nothing_becomes_ready_while_the_run_is_paused():
    run, *_ = chain()
    move_run(run, "paused")
    assert tasks.ready_tasks(run.pk) == []


def test_a_thousand_tasks_are_settled_with_each_edge_walked_once(django_assert_max_num_queries):
    run = bare_run()
    Task.objects.bulk_create([Task(run=run, ordinal=n, key=f"T-{n}", title="t") for n in range(1_000)])
    rows = list(Task.objects.filter(run=run).order_by("ordinal"))
    link = Task.needs.through
    link.objects.bulk_create(
        [link(from_task_id=rows[n].pk, to_task_id=rows[n - k].pk) for n in range(1, 1_000) for k in (1, 2) if n >= k]
    )
    with django_assert_max_num_queries(20):
        assert [task.key for task in tasks.ready_tasks(run.pk)] == ["T-0"]


def test_a_retry_opens_a_fresh_thread_with_the_persons_note():
    task = make_task(status="escalated")
    token = task.lease_token
    tasks.retry_task(task, by=make_user(role="developer", project=task.run.project), note="try a set")
    assert (task.status, task.generation, task.note, task.escalation) == ("ready", 2, "try a set", "")
    assert task.lease_token > token


@pytest.mark.parametrize("status", ["ready", "running", "merged", "cancelled"])
def test_only_what_stopped_can_be_retried(status):
    task = make_task(status=status)
    with pytest.raises(IllegalMove, match=status):
        tasks.retry_task(task, by=make_user(role="developer", project=task.run.project))


def test_only_who_works_on_the_project_may_retry_or_skip_and_skipping_needs_a_reason():
    task = make_task(status="escalated")
    viewer = make_user(role="viewer", project=task.run.project)
    for other in (viewer, make_user(role="developer", project=make_project())):
        with pytest.raises(NotAllowed, match="developer"):
            tasks.retry_task(task, by=other)
        with pytest.raises(NotAllowed, match="developer"):
            tasks.skip_task(task, by=other, reason="no")
    with pytest.raises(BadInput, match="Give a reason"):
        tasks.skip_task(task, by=make_user(role="developer", project=task.run.project), reason="  ")


def test_a_task_of_a_finished_run_stays_as_it_is():
    task = make_task(status="skipped")
    move_run(task.run, "finished")
    with pytest.raises(IllegalMove, match="finished"):
        tasks.retry_task(task, by=make_user(role="developer", project=task.run.project))


@each_row(("yes", "status", "generation", "note"), [(True, "ready", 2, "use a queue"), (False, "escalated", 1, "")])
@undone()
def test_an_escalation_is_asked_and_only_a_yes_tries_again(yes, status, generation, note):
    task = make_task(status="running")
    tasks.escalate_task(task, text="The signature repeats.\nSecond line.")
    question = Approval.objects.get(task=task, kind="escalation")
    assert question.why == "The signature repeats.\nSecond line."
    decide(question, by=make_user(role="developer", project=task.run.project), yes=yes, reason="use a queue")
    assert (fresh(task).status, task.generation, task.note) == (status, generation, note)


def test_a_retry_closes_the_open_question_and_revives_the_run():
    task = make_task(status="running")
    tasks.escalate_task(task, text="not solved")
    run = task.run
    run.refresh_from_db()
    move_run(run, "needs_you", wait=WaitReason.TASKS, reason="T-01")
    tasks.retry_task(task, by=make_user(role="developer", project=run.project))
    assert Approval.objects.get(task=task).status == "closed"
    assert (fresh(run).status, run.why) == ("running", "")


@pytest.mark.parametrize("answered", [True, False])
def test_a_waiting_task_goes_on_exactly_when_its_question_is_answered_also_before_it_waits(answered):
    task = make_task(status="running")
    question = ask(task.run.project, kind="package", subject="requests", title="Install?", run=task.run, task=task)
    if answered:
        decide(question, by=make_user(role="developer", project=task.run.project), yes=True)
    move_task(task, "needs_you", wait=WaitReason.PACKAGE_CONSENT, reason="requests")
    assert [ready.pk for ready in tasks.ready_tasks(task.run_id)] == [task.pk] * answered
    assert fresh(task).status == ("ready" if answered else "needs_you")


def test_secrets_in_a_persons_note_are_not_kept():
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    task = make_task(status="escalated")
    tasks.retry_task(task, by=make_user(role="developer", project=task.run.project), note=f"use {token}")
    assert token not in task.note
    assert not Event.objects.filter(summary__contains=token).exists()


def test_a_build_starts_with_its_first_task_ready():
    run = make_run(needs={"T-01": [], "T-02": ["T-01"], "T-03": ["T-01"]})
    assert [task.key for task in tasks.ready_tasks(run.pk)] == ["T-01"]
    assert owner_of(run.project) == run.started_by
