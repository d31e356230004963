"""Whether a server kept the beginning of a prompt is told by its count, or by the time that reading took."""

from typing import Any

import pytest

from projects.models import Task
from projects.services.insight.prefixes import PrefixUse, prefix_use
from tests.factories import make_task
from tests.rows import emit

pytestmark = pytest.mark.django_db

SYSTEM, OPENING, ANSWER, TRACE = "Persona: coder\n" * 50, "Task: T-01\n" * 300, "Here.", "1 failed."
FIRST, AGAIN = [SYSTEM, OPENING], [SYSTEM, OPENING, ANSWER, TRACE]


@pytest.fixture
def task() -> Task:
    return make_task()


def call(
    task: Task, key: str, prompt: list[str], *, reused: Any = None, reading_ms: int = 0, sent: int = 4_000
) -> None:
    said: dict[str, Any] = {"role": "coder", "task_id": task.pk}
    payload = {"model": "m", "prompt_tokens": sent, "reused_tokens": reused, "reading_ms": reading_ms}
    payload["recorded"] = key == "recorded"
    emit(task.run_id, "llm.usage", summary="50 tokens", payload=payload, key=f"{key}:usage", **said)
    blobs = {"prompt": prompt, "output": ANSWER}
    emit(task.run_id, "thought", summary="Here.", payload={"step": "code"}, blobs=blobs, key=key, **said)


@pytest.mark.parametrize(("reused", "lost"), [(3_800, 0), (1_500, 1), (0, 1)])
def test_a_count_of_the_server_tells_what_was_reused(task: Task, reused: int, lost: int) -> None:
    call(task, "1", FIRST, reused=0)
    call(task, "2", AGAIN, reused=reused)
    assert prefix_use() == [PrefixUse("m", 1, lost)]


@pytest.mark.parametrize(("reading_ms", "lost"), [(200, 0), (3_900, 1)])
def test_without_a_count_a_prompt_as_slow_as_a_new_one_was_read_anew(task: Task, reading_ms: int, lost: int) -> None:
    call(task, "1", FIRST, reading_ms=4_000)
    call(task, "2", AGAIN, reading_ms=reading_ms)
    assert prefix_use() == [PrefixUse("m", 1, lost)]


def test_what_tells_nothing_is_left_out(task: Task) -> None:
    call(task, "1", FIRST)
    call(task, "2", AGAIN)  # neither counted nor timed
    assert prefix_use() == []
    other = make_task()
    call(other, "3", FIRST, reused=0, sent=400)
    call(other, "4", AGAIN, reused=0, sent=400)  # too short to matter
    assert prefix_use() == []


def test_a_recording_says_nothing_of_a_server(task: Task) -> None:
    call(task, "recorded", FIRST, reused=0)
    assert prefix_use() == []
