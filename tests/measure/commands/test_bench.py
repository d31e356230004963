"""`aiswe bench tasks` counts what the real loop makes of a dataset, and says what is wrong with a wrong question."""

from __future__ import annotations

import json

import pytest

from agents.memory.chroma import ChromaLessons
from tests.aiswe_site.conftest import cli
from tests.aiswe_site.running import aiswe
from tests.measure.trials.issue_samples import instances, row
from tests.measure.trials.samples import humaneval
from tests.tables import each_row

__all__ = ["cli"]


def tasks(tmp_path, *words):
    return "bench", "tasks", "--dataset", str(humaneval(tmp_path)), "--format", "humaneval", *words


def ours(tmp_path, *words):
    return aiswe(*tasks(tmp_path, "--backend", "bubblewrap", *words), home=tmp_path / "home")


@pytest.mark.bubblewrap
def test_the_reference_resolves_everything_and_a_second_call_plays_nothing_again(tmp_path):
    words = ("--model", "reference", "--out", str(tmp_path / "out"), "--json")
    first = ours(tmp_path, *words)
    assert first.returncode == 0, first.stderr
    found = json.loads(first.stdout)
    assert (found["tasks"], found["resolved"], found["first_try"], found["repaired"]) == (2, 2, 2, 0)
    assert found["tokens"]["sent"] > found["tokens"]["generated"] > 0
    again = ours(tmp_path, *words)
    assert json.loads(again.stdout)["resolved"] == 2
    assert "resolved" not in again.stderr


@each_row(
    ("words", "says"),
    [
        (("--model", "simulated:p=0.5,x=1"), "is not one of p=, q="),
        (("--model", ""), "names no model"),
        (("--model", "scripted:nowhere"), "nowhere"),
        (("--model", "reference", "--strategy", "retry", "--samples", "3"), "one version at a time"),
        (("--model", "simulated:p=7"), "between 0 and 1"),
        (("--model", "reference", "--budget", "much"), "a number of tokens"),
        (("--model", "reference", "--off", "gravity"), "known parts are"),
    ],
)
def test_a_wrong_question_names_what_is_wrong(tmp_path, cli, words, says):
    assert says in cli.refuses(*tasks(tmp_path, *words))


@pytest.mark.bubblewrap
def test_two_sessions_with_one_memory_are_set_side_by_side(tmp_path):
    for name, lessons in (("first", "shown 0, helped 0, learned 1"), ("second", "shown 1, helped 1, learned 1")):
        memory = ("--model", "reference", "--memory", str(tmp_path / "memory"), "--strategy", "best", "--samples", "2")
        done = ours(tmp_path, *memory, "--limit", "1", "--out", str(tmp_path / name))
        assert done.returncode == 0, done.stderr
        assert f"lessons: {lessons}" in done.stdout  # nothing failed: how the task was done
    folders = (str(tmp_path / "first"), str(tmp_path / "second"))
    compared = aiswe("bench", "compare", *folders, home=tmp_path / "home")
    assert compared.returncode == 0, compared.stderr
    assert "+0.00" in compared.stdout
    data = json.loads(aiswe("bench", "compare", *folders, "--json", home=tmp_path / "home").stdout)
    assert data["sides"][1]["against_first"]["iterations"] == [0.0, 0.0, 0.0]
    assert data["sides"][0]["settings"]["samples"] == 2


def test_a_model_that_is_not_there_is_an_error_before_anything_is_played(tmp_path, cli):
    for name in ("nobody", "ollama:nobody"):
        words = tasks(tmp_path, "--backend", "bubblewrap", "--model", name, "--out", str(tmp_path / "out"))
        assert f"--model {name}: " in cli.refuses(*words, code=3)
    assert not (tmp_path / "out" / "results.jsonl").exists()


def test_a_memory_that_another_process_has_is_refused(tmp_path):
    store = ChromaLessons(tmp_path / "memory")
    store.all()
    try:
        done = ours(tmp_path, "--model", "reference", "--memory", str(tmp_path / "memory"))
    finally:
        store.close()
    assert done.returncode == 3
    assert "Another process owns the memory" in done.stderr


def test_a_folder_without_results_cannot_be_compared(tmp_path, cli):
    assert "holds no results" in cli.refuses("bench", "compare", str(tmp_path))


@pytest.mark.bubblewrap
def test_issues_become_predictions_and_a_report_and_are_not_worked_on_twice(tmp_path):
    path, out = instances(tmp_path, row(tmp_path / "repositories")), tmp_path / "p.jsonl"
    words = ("bench", "swebench", "--instances", str(path), "--repositories", str(tmp_path / "repositories"))
    words += ("--predictions", str(out), "--backend", "bubblewrap", "--json", "--model")
    first = aiswe(*words, "reference", home=tmp_path / "home")
    assert first.returncode == 0, first.stderr
    assert json.loads(first.stdout)["resolved"] == 1
    assert json.loads(out.read_text())["instance_id"] == "acme__shop-1"
    assert json.loads((tmp_path / "p.report.json").read_text())["resolved"] == 1
    again = aiswe(*words, "reference", home=tmp_path / "home")
    assert (again.returncode, "resolved" in again.stderr) == (0, False)
    other = aiswe(*words, "scripted:household", home=tmp_path / "home")
    assert (other.returncode, "holds predictions of reference" in other.stderr) == (2, True)


def test_a_file_that_holds_no_instances_is_named(tmp_path, cli):
    (tmp_path / "a.json").write_text('[{"id": "x"}]')
    words = ("bench", "swebench", "--instances", str(tmp_path / "a.json"), "--repositories", str(tmp_path))
    assert "instance 1 lacks one of these" in cli.refuses(*words, "--model", "reference")
