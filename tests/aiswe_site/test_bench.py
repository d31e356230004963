"""`aiswe bench tasks` counts what the real loop makes of a dataset, and says what is wrong with a wrong question."""

from __future__ import annotations

import json

import pytest

from tests.agents.trials.samples import humaneval
from tests.aiswe_site.running import aiswe


@pytest.mark.bubblewrap
def test_the_reference_resolves_everything_and_a_second_call_plays_nothing_again(tmp_path):
    words = ("bench", "tasks", "--dataset", str(humaneval(tmp_path)), "--format", "humaneval", "--model", "reference",
             "--backend", "bubblewrap", "--out", str(tmp_path / "out"), "--json")  # fmt: skip
    first = aiswe(*words, home=tmp_path / "home")
    assert first.returncode == 0, first.stderr
    found = json.loads(first.stdout)
    assert (found["tasks"], found["resolved"], found["first_try"], found["repaired"]) == (2, 2, 2, 0)
    assert found["tokens"]["sent"] > found["tokens"]["generated"] > 0
    again = aiswe(*words, home=tmp_path / "home")
    assert json.loads(again.stdout)["resolved"] == 2
    assert "resolved" not in again.stderr


@pytest.mark.parametrize(
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
def test_a_wrong_question_names_what_is_wrong(tmp_path, words, says):
    done = aiswe(
        "bench", "tasks", "--dataset", str(humaneval(tmp_path)), "--format", "humaneval", *words, home=tmp_path / "home"
    )
    assert done.returncode == 2
    assert says in done.stderr
    assert "Traceback" not in done.stderr
