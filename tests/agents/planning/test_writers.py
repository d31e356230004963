"""Tasks that write one file: which need is added, and that none closes a circle."""

from dataclasses import replace
from itertools import combinations

import networkx as nx
from hypothesis import given

from agents.planning.model import PlanDraft, PlanTask
from agents.planning.writers import order_writers, plain_path
from tests.agents.planning.strategies import graph_of, plan_of, plans_with_files

FIRST = PlanTask("T-01", "First", files=("app/router.py",))
SECOND = PlanTask("T-02", "Second", files=("app/./router.py",))
THIRD = PlanTask("T-03", "Third", files=("app\\\\router.py", "app/third.py"))


def needs(*tasks: PlanTask) -> dict[str, tuple[str, ...]]:
    return {task.key: task.needs for task in order_writers(PlanDraft(tasks))[0].tasks}


def test_the_later_of_two_tasks_that_write_one_file_waits_and_the_plan_says_so() -> None:
    plan, (added,) = order_writers(PlanDraft((FIRST, SECOND)))
    assert [task.needs for task in plan.tasks] == [(), ("T-01",)]
    assert (added.code, added.severity, added.task_keys) == ("added_need", "warning", ("T-02", "T-01"))
    assert added.message == "T-02 now needs T-01: both write app/router.py, so one has to follow the other."


def test_an_order_that_is_there_already_decides() -> None:
    assert needs(replace(FIRST, needs=("T-02",)), SECOND) == {"T-01": ("T-02",), "T-02": ()}
    through = PlanTask("T-09", "Between", needs=("T-01",))
    assert needs(FIRST, through, replace(SECOND, needs=("T-09",)))["T-02"] == ("T-09",)


def test_each_of_many_writers_waits_for_the_one_before_it_alone() -> None:
    assert needs(FIRST, SECOND, THIRD) == {"T-01": (), "T-02": ("T-01",), "T-03": ("T-02",)}


def test_a_thousand_writers_of_one_file_are_a_chain() -> None:
    keys = [f"T-{number}" for number in range(1_000)]
    plan = PlanDraft(tuple(PlanTask(key, key, files=("a.py",)) for key in keys))
    assert [task.needs for task in order_writers(plan)[0].tasks] == [(), *((key,) for key in keys[:-1])]


@given(plans_with_files())
def test_afterwards_all_writers_of_a_file_are_in_order_and_nothing_else_changed(plan: PlanDraft) -> None:
    ordered, added = order_writers(plan)
    graph = graph_of(ordered)
    assert nx.is_directed_acyclic_graph(graph)
    for one, other in combinations(ordered.tasks, 2):
        if {*map(plain_path, one.files)} & {*map(plain_path, other.files)}:
            assert nx.has_path(graph, one.key, other.key) or nx.has_path(graph, other.key, one.key)
    assert [replace(task, needs=()) for task in ordered.tasks] == [replace(task, needs=()) for task in plan.tasks]
    assert all({*before.needs} <= {*after.needs} for before, after in zip(plan.tasks, ordered.tasks, strict=True))
    for problem in added:
        assert not nx.has_path(graph_of(plan), *problem.task_keys)
    assert order_writers(ordered) == (ordered, [])


def test_tasks_without_common_files_stay_as_they_are() -> None:
    plan = plan_of({"A": [], "B": ["A"], "C": []})
    assert order_writers(plan) == (plan, [])
