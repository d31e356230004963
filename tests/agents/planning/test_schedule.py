"""What a build of a plan would do if every estimate were right."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from agents.planning.graph import longest_chains, needs_of
from agents.planning.model import PlanDraft
from agents.planning.schedule import simulate
from agents.planning.writers import plain_path
from tests.agents.planning.strategies import plan_of, plans_with_files

WORKERS = st.integers(1, 6)


def test_the_critical_path_comes_first_and_a_free_worker_takes_the_next() -> None:
    plan = plan_of({"A": [], "B": [], "C": ["B"], "D": []}, {"A": 50, "B": 20, "C": 40, "D": 10})
    assert simulate(plan, 2).ends == {"B": 20, "A": 50, "C": 60, "D": 60}
    assert simulate(plan, 1).until("ABCD") == 120
    assert (simulate(plan, 9).until("ABCD"), simulate(plan, 9).peak) == (60, 3)


def test_two_tasks_that_write_one_file_never_run_together() -> None:
    plan = plan_of({"A": [], "B": []}, {"A": 50, "B": 20})
    both = replace(plan, tasks=tuple(replace(task, files=("./a.py",)) for task in plan.tasks))
    assert simulate(both, 2).ends == {"A": 50, "B": 70}


@given(plans_with_files(), WORKERS)
def test_a_schedule_keeps_needs_workers_and_files(plan: PlanDraft, workers: int) -> None:
    schedule = simulate(plan, workers)
    tasks = {task.key: task for task in plan.tasks}
    begins = {key: schedule.ends[key] - task.minutes for key, task in tasks.items()}
    for key, task in tasks.items():
        assert all(schedule.ends[need] <= begins[key] for need in task.needs)
        beside = [other for other in tasks if begins[other] <= begins[key] < schedule.ends[other]]
        assert len(beside) <= min(workers, schedule.peak)
        files = {*map(plain_path, task.files)}
        assert not any(files & {*map(plain_path, tasks[other].files)} for other in beside if other != key)


@given(plans_with_files(), WORKERS)
def test_no_schedule_is_shorter_than_its_longest_chain_or_longer_than_one_after_the_other(
    plan: PlanDraft, workers: int
) -> None:
    minutes = {task.key: task.minutes for task in plan.tasks}
    took = simulate(plan, workers).until(minutes)
    assert max(longest_chains(minutes, needs_of(plan)).values()) <= took <= sum(minutes.values())
