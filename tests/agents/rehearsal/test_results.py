"""Figures of a rehearsal, and what they allow to be said."""

from __future__ import annotations

import json

from agents.rehearsal.results import WORKS, CommitResult, autonomy, sentence, totals, wilson
from tests.tables import each_row


def done(outcome: str = "merged", *, resolved: bool = True, blocked: int = 0, environment: str = WORKS) -> CommitResult:
    return CommitResult(
        "a" * 40,
        "Count",
        environment=environment,
        gates={"blocked": blocked, "findings": ["B102"] * blocked},
        sight={"files": [1, 2], "definitions": [1, 1], "callers": [0, 3]},
        outcome=outcome,
        as_upstream=resolved,
        resolved=resolved,
        first_try=resolved,
        asked=["package: Install x?"],
        tries=1,
        tokens=100,
        seconds=2.0,
    )


def test_a_result_is_the_same_after_it_was_written_and_read() -> None:
    result = done(blocked=1)
    assert CommitResult.read(json.loads(json.dumps(result.to_json()))) == result


def test_figures_count_what_was_built_where_the_environment_works() -> None:
    rows = [
        done(),
        done("blocked", resolved=False, blocked=2),
        done("skipped", resolved=False, environment="No tests."),
    ]
    found = totals(rows)
    assert (found["commits"], found["environment_works"], found["built"]) == (3, 2, 2)
    assert (found["merged"], found["resolved"], found["gates_block"], found["questions"]) == (1, 1, 1, 3)
    assert found["sight"] == {"files": [2, 4], "definitions": [2, 2], "callers": [0, 6]}


@each_row(
    ("rows", "words"),
    [
        ([], "small enough"),
        ([done("skipped", environment="No tests.")], "nothing is known"),
        ([done("looked_at")], "No model has been tried"),
        ([done("looked_at"), CommitResult("b" * 40, "Weigh")], "let the 1 that they saw pass"),
        ([done("looked_at", blocked=1)], "the gates would have stopped 1 of the 1"),
        (
            [done()] * 9 + [done("blocked", resolved=False)],
            "9 of 10 came out right, so of 100 changes like these, 60 to 98",
        ),
    ],
)
def test_the_sentence_says_no_more_than_was_tried(rows: list[CommitResult], words: str) -> None:
    assert words in sentence(totals(rows))


def test_more_is_left_to_it_only_after_many_commits_came_out_right() -> None:
    assert autonomy(totals([done("looked_at")] * 50)) == "plan_gates"
    assert autonomy(totals([done()] * 5)) == "plan_gates"
    assert autonomy(totals([done()] * 60)) == "gates_only"


def test_the_interval_of_a_share_is_wilsons() -> None:
    low, high = wilson(45, 100)
    assert (round(low, 4), round(high, 4)) == (0.3561, 0.5476)
    assert wilson(0, 0) == (0.0, 1.0)


def test_the_interval_of_all_and_of_none_ends_exactly_there() -> None:
    for many in range(1, 400):
        assert wilson(many, many)[1] == 1.0
        assert wilson(0, many)[0] == 0.0
