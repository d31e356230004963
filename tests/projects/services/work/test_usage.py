import pytest

from projects.services.work.usage import record_usage, usage_of
from tests.factories import make_task

pytestmark = pytest.mark.django_db


def test_a_call_is_counted_once():
    task = make_task()
    for _ in range(2):
        record_usage(
            task.run_id,
            task_id=task.pk,
            key="T-01/code/1",
            role="coder",
            model="qwen",
            prompt_tokens=10,
            reused_tokens=4,
            completion_tokens=20,
            seconds=0.5,
            tokens_per_s=40.0,
        )
    used = usage_of(task_id=task.pk)
    assert used == usage_of(run_id=task.run_id)
    assert (used["calls"], used["tokens"], used["reused_tokens"], used["tokens_per_s"]) == (1, 30, 4, 40.0)


def test_a_run_without_calls_has_no_speed():
    used = usage_of(run_id=make_task().run_id)
    assert (used["calls"], used["tokens"], used["seconds"], used["tokens_per_s"]) == (0, 0, 0, None)
