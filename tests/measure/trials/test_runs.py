"""Sessions with a memory: the second is helped by the first, and one that was interrupted learns nothing twice."""

from __future__ import annotations

import shutil

import pytest

from agents.memory.base import Lesson, NoLessons
from measure.trials import runs
from measure.trials.datasets import load_tasks
from measure.trials.play import Settings, TrialOutcome
from measure.trials.runs import BadBudget, TrialPlan, digest_of, own_provider, read_budget, run_plan
from measure.trials.session import Session, read_results
from sandbox.registry import load_backend
from tests.measure.trials.samples import humaneval


class NoBackend:
    """For plans that are not really played."""

    name = "none"


def plan_of(tmp_path, lessons, backend=None, model="simulated:p=0,q=1,r=0,h=1", **settings):
    backend = backend or NoBackend()
    return TrialPlan(
        load_tasks(humaneval(tmp_path), "humaneval"),
        Settings(**settings),
        own_provider(model, backend, tmp_path / "mistakes"),
        backend,
        tmp_path / "scratch",
        lessons=lessons,
    )


@pytest.mark.bubblewrap
def test_a_second_session_is_shown_what_the_first_has_learned_and_needs_fewer_tries(tmp_path, store):
    backend = load_backend("bubblewrap")
    first = run_plan(plan_of(tmp_path, store, backend), Session(tmp_path / "one", {}))
    assert (first["resolved"], first["iterations"]["mean"]) == (2, 2.0)
    assert first["lessons"] == {"shown": 0, "helped": 0, "learned": 4}  # of each task its failure, and how it was done
    second = run_plan(plan_of(tmp_path, store, backend), Session(tmp_path / "two", {}))
    assert (second["resolved"], second["iterations"]["mean"]) == (2, 1.0)
    assert second["lessons"] == {"shown": 4, "helped": 4, "learned": 2}
    assert all(track.shown == track.helped == 1 for track in store.tracks([one.id for one in store.all()]).values())
    off = run_plan(plan_of(tmp_path, store, backend, off=frozenset({"memory"})), Session(tmp_path / "off", {}))
    assert (off["iterations"], off["lessons"]["shown"]) == (first["iterations"], 0)


def learning(task, *_, **options):
    """A trial that learns one lesson, and was shown one."""
    lesson = Lesson(task.name, "sig", "cause", "fix", 1.0, "trial", "T-01", task.name, learned_at=1.0)
    attempt = f"{options.get('session', '')}{task.name}/1"
    showing = {"lesson": "old", "attempt": attempt, "passed": True, "at": 2.0}
    return TrialOutcome(task.id, resolved=True, learned=[lesson.to_json()], showings=[showing])


@pytest.mark.parametrize("stops", ["before it is written down", "before the memory has it"])
def test_a_session_that_goes_on_teaches_each_lesson_once(tmp_path, store, monkeypatch, stops):
    seen = []

    def trial(task, *words, **options):
        seen.append((task.id, sorted(one.id for one in options["lessons"].all())))
        if task.id == "Own/1" and len(seen) == 2 and stops == "before it is written down":
            raise KeyboardInterrupt
        return learning(task)

    def forgetful(lessons, learned, showings):
        if len(seen) == 2 and stops == "before the memory has it":
            raise KeyboardInterrupt
        real(lessons, learned, showings)

    real = runs.remember
    monkeypatch.setattr(runs, "play", trial)
    monkeypatch.setattr(runs, "remember", forgetful)
    with pytest.raises(KeyboardInterrupt):
        run_plan(plan_of(tmp_path, store, model="reference"), Session(tmp_path / "s", {}))
    assert [one.id for one in store.all()] == ["Own-0"]
    monkeypatch.setattr(runs, "remember", real)
    found = run_plan(plan_of(tmp_path, store, model="reference"), Session(tmp_path / "s", {}))
    assert found["lessons"]["learned"] == 2
    assert sorted(one.id for one in store.all()) == ["Own-0", "Own-1"]
    assert store.tracks(["old"])["old"].shown == 2
    # The task that was interrupted saw nothing of its own.
    assert all(known == ["Own-0"] for task, known in seen if task == "Own/1")
    shutil.rmtree(tmp_path / "scratch", ignore_errors=True)


def test_a_trial_that_python_broke_off_begins_anew_and_not_for_ever(tmp_path, monkeypatch):
    seen = []

    def trial(task, *words, **options):
        seen.append(task.id)
        if len(seen) in broken:
            raise SystemError("AST constructor recursion depth mismatch")
        return TrialOutcome(task.id, resolved=True)

    monkeypatch.setattr(runs, "play", trial)
    broken = {1, 2}
    assert run_plan(plan_of(tmp_path, NoLessons(), model="reference"), Session(tmp_path / "a", {}))["resolved"] == 2
    assert len(seen) == 4
    broken = range(100)
    with pytest.raises(SystemError):
        run_plan(plan_of(tmp_path, NoLessons(), model="reference"), Session(tmp_path / "b", {}))


def test_with_a_memory_one_task_is_played_after_the_other(tmp_path, store):
    assert plan_of(tmp_path, store).at_once == 1
    assert plan_of(tmp_path, store, off=frozenset({"memory"})).at_once >= 1
    assert TrialPlan([], Settings(), lambda task: None, NoBackend(), tmp_path, lessons=store, parallel=3).at_once == 3
    assert plan_of(tmp_path, NoLessons()).at_once >= 1


def test_two_sessions_have_names_of_their_own_and_one_keeps_its_name(tmp_path):
    one, two = Session(tmp_path / "one", {}), Session(tmp_path / "two", {})
    assert one.name != two.name
    assert Session(tmp_path / "one", {}).name == one.name == read_results(tmp_path / "one")[0]["session"]


def test_a_budget_is_tokens_or_times_the_first_call():
    read = [read_budget(text) for text in (None, "4000", "6x", "2.5x")]
    assert read == [(None, None), (4000, None), (None, 6.0), (None, 2.5)]
    for bad in ("much", "0", "-3x", "infx", "nan", ""):
        with pytest.raises(BadBudget, match="not a budget"):
            read_budget(bad)


def test_equal_tasks_have_an_equal_digest_wherever_they_lie(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    one, two = (load_tasks(humaneval(tmp_path / name), "humaneval") for name in "ab")
    assert digest_of(one) == digest_of(two) != digest_of(one[:1])


def test_only_models_without_a_server_are_its_own(tmp_path):
    assert own_provider("ollama:x", NoBackend(), tmp_path) is None
    assert own_provider("reference", NoBackend(), tmp_path)(None).name == "reference"
    with pytest.raises(ValueError, match="between 0 and 1"):
        own_provider("simulated:h=2", NoBackend(), tmp_path)
