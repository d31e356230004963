"""The token ledger: calls put together from their events, what could be reused, and what was cut."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from projects.models import Run, Task
from projects.services.insight import ledger
from tests.factories import bare_run, make_task
from tests.rows import emit

pytestmark = pytest.mark.django_db

SYSTEM = "You write code.\n" + "Rules. " * 40
OPENING = "Task: T-01\nWrite add.\n\nRequirements:\nFR-01 It adds.\n" + "Words of the task. " * 20
TRACE = "The tests ran.\nE   assert 6 == 5\n"


@pytest.fixture
def task() -> Task:
    return make_task()


def call(
    run: Run,
    key: str,
    prompt: list[str],
    *,
    task: Task | None = None,
    sent: int = 1_000,
    reused: Any = None,
    saved: int = 0,
    lost: Any = None,
    filled: dict[str, int] | None = None,
    role: str = "coder",
    model: str = "m",
    step: str = "code",
    steps: Sequence[str] = (),
) -> int:
    """The events one call leaves, as the engine writes them; the thought's number."""
    said: dict[str, Any] = {"role": role, "task_id": task.pk if task else None}
    if saved:
        cut = {"saved": saved, "parts": lost}
        emit(run.pk, "context.compacted", summary="summed up", payload=cut, key=f"{key}:compacted", **said)
    payload = {
        "model": model,
        "prompt_tokens": sent,
        "reused_tokens": reused,
        "completion_tokens": 50,
        "window": 32_768,
        "filled_by": filled or {"system": sent - 10, "task": 10},
    }
    emit(run.pk, "llm.usage", summary="50 tokens", payload=payload, tokens=50, key=f"{key}:usage", **said)
    blobs = {"prompt": prompt, "output": "Here."}
    return emit(
        run.pk, "thought", summary="Here.", payload={"step": step, "steps": steps}, blobs=blobs, key=key, **said
    ).seq


def test_a_call_is_put_together_from_its_events(task: Task) -> None:
    seq = call(
        task.run, "T-01/1", [SYSTEM, OPENING], task=task, sent=400, reused=100, filled={"system": 300, "task": 100}
    )
    (found,) = ledger.calls_of(task.run, task)
    assert (found.model, found.step, found.sent, found.written, found.window) == ("m", "code", 400, 50, 32_768)
    assert (found.reusable, found.told) == (100, True)
    assert found.parts == [("system", 300), ("task", 100)]
    assert found.thought is not None
    assert ledger.call_at(task.run, seq) == ledger.call_at(task.run, found.usage.seq) == found


def test_what_a_server_does_not_tell_is_estimated_from_the_stored_prompts(task: Task) -> None:
    call(task.run, "1", [SYSTEM, OPENING], task=task)
    call(task.run, "2", [SYSTEM, OPENING, "Here.", TRACE], task=task)
    call(task.run, "3", [SYSTEM, OPENING[:-200] + "Another approach."], task=task)
    first, second, third = ledger.calls_of(task.run, task)
    assert (first.reusable, first.told) == (0, False)
    whole = len(SYSTEM + OPENING + "Here." + TRACE)
    assert second.reusable == 1_000 * len(SYSTEM + OPENING) // whole
    assert third.reusable is not None
    assert 0 < third.reusable < 1_000


def test_another_persona_or_model_shares_no_cache_and_a_run_lists_calls_of_no_task(task: Task) -> None:
    call(task.run, "1", [SYSTEM, OPENING], task=task)
    call(task.run, "2", [SYSTEM, OPENING], task=task, role="tester")
    call(task.run, "3", [SYSTEM, OPENING], task=task, model="other")
    call(task.run, "4", [SYSTEM, "Plan it."], role="planner")
    assert [one.reusable for one in ledger.calls_of(task.run, task)] == [0, 0, 0]
    assert [one.usage.role for one in ledger.calls_of(task.run, None)] == ["planner"]


def test_what_was_cut_is_read_from_the_record_of_the_shortening(task: Task) -> None:
    call(task.run, "1", [SYSTEM, OPENING], task=task)
    call(task.run, "2", [SYSTEM, OPENING], task=task, saved=1_100, lost={"map": [500, 0], "conversation": [950, 200]})
    cuts = [one.cut for one in ledger.calls_of(task.run, task)]
    assert cuts == [None, ledger.Cut(1_100, (("conversation", 950, 200), ("map", 500, 0)))]


@pytest.mark.parametrize("lost", [None, [], {"map": 3}, {"map": [1]}, {"map": None}])
def test_a_shortening_whose_parts_are_not_on_record_still_says_how_much(task: Task, lost: Any) -> None:
    call(task.run, "1", [SYSTEM, OPENING], task=task, saved=22, lost=lost)
    assert [one.cut for one in ledger.calls_of(task.run, task)] == [ledger.Cut(22, ())]


def test_a_page_ends_and_the_next_one_still_knows_the_calls_before(task: Task, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger, "MOST", 2)
    for number in range(3):
        call(task.run, str(number), [SYSTEM, OPENING], task=task)
    page = ledger.calls_of(task.run, task)
    (last,) = ledger.calls_of(task.run, task, after=page[-1].usage.seq)
    assert len(page) == 2
    assert last.reusable == 1_000
    assert ledger.calls_of(task.run, task, after=last.usage.seq) == []


def test_sums_count_the_reusable_share_of_known_calls_alone(task: Task) -> None:
    call(task.run, "1", [SYSTEM, OPENING], task=task, sent=100, reused=40)
    call(task.run, "2", [], task=task, sent=100)
    sums = ledger.sums_of(ledger.calls_of(task.run, task))
    assert sums == {"calls": 2, "sent": 200, "reusable": 40, "known": 100, "written": 100, "cut": 0}


def test_the_words_of_each_part_are_those_of_the_prompt(task: Task) -> None:
    call(task.run, "1", [SYSTEM, OPENING, "Here it is.", TRACE], task=task, steps=["", "code", "", "repair"])
    (found,) = ledger.calls_of(task.run, task)
    texts = ledger.texts_of(found)
    assert set(texts) == {"system", "task", "requirements", "conversation", "trace"}
    assert texts["conversation"] == "Here it is."
    assert texts["trace"] == TRACE.strip("\n")


def test_an_event_that_is_no_call_has_no_ledger() -> None:
    run = bare_run()
    seq = emit(run.pk, "cmd", summary="pytest").seq
    lonely = emit(run.pk, "thought", summary="its usage is missing", key="lonely").seq
    assert ledger.call_at(run, seq) is None
    assert ledger.call_at(run, lonely) is None
    assert ledger.call_at(run, 99) is None


def test_figures_that_are_none_count_as_nothing(task: Task) -> None:
    call(task.run, "1", ["0" * 64], task=task, sent=10, reused=True, filled={"system": 10})
    payload = {"prompt_tokens": "many", "completion_tokens": -4, "window": None, "filled_by": ["system"], "model": None}
    emit(task.run_id, "llm.usage", summary="odd", payload=payload, task_id=task.pk, key="odd:usage")
    odd = ledger.calls_of(task.run, task)[1]
    assert (odd.sent, odd.written, odd.window, odd.parts, odd.reusable) == (0, 0, 0, [], None)


@given(st.lists(st.text(max_size=30), max_size=4), st.lists(st.text(max_size=30), max_size=4))
def test_what_two_conversations_begin_with_alike_is_their_common_prefix(one: list[str], other: list[str]) -> None:
    same = ledger._common(one, other)
    assert "".join(one)[:same] == "".join(other)[:same]
    if one == other:
        assert same == sum(map(len, one))
