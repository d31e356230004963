"""`aiswe rehearse`: past commits done again, with everything real but the model."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from agents.rehearsal.results import CommitResult
from measure.trials.issues import load_issues
from projects.services.insight.rehearsals import Order, RehearsalFolder
from tests.agents.rehearsal.history import ABSOLUTE, MORE, commit, first_commit
from tests.aiswe_site.running import COMMAND, aiswe, environment
from tests.prepared import prepared


def rehearse(home: Path, *words: str) -> tuple[int, Any, str]:
    argv = [*COMMAND, "rehearse", *words, "--json"]
    nobodys = {"DATABASE_URL": "postgres://nobody@127.0.0.1:9/nothing"}  # a rehearsal has a database of its own
    ran = subprocess.run(argv, env=environment(prepared(home)) | nobodys, capture_output=True, text=True, timeout=600)
    return ran.returncode, json.loads(ran.stdout), ran.stderr


@pytest.mark.stage
@pytest.mark.bubblewrap
@pytest.mark.timeout(900)
def test_a_commit_is_done_again_as_upstream_and_only_once(tmp_path: Path) -> None:
    """The environment works, the gates pass, everything is in sight, and nothing but the results is left."""
    source, home, target = tmp_path / "coins", tmp_path / "home", tmp_path / "export"
    first_commit(source)
    sha = commit(source, "Count coins that are owed", {"coins.py": ABSOLUTE, "test_coins.py": MORE})
    code, found, said = rehearse(home, str(source), "--model", "reference", "--export", str(target))
    (row,) = found["commits"]
    assert (code, row["sha"], row["environment"]) == (0, sha, "works"), said
    assert (row["outcome"], row["as_upstream"], row["first_try"], row["questions"]) == ("merged", True, True, 0), row
    assert row["gates"]["blocked"] == 0
    assert row["sight"] == {"files": [1, 1], "definitions": [1, 1], "callers": [1, 1]}
    assert found["sentence"].startswith("The tests of 1 of 1 past commits run here; 1 of 1 came out right")
    (issue,) = load_issues(target / "instances.jsonl")
    assert issue.fail_to_pass == ("test_coins.py::test_a_coin_that_is_owed_counts_too",)
    assert issue.pass_to_pass == ("test_coins.py::test_the_total_of_some_coins",)
    prediction = json.loads((target / "predictions.jsonl").read_text())
    assert prediction["model_name_or_path"] == "reference"
    assert "+    return sum(abs(coin) for coin in coins)" in prediction["model_patch"]
    (folder,) = (home / "rehearsals").iterdir()
    assert {path.name for path in folder.iterdir()} == {"order.json", "results.jsonl", "log.txt", "lock"}
    again, same, said = rehearse(home, str(source), "--model", "reference")
    assert (again, same["commits"]) == (0, found["commits"])
    assert "Count coins" not in said


def test_what_cannot_be_rehearsed_is_said_with_the_way_out(tmp_path: Path) -> None:
    source = tmp_path / "coins"
    sha = first_commit(source)
    (tmp_path / "plain").mkdir()
    for words, message in (
        ([str(tmp_path / "plain")], "is not a git repository"),
        (["nothing"], "There is no project 'nothing'"),
        ([str(source), "--commit", sha], "cannot be rehearsed"),
        ([str(source), "--commit", "elsewhere"], "elsewhere"),
    ):
        ran = aiswe("rehearse", *words, home=tmp_path / "home")
        assert (ran.returncode, "Traceback" in ran.stderr) == (2, False)
        assert message in ran.stderr


def test_a_repository_without_suitable_commits_is_no_error(tmp_path: Path) -> None:
    first_commit(tmp_path / "coins")
    ran = aiswe("rehearse", str(tmp_path / "coins"), home=tmp_path / "home")
    assert (ran.returncode, "small enough" in ran.stdout) == (0, True)


def test_results_survive_a_line_that_a_kill_tore_and_are_those_of_the_order(tmp_path: Path) -> None:
    folder, order = RehearsalFolder(tmp_path / "rehearsal"), Order("/repository", ("a" * 40, "b" * 40))
    folder.path.mkdir()
    folder.begin(order)
    folder.keep(CommitResult("a" * 40, "One", outcome="merged"))
    with (folder.path / "results.jsonl").open("a") as file:
        file.write('{"sha": "bbb')
    assert [result.sha for result in folder.results()] == ["a" * 40]
    folder.begin(Order("/repository", ("b" * 40,)))
    assert folder.results() == []
    folder.begin(order)
    assert [result.sha for result in folder.results()] == ["a" * 40]
    folder.begin(order, again=True)
    assert folder.results() == []


def test_only_one_process_rehearses_in_a_folder(tmp_path: Path) -> None:
    folder = RehearsalFolder(tmp_path)
    with folder.taken() as first, folder.taken() as second:
        assert (first, second) == (True, False)
    with folder.taken() as later:
        assert later
