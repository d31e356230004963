"""A run's state folded from its events is the state that its rows had."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from projects.models import Attempt, Run, Task
from projects.services.insight import run_state
from projects.services.insight.run_state import FOLDED, RUN_MOVED, FoldedEvent, RunSnapshot, fold
from projects.services.planning import runs
from projects.services.work import attempts
from tests.factories import make_run, owner_of
from tests.random_run import NEEDS, Actor
from tests.rows import emit, fresh

START = datetime(2026, 1, 1, tzinfo=UTC)


def live(run: Run) -> dict[str, Any]:
    """What the pages of the run read now."""
    run = Run.objects.get(pk=run.pk)
    rows = run.tasks.order_by("ordinal")
    return {
        "run": (run.status, run.why, run.wait_reason, bool(run.why_since), bool(run.started_at), bool(run.finished_at)),
        "tasks": [
            (t.key, t.status, t.why, t.wait_reason, t.attempts.count(), bool(t.started_at), bool(t.finished_at))
            for t in rows
        ],
        "totals": runs.totals(run),
    }


def past(run: Run, seq: int) -> dict[str, Any]:
    """The same, folded from the events."""
    state = run_state.state_at(run, seq)
    then = run_state.run_at(run, state)
    rows = run_state.tasks_at(run.tasks.order_by("ordinal"), state)
    return {
        "run": (
            *(then.status, then.why, then.wait_reason),
            *(bool(then.why_since), bool(then.started_at), bool(then.finished_at)),
        ),
        "tasks": [
            (t.key, t.status, t.why, t.wait_reason, vars(t)["tries"], bool(t.started_at), bool(t.finished_at))
            for t in rows
        ],
        "totals": run_state.totals_at(rows, state),
    }


@pytest.mark.django_db
@pytest.mark.parametrize("seed", range(5))
def test_after_every_event_the_folded_state_is_what_the_rows_were(
    seed: int, enqueued: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_state, "STEP", 10)
    actor = Actor(seed, live)
    for _ in range(110):
        actor.act()
    if seed % 2:
        runs.cancel_run(actor.run, by=owner_of(actor.run.project))
        actor.note()
    run = Run.objects.get(pk=actor.run.pk)
    assert run.last_seq > 3 * run_state.STEP, "long enough to meet a kept state"

    in_turn = sorted(actor.seen, reverse=seed % 3 == 0)  # from a cold start, and by way of kept states
    for seq in in_turn:
        found = past(run, seq)
        was = actor.seen[seq]
        assert found == was, f"event {seq}"


@pytest.mark.django_db
def test_of_a_move_written_before_events_told_what_is_waited_for_the_sentence_stays(enqueued: list[Any]) -> None:
    run = make_run(needs=NEEDS)
    task = run.tasks.get(key="T-01")
    moved = {"key": "T-01", "from": "running", "to": "needs_you", "reason": "needs you: wants to install httpx"}
    emit(run.pk, "task.blocked", summary="T-01", task_id=task.pk, payload=moved)
    run.refresh_from_db()
    state = run_state.state_at(run, run.last_seq)
    shown = run_state.tasks_at(run.tasks.order_by("ordinal"), state)
    assert (shown[0].status, shown[0].why) == ("needs_you", "needs you: wants to install httpx")


@pytest.mark.django_db
def test_an_event_after_the_head_is_the_head_until_it_happens(enqueued: list[Any]) -> None:
    run = make_run(needs=NEEDS)
    assert run_state.state_at(run, fresh(run).last_seq + 500).seq == run.last_seq
    attempts.start_attempt(run.tasks.get(key="T-01"), number=1, strategy="first")
    run.refresh_from_db()
    task = run_state.state_at(run, run.last_seq).tasks[Attempt.objects.get().task_id]
    assert task.tries == 1


def _payload(type_: str) -> st.SearchStrategy[dict[str, Any]]:
    states = Run.Status.values if type_ in RUN_MOVED else Task.Status.values
    words = st.one_of(st.none(), st.text(max_size=8), st.integers(), st.lists(st.integers(), max_size=2))
    return st.fixed_dictionaries(
        {},
        optional={
            "to": st.sampled_from(states),
            "wait": st.sampled_from(["", "model"]),
            **dict.fromkeys(("reason", "detail", "finding", "prompt_tokens", "strategy"), words),
        },
    )


EVENTS = st.sampled_from(sorted(FOLDED)).flatmap(
    lambda type_: st.tuples(st.just(type_), st.one_of(st.none(), st.integers(1, 4)), _payload(type_))
)


@given(st.lists(EVENTS, max_size=40), st.integers(0, 40))
def test_folding_in_two_steps_is_folding_in_one(drawn: list[tuple[str, int | None, dict[str, Any]]], cut: int) -> None:
    events = [
        FoldedEvent(number, START + timedelta(seconds=number), type_, task, number, payload)
        for number, (type_, task, payload) in enumerate(drawn, start=1)
    ]
    assert fold(fold(RunSnapshot(), events[:cut]), events[cut:]) == fold(RunSnapshot(), events)
