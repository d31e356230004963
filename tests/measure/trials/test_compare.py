"""Sessions are compared on the same tasks and seeds, like with like."""

from __future__ import annotations

import pytest

from measure.trials.compare import NotComparable, Side, compare, load_side, mean_difference, paired_difference
from measure.trials.play import TrialOutcome
from measure.trials.session import Session
from measure.trials.tables import DIFFERENCES, FIGURES, markdown
from tests.tables import each_row

ABOUT = {"format": "humaneval", "digest": "d", "budget": "6x", "model": "simulated:p=0.4,seed=1", "strategy": "loop"}


def pairs(both, first, second, neither):
    return [(True, True)] * both + [(True, False)] * first + [(False, True)] * second + [(False, False)] * neither


@each_row(
    ("counts", "expected"),
    [
        ((36, 12, 2, 0), (0.2, 0.0569, 0.3404)),  # as published with the method
        ((50, 0, 0, 0), (0.0, -0.0713, 0.0713)),
        ((0, 30, 0, 0), (1.0, 0.8394, 1.0)),
    ],
)
def test_the_interval_of_a_paired_difference_is_newcombes(counts, expected):
    assert paired_difference(pairs(*counts)) == pytest.approx(expected, abs=2e-4)
    gap, low, high = paired_difference([(two, one) for one, two in pairs(*counts)])
    assert (-gap, -high, -low) == pytest.approx(expected, abs=2e-4)


def test_pairing_narrows_the_interval():
    _, low, high = paired_difference(pairs(50, 10, 0, 40))
    _, low2, high2 = paired_difference(pairs(20, 40, 30, 10))
    assert high - low < high2 - low2
    assert paired_difference([]) == (0.0, -1.0, 1.0)


def test_the_interval_of_a_mean_holds_it_and_is_the_same_each_time():
    values = [1.0, -2.0, 0.0, 3.0] * 10
    mean, low, high = mean_difference(values, draws=2_000)
    assert low < mean == 0.5 < high
    assert mean_difference(values, draws=2_000) == (mean, low, high)
    assert mean_difference([2.0] * 9, draws=100) == (2.0, 2.0, 2.0)
    assert mean_difference([]) == (0.0, 0.0, 0.0)


def session(folder, outcomes, **about):
    made = Session(folder, ABOUT | about)
    for task, resolved, rounds in outcomes:
        first = resolved and rounds == 1
        made.keep(TrialOutcome(task, resolved=resolved, first_try=first, iterations=rounds, sent=10 * rounds))
    return folder


def test_each_is_set_against_the_first_on_the_tasks_that_both_played(tmp_path):
    one = session(tmp_path / "one", [("a", False, 4), ("b", True, 1), ("c", True, 2)])
    two = session(tmp_path / "two", [("a", True, 2), ("b", True, 1), ("d", False, 9)], strategy="best")
    first, second = compare([load_side(one), load_side(two)])
    assert "against_first" not in first
    assert first["resolved"][0] == pytest.approx(2 / 3)
    assert first["self_correction"][0] == 0.5
    gap = second["against_first"]
    assert (gap["tasks"], gap["left_out"]) == (2, 2)
    assert (gap["resolved"][0], gap["iterations"][0], gap["tokens"][0]) == (0.5, -1.0, -10.0)
    lines = markdown([first, second]).splitlines()
    assert len(lines) == 4
    assert all(line.count(" | ") == len(FIGURES) + len(DIFFERENCES) - 1 for line in lines)
    assert "+50.0 (" in lines[3]


def test_seeds_are_taken_together_and_a_task_counts_once_for_each(tmp_path):
    for seed in (1, 2):
        settings = {"model": f"simulated:p=0.4,seed={seed}", "memory": f"/m/{seed}"}
        session(tmp_path / "all" / f"s{seed}", [("a", True, seed)], **settings)
    side = load_side(tmp_path / "all")
    assert sorted(side.units) == [("a", 1), ("a", 2)]
    (row,) = compare([side])
    assert (row["tasks"], row["seeds"], row["iterations"]["mean"]) == (2, [1, 2], 1.5)


def test_what_cannot_be_compared_is_refused_with_the_reason(tmp_path):
    one = session(tmp_path / "one", [("a", True, 1)])
    for about, words in (({"budget": "9x"}, "different budgets"), ({"digest": "e"}, "different datasets")):
        other = session(tmp_path / words, [("a", True, 1)], **about)
        with pytest.raises(NotComparable, match=words):
            compare([load_side(one), load_side(other)])
    apart = session(tmp_path / "apart", [("z", True, 1)])
    with pytest.raises(NotComparable, match="no task and seed in common"):
        compare([load_side(one), load_side(apart)])


def test_a_folder_that_is_no_session_is_refused(tmp_path):
    with pytest.raises(NotComparable, match="holds no results"):
        load_side(tmp_path)
    session(tmp_path / "empty", [])
    with pytest.raises(NotComparable, match="nothing was played"):
        load_side(tmp_path / "empty")
    for name in ("s1", "s2"):
        session(tmp_path / "twice" / name, [("a", True, 1)])
    with pytest.raises(NotComparable, match="same seed"):
        load_side(tmp_path / "twice")
    session(tmp_path / "mixed" / "s1", [("a", True, 1)])
    session(tmp_path / "mixed" / "s2", [("a", True, 1)], strategy="best", model="simulated:p=0.4,seed=2")
    with pytest.raises(NotComparable, match="differ in strategy"):
        load_side(tmp_path / "mixed")
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "results.jsonl").write_text("nothing\n")
    with pytest.raises(NotComparable, match="does not begin with the settings"):
        load_side(broken)


def test_a_side_without_failures_has_no_self_correction():
    side = Side("s", ABOUT, {("a", 1): TrialOutcome("a", resolved=True, first_try=True, iterations=1)})
    (row,) = compare([side])
    assert row["self_correction"] is None
    assert "| – |" in markdown([row])
