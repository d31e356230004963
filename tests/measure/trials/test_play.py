"""Trials run the real task graph in a real sandbox; what was played is not played again."""

from __future__ import annotations

import json

import pytest

from agents.llm.base import ModelUnavailable
from agents.llm.chain import ModelChain
from agents.llm.runner import ModelRunner
from agents.memory.base import NoLessons
from measure.trials.datasets import load_tasks
from measure.trials.mistakes import find_mistakes
from measure.trials.play import Settings, TrialOutcome, play
from measure.trials.session import OtherSession, Session, report
from measure.trials.simulated import Mistake, SimulatedProvider, Weakness, _Answer
from sandbox.base import SandboxUnavailable
from sandbox.registry import load_backend
from tests.measure.trials.samples import bugfix, exercise, humaneval

pytestmark = pytest.mark.bubblewrap


@pytest.fixture
def shot(tmp_path):
    """Play one task with one provider."""
    with ModelRunner(attempts=1) as runner:
        yield lambda task, provider, **settings: play(
            task,
            provider,
            Settings(**settings),
            backend=load_backend("bubblewrap"),
            runner=runner,
            lessons=NoLessons(),
            folder=tmp_path / "work",
        )


def reference(task):
    return SimulatedProvider(task, (), Weakness(), name="reference")


def test_the_reference_resolves_functions_and_a_buggy_folder_at_the_first_try(tmp_path, shot):
    for task in [*load_tasks(humaneval(tmp_path), "humaneval"), *load_tasks(bugfix(tmp_path), "folder")]:
        outcome = shot(task, reference(task))
        assert (outcome.resolved, outcome.first_try, outcome.calls) == (True, True, 1), outcome
        assert outcome.sent == outcome.uncached > 0
        assert not (tmp_path / "work" / f"{task.name}-0").exists()


def test_a_mistake_fails_its_tests_and_is_found_once(tmp_path):
    task = load_tasks(humaneval(tmp_path), "humaneval")[0]
    backend = load_backend("bubblewrap")
    found = find_mistakes(backend, task, seed=1, kept=tmp_path / "kept")
    assert len(found) >= 3
    assert all(mistake.words and mistake.files != task.reference for mistake in found)
    assert find_mistakes(backend, task, seed=1, kept=tmp_path / "kept") == found
    assert len(list((tmp_path / "kept").iterdir())) == 1


def test_what_fails_first_is_repaired_from_its_trace_and_single_shot_is_not(tmp_path, shot):
    task = load_tasks(humaneval(tmp_path), "humaneval")[0]
    mistakes = find_mistakes(load_backend("bubblewrap"), task, seed=1)
    weak = Weakness(p=0.0, q=1.0, r=0.0)
    once = shot(task, SimulatedProvider(task, mistakes, weak), strategy="single")
    assert (once.resolved, once.calls) == (False, 1)
    loop = shot(task, SimulatedProvider(task, mistakes, weak), strategy="loop")
    assert (loop.resolved, loop.first_try, loop.calls) == (True, False, 2)
    assert loop.uncached < loop.sent
    blind = shot(
        task, SimulatedProvider(task, mistakes, weak), strategy="loop", off=frozenset({"diagnosis"}), budget_calls=3
    )
    assert not blind.resolved


def test_plain_retry_asks_the_same_again_until_its_budget_is_used(tmp_path, shot):
    task = load_tasks(humaneval(tmp_path), "humaneval")[0]
    mistakes = find_mistakes(load_backend("bubblewrap"), task, seed=1)
    outcome = shot(task, SimulatedProvider(task, mistakes, Weakness(p=0.0, r=0.0)), strategy="retry", budget_calls=3.2)
    assert (outcome.resolved, outcome.calls) == (False, 3)


def test_a_session_goes_on_where_it_stopped(tmp_path):
    tasks = load_tasks(humaneval(tmp_path), "humaneval")
    played: list[str] = []

    def one(task):
        played.append(task.id)
        if task.id == "Own/1" and len(played) < 3:
            raise RuntimeError("the power went")
        return TrialOutcome(task.id, resolved=True, first_try=True, iterations=1)

    with pytest.raises(RuntimeError):
        Session(tmp_path / "s", {"model": "m"}).run(tasks, one, parallel=1)
    with (tmp_path / "s" / "results.jsonl").open("a") as file:
        file.write('{"id": "Own/1", "resol')  # the line that was being written
    outcomes = Session(tmp_path / "s", {"model": "m"}).run(tasks, one, parallel=1)
    assert played == ["Own/0", "Own/1", "Own/1"]
    assert [outcome.id for outcome in outcomes] == ["Own/0", "Own/1"]
    with pytest.raises(OtherSession, match="other settings"):
        Session(tmp_path / "s", {"model": "another"})


def test_the_report_counts_repairs_among_what_failed_first():
    played = [
        TrialOutcome("a", resolved=True, first_try=True, iterations=1, sent=10, uncached=10, generated=5),
        TrialOutcome("b", resolved=True, iterations=3, sent=30, uncached=20, generated=15),
        TrialOutcome("c", iterations=6, problem="gave up"),
    ]
    found = report(played, engine_cpu_s=1.0, seconds=2.0)
    assert (found["tasks"], found["resolved"], found["first_try"], found["repaired"]) == (3, 2, 1, 1)
    assert found["self_correction_rate"] == 0.5
    assert found["tokens"] == {"sent": 40, "uncached": 30, "generated": 20}
    assert found["unresolved"] == [{"id": "c", "why": "gave up"}]
    json.dumps(found)


class RightFrom(SimulatedProvider):
    """Right from the second sample on, and never when it is to repair."""

    def _choose(self, messages):
        return _Answer(None if len(messages) == 2 and messages[1]["label"]["approach"] > 1 else 0)


def test_the_best_of_several_samples_is_taken_and_without_selection_the_first(tmp_path, shot):
    task = load_tasks(humaneval(tmp_path), "humaneval")[0]
    wrong = {path: text.replace("value > high", "value < high") for path, text in task.reference.items()}
    mistakes = [Mistake(wrong, ("assert",))]

    def played(**settings):
        return shot(task, RightFrom(task, mistakes, Weakness()), **settings)

    assert not played(strategy="single").resolved
    best = played(strategy="best", samples=3)
    assert (best.resolved, best.first_try, best.calls) == (True, False, 2)
    first = played(strategy="best", samples=3, off=frozenset({"selection"}))
    assert (first.resolved, first.calls, first.sent) == (False, best.calls, best.sent)


class Wanting(SimulatedProvider):
    """Asks for a package at first, and does without when it is refused."""

    def _write(self, answer, repairing):
        wants = "" if repairing else "import markdown2\n\n"
        return "".join(f"```python path={path}\n{wants}{text}```\n" for path, text in self.task.reference.items())


def test_a_model_that_wants_a_package_is_told_that_there_is_none(tmp_path, shot):
    task = load_tasks(humaneval(tmp_path), "humaneval")[0]
    outcome = shot(task, Wanting(task, (), Weakness()))
    assert (outcome.resolved, outcome.first_try, outcome.calls) == (True, False, 2), outcome
    assert not shot(task, Wanting(task, (), Weakness()), strategy="single").resolved


def test_each_of_several_models_is_counted(tmp_path, shot):
    task = load_tasks(humaneval(tmp_path), "humaneval")[0]

    class Down(SimulatedProvider):
        async def stream(self, messages, **options):
            raise ModelUnavailable("It is not there.")
            yield

    chain = ModelChain((Down(task, (), Weakness()), reference(task)), (False, False), 0.2)
    outcome = shot(task, chain)
    assert (outcome.resolved, outcome.calls) == (True, 2)
    assert outcome.sent > outcome.uncached > 0


def test_of_two_tries_the_first_has_not_seen_the_tests_and_the_second_sees_what_failed(tmp_path, shot):
    (task,) = load_tasks(exercise(tmp_path), "exercism")
    heard = []

    class Late(SimulatedProvider):
        def _choose(self, messages):
            heard.append(messages[-1]["content"])
            return _Answer(None if len(heard) == self.right_at else 0)

    mistakes = [Mistake({"leap.py": "def leap_year(year):\n    return year % 4 == 0\n"}, ("assert",))]
    Late.right_at = 2
    outcome = shot(task, Late(task, mistakes, Weakness()), strategy="twice")
    assert (outcome.resolved, outcome.first_try, outcome.calls) == (True, False, 2), outcome
    assert "test_century" not in heard[0]
    assert "test_century" in heard[1]
    heard.clear()
    Late.right_at = 3
    assert not shot(task, Late(task, mistakes, Weakness()), strategy="twice").resolved
    assert len(heard) == 2


def test_a_sandbox_that_breaks_once_is_an_error_that_is_played_again_and_twice_in_a_row_the_end(tmp_path):
    tasks = load_tasks(humaneval(tmp_path), "humaneval")
    breaks = [True, False, True, True]

    def one(task):
        if breaks.pop(0):
            raise SandboxUnavailable("the engine is gone")
        return TrialOutcome(task.id, resolved=True)

    first = Session(tmp_path / "s", {}).run(tasks, one, parallel=1)
    assert [outcome.verdict for outcome in first] == ["error", ""]
    assert report(first, engine_cpu_s=0, seconds=0)["errors"] == 1
    again = Session(tmp_path / "s", {})
    assert list(again.done) == ["Own/1"]
    with pytest.raises(SandboxUnavailable, match="the engine is gone"):
        Session(tmp_path / "t", {}).run(tasks, one, parallel=1)
