"""The task that decides when the run ends comes first."""

import pytest

from projects.services.work.graphs import longest_first
from projects.services.work.tasks import ready_tasks
from tests.factories import bare_run, make_task

pytestmark = pytest.mark.django_db


def test_the_head_of_the_longest_chain_comes_first():
    run = bare_run()
    short = make_task(run, key="T-01")
    head = make_task(run, key="T-02")
    middle = make_task(run, key="T-03", needs=[head])
    make_task(run, key="T-04", needs=[middle])
    ready = ready_tasks(run.pk)
    assert {task.key for task in ready} == {short.key, head.key}
    assert [task.key for task in longest_first(run.pk, ready)] == ["T-02", "T-01"]


def test_equal_ways_keep_the_order_of_the_plan():
    run = bare_run()
    for key in ("T-01", "T-02", "T-03"):
        make_task(run, key=key)
    assert [task.key for task in longest_first(run.pk, ready_tasks(run.pk))] == ["T-01", "T-02", "T-03"]
