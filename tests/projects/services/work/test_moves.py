import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from projects.errors import IllegalMove, LostRace
from projects.models import Event, Plan, Run, Task, Transition
from projects.services.audit.chain import verify_chain
from projects.services.work.moves import RUN_EVENTS, TASK_EVENTS, move_plan, move_run, move_task
from tests.factories import bare_run, make_task
from tests.projects.threads import at_once
from tests.rows import fresh

pytestmark = pytest.mark.django_db


class TaskMoves(RuleBasedStateMachine):
    """Whatever is tried in whatever order: the row, the history and the stream tell one story."""

    def __init__(self) -> None:
        super().__init__()
        self.task = make_task()
        self.path = ["queued"]
        self.stale = Task.objects.get(pk=self.task.pk)

    @rule(to=st.sampled_from(Task.Status.values))
    def move(self, to: str) -> None:
        legal = to in Task.MOVES[self.path[-1]]
        if legal:
            move_task(self.task, to, reason="because", actor="worker:a:1")
            self.path.append(to)
        else:
            with pytest.raises(IllegalMove, match=self.task.key):
                move_task(self.task, to)

    @rule(to=st.sampled_from(Task.Status.values))
    def move_what_was_read_earlier(self, to: str) -> None:
        if self.stale.status != self.path[-1] and to in Task.MOVES[self.stale.status]:
            with pytest.raises(LostRace, match="no longer"):
                move_task(self.stale, to)

    @rule()
    def read_again(self) -> None:
        self.stale = Task.objects.get(pk=self.task.pk)

    @invariant()
    def the_row_the_history_and_the_stream_agree(self) -> None:
        row = Task.objects.get(pk=self.task.pk)
        assert row.status == self.task.status == self.path[-1]
        history = list(Transition.objects.filter(kind="task", object_id=row.pk).values_list("old", "new"))
        assert history == list(zip(self.path, self.path[1:], strict=False))
        told = list(Event.objects.filter(task=row).order_by("seq"))
        assert [event.payload["to"] for event in told] == self.path[1:]
        over = row.status in ("merged", "skipped", "escalated", "cancelled")
        assert row.finished_at == (told[-1].at if over else None)
        assert row.started_at == next((event.at for event in told if event.payload["to"] == "running"), None)

    def teardown(self) -> None:
        assert verify_chain(self.task.run_id).ok


class TestTaskMoves(TestCase):
    def test_any_sequence_of_moves_is_told_truthfully(self):
        run_state_machine_as_test(
            TaskMoves,
            settings=settings(max_examples=20, stateful_step_count=15, suppress_health_check=list(HealthCheck)),
        )


@pytest.mark.django_db(transaction=True)
def test_of_many_moves_at_once_one_is_made():
    task = make_task(status="running")
    copies = [Task.objects.get(pk=task.pk) for _ in range(12)]
    ends = ["merged", "escalated", "needs_you", "ready"] * 3
    results = at_once([lambda c=c, e=e: move_task(c, e) for c, e in zip(copies, ends, strict=True)])
    assert sum(isinstance(result, Event) for result in results) == 1
    assert sum(isinstance(result, LostRace) for result in results) == 11
    assert Transition.objects.filter(kind="task", object_id=task.pk).count() == 3


@pytest.mark.parametrize(("model", "events"), [(Task, TASK_EVENTS), (Run, RUN_EVENTS)])
def test_every_state_a_move_leads_to_has_its_event(model, events):
    assert set(events) == {to for ways in model.MOVES.values() for to in ways}


@pytest.mark.parametrize("model", [Task, Run, Plan])
def test_every_state_is_in_the_machine_and_leads_only_to_known_ones(model):
    assert set(model.MOVES) == set(model.Status.values)
    assert {to for ways in model.MOVES.values() for to in ways} <= set(model.Status.values)


def test_a_refusal_names_the_possible_moves():
    with pytest.raises(IllegalMove, match=r"T-01 cannot go from queued to merged.*ready, blocked, skipped, cancelled"):
        move_task(make_task(), "merged")


def test_a_run_that_goes_on_after_a_pause_is_resumed_and_not_started():
    run = bare_run()
    Run.objects.filter(pk=run.pk).update(status="queued")
    run.refresh_from_db()
    for to in ("running", "paused", "running", "finished"):
        move_run(run, to, reason="said so", actor="ada")
    told = list(Event.objects.filter(run=run).order_by("seq").values_list("type", "actor"))
    assert told == [(f"run.{word}", "ada") for word in ("started", "paused", "resumed", "finished")]
    assert fresh(run).started_at is not None
    assert run.finished_at is not None
    assert run.why == "said so"


def test_a_run_moved_by_somebody_else_is_not_moved_again():
    run = bare_run()
    stale = Run.objects.get(pk=run.pk)
    move_run(run, "paused")
    with pytest.raises(LostRace, match="no longer running"):
        move_run(stale, "finished")


def test_a_plan_whose_content_changed_meanwhile_is_not_moved():
    from tests.factories import make_plan

    plan = make_plan(approved=False)
    Plan.objects.filter(pk=plan.pk).update(content_hash="0" * 64)
    with pytest.raises(LostRace):
        move_plan(plan, "approved")
