"""How samples become figures, and what a run of a benchmark prints."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys

import pytest

from measure.figures import CannotMeasure, Figure, Spread
from measure.performance.stopwatch import Stopwatch
from measure.performance.stories import change_of_500_lines, diamond
from measure.processes import ROOT


def test_the_95th_percentile_is_a_value_that_occurred():
    spread = Spread.of([float(value) for value in range(1, 101)], "ms")
    assert (spread.n, spread.median, spread.p95) == (100, 50.5, 95.0)
    assert Spread.of([3.0], "ms").p95 == 3.0


def test_no_samples_are_no_figure():
    with pytest.raises(CannotMeasure, match="no samples"):
        Spread.of([], "ms")


def test_a_ratio_is_measured_to_baseline_and_survives_json():
    figure = Figure("x", Spread.of([6.0], "ms"), Spread.of([2.0], "ms"), "the bare thing", "lower", "noisy")
    assert figure.ratio == 3.0
    assert Figure.read(json.loads(json.dumps(figure.to_json()))) == figure


def test_a_baseline_that_took_no_time_gives_no_ratio():
    assert Figure("x", Spread.of([6.0], "ms"), Spread.of([0.0], "ms")).ratio is None


def test_a_section_does_not_count_the_time_of_the_sections_in_it(monkeypatch: pytest.MonkeyPatch):
    clock = iter([0.0, 1.0, 4.0, 10.0])
    monkeypatch.setattr("measure.performance.stopwatch.time.perf_counter", lambda: next(clock))
    watch = Stopwatch()
    with watch.section("outer"), watch.section("inner"):
        pass
    assert watch.own == {"inner": 3.0, "outer": 7.0}
    assert watch.samples == {"inner": [3.0], "outer": [10.0]}


def test_a_watched_object_still_answers_and_its_calls_are_counted():
    class Thing:
        def twice(self, number: int) -> int:
            return 2 * number

    watch = Stopwatch()
    thing = watch.watch(Thing(), "thing")
    assert thing.twice(4) == 8
    assert watch.calls["thing"] == 1


def test_the_diamond_has_lanes_layers_a_root_and_a_join_and_its_chain_is_as_deep():
    replies, tasks, chain = diamond(lanes=3, layers=4)
    assert len(tasks) == 14
    assert len(tasks[-1]["needs"]) == 3
    assert len(chain) == 6
    assert {f"{task['key']}/coder-code" for task in [*tasks, *chain]} <= set(replies)


def test_the_change_for_the_gates_is_about_500_lines():
    assert 400 < sum(text.count("\n") for text in change_of_500_lines().values()) < 600


@pytest.mark.bubblewrap
@pytest.mark.slow
def test_the_engine_is_measured_beside_a_bare_loop_and_printed_as_json():
    if shutil.which("bwrap") is None:
        pytest.skip("bwrap is not installed")
    done = run("engine", "--json", "-n", "1")
    assert done.returncode == 0, done.stdout + done.stderr
    document = json.loads(done.stdout)
    (section,) = document["benchmarks"]
    assert section["name"] == "engine"
    assert document["machine"]["cpus"] >= 1
    assert len(section["figures"]) == 16
    for figure in section["figures"]:
        assert figure["measured"]["n"] == 1
        assert figure["baseline"]["median"] > 0
        assert figure["against"]


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """The measurements as a person runs them."""
    words = [sys.executable, "-m", "measure", *arguments]
    return subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=170, check=False)


@pytest.mark.bubblewrap
def test_the_cpu_time_of_a_sandbox_is_seen_although_it_is_killed():
    from measure.performance.stopwatch import Walls
    from sandbox.registry import load_backend

    backend = load_backend("bubblewrap")
    if not backend.availability().ok:
        pytest.skip(f"no bubblewrap here: {backend.availability().problem}")
    walls = Walls()
    with walls.watched(backend.open(label="bench")) as sandbox:
        sandbox.exec(["python", "-c", "import time\nwhile time.process_time() < 0.3: pass"])
        assert walls.total() == 0  # nothing is closed yet
        walls.note()
        assert walls.total() >= 0.3
