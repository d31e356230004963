"""The matrix of trials plays every row on the same tasks, goes on where it stopped, and prints one table."""

from __future__ import annotations

import pytest

from measure.__main__ import main
from measure.trials import matrix as trials
from measure.trials import runs
from measure.trials.play import TrialOutcome
from tests.measure.trials.samples import humaneval
from tests.tables import each_row


@pytest.fixture
def played(monkeypatch):
    """What is played, with outcomes that are made up: this is about the matrix."""
    seen = []

    class Backend:
        name = "none"

        def open(self, **_):
            raise AssertionError("no sandbox is opened here")

    def play(task, provider, settings, *, lessons, **_):
        weak = provider.weakness
        seen.append((task.id, settings.strategy, settings.samples, settings.off, weak.seed, weak.h, len(lessons.all())))
        single = settings.strategy == "single"
        return TrialOutcome(task.id, resolved=not single, iterations=1 if single else 2)

    monkeypatch.setattr(runs, "play", play)
    monkeypatch.setattr(runs, "find_mistakes", lambda *_, **__: [])
    monkeypatch.setattr(trials, "open_backend", lambda name: Backend())
    return seen


def call(tmp_path, *more):
    words = ["trials", "--dataset", str(humaneval(tmp_path)), "--format", "humaneval", "--out", str(tmp_path / "out")]
    return main([*words, *more])


def test_every_row_is_played_with_every_seed_and_is_not_played_again(tmp_path, played, capsys):
    assert call(tmp_path, "--seeds", "1,2") == 0
    table = capsys.readouterr().out
    rows = trials.rows_of(3, several_seeds=True)
    assert len(played) == len(rows) * 2 * 2
    assert len(set(played)) == len(played) - 8  # the rows with a memory differ in their lessons alone
    for row in rows:
        assert f"| {row.name} | 4 |" in table
    assert "| single | 4 | 0.0 (0.0–49.0) |" in table
    assert "simulated:p=0.45,q=0.5,r=0.3,h=0, seeds 1, 2, --budget 6x" in table
    many = len(played)
    assert call(tmp_path, "--seeds", "1,2") == 0
    assert (len(played), capsys.readouterr().out) == (many, table)


def test_rows_can_be_chosen_and_only_those_with_a_memory_heed_lessons(tmp_path, played):
    assert call(tmp_path, "--only", "memory,best", "--heed", "0.5", "--samples", "4") == 0
    kinds = {(strategy, samples, heed) for _, strategy, samples, _, _, heed, _ in played}
    assert kinds == {("loop", 1, 0.0), ("best", 4, 0.0), ("loop", 1, 0.5)}


def test_the_memory_of_one_seed_is_copied_for_the_next_before_a_second_run_adds_to_it(tmp_path, played):
    assert call(tmp_path, "--seeds", "1,2", "--only", "memory") == 0
    names = sorted(path.name for path in (tmp_path / "out" / "memory").iterdir())
    assert names == ["other-1", "other-2", "own-1", "own-2"]


@each_row(
    ("words", "says"),
    [
        (("--seeds", "one"), "invalid literal"),
        (("--model", "p=3"), "between 0 and 1"),
        (("--heed", "-1"), "between 0 and 1"),
        (("--budget", "lots"), "is not a budget"),
        (("--samples", "1"), "at least 2"),
    ],
)
def test_a_wrong_question_names_what_is_wrong(tmp_path, played, capsys, words, says):
    with pytest.raises(SystemExit) as ended:
        call(tmp_path, *words)
    assert ended.value.code == 2
    assert says in capsys.readouterr().err
    assert not played


def test_other_settings_in_the_same_folder_are_refused(tmp_path, played, capsys):
    assert call(tmp_path, "--only", "single") == 0
    assert call(tmp_path, "--only", "single", "--budget", "9x") == 1
    assert "belongs to other settings" in capsys.readouterr().err
