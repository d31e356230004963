"""A model that hands the same code in again and makes evidence up: seen, told, and no example for others."""

from __future__ import annotations

import json
from typing import Any

import pytest

from projects.models import Attempt, Event
from projects.services.insight.trajectories import export_trajectories
from tests.factories import make_user
from tests.faults.stage import Stage
from tests.projects.jobs_driver import reply

pytestmark = pytest.mark.django_db(transaction=True)

WRONG = reply("calc.py", "def add(a, b):\n    return a * b\n")
AGAIN = (
    "## Diagnosis\nCause: the sum is wrong\nEvidence: TypeError: add() takes 3 arguments\nHypothesis: it is right now\n"
    "Plan: write it again\n\n" + reply("calc.py", "# the sum\ndef add(a, b):\n    return (a * b)\n")
)
RIGHT = reply("calc.py", "def add(a, b):\n    return a + b\n")
JUDGED = {"T_01__tester_adjudicate": "Verdict: code\nReason: FR-01 asks for a sum.\n"}


def payloads(still: Stage, type_: str) -> list[dict[str, Any]]:
    return list(Event.objects.filter(run=still.run, type=type_).order_by("seq").values_list("payload", flat=True))


def test_the_same_code_is_not_run_again_and_another_approach_is_merged(still: Stage) -> None:
    still.build("T-01", T_01__coder_code=WRONG, T_01__coder_repair=AGAIN, **JUDGED, **{"T_01__coder_code-a2": RIGHT})
    assert still.statuses() == {"T-01": "merged"}
    assert [row["of"] for row in payloads(still, "repeat")] == [1]
    assert len(payloads(still, "test.result")) == 2
    assert [row["evidence_found"] for row in payloads(still, "diagnosis")] == [False]
    tries = list(
        Attempt.objects.filter(task=still.task()).values_list("strategy", "outcome", "reward", "diagnosis_outcome")
    )
    assert tries == [("first", "failed", -0.5, ""), ("repair", "failed", -0.5, "refuted"), ("fresh", "passed", 1.0, "")]
    assert still.is_sound()


def test_what_a_real_build_left_is_exported_in_all_shapes(still: Stage) -> None:
    run = still.build(
        "T-01", T_01__coder_code=WRONG, T_01__coder_repair=AGAIN, **JUDGED, **{"T_01__coder_code-a2": RIGHT}
    )
    root = make_user(superuser=True)
    rewards = [json.loads(line)["reward"] for line in export_trajectories([run], "grpo", by=root)]
    assert rewards == [-0.5, -0.5, 1.0]
    (chat,) = [json.loads(line) for line in export_trajectories([run], "sft", by=root)]
    assert [turn["role"] for turn in chat["messages"]] == ["system", "user", "assistant"]
    assert chat["messages"][-1]["content"].strip() == RIGHT.strip()
    (pair,) = [json.loads(line) for line in export_trajectories([run], "dpo", by=root)]
    assert "a + b" in pair["chosen"][0]["content"]
    assert "a * b" in pair["rejected"][0]["content"]


def test_a_task_that_only_repeats_itself_is_escalated_with_what_was_tried(still: Stage) -> None:
    stubborn = {f"T_01__coder_code{approach}": WRONG for approach in ("", "-a2", "-a3", "-a4", "-a5", "-a6")}
    still.build("T-01", T_01__coder_repair=AGAIN, **JUDGED, **stubborn)
    text = still.task().escalation
    assert text.splitlines()[0] == "The tests still fail after 5 of 5 repairs."
    assert "- try 6 (fresh): the very code of try 1" in text
    assert "The last run: 1 failed." in text
    assert len(payloads(still, "test.result")) == 1
    assert [attempt.outcome for attempt in Attempt.objects.filter(task=still.task())] == ["failed"] * 6
    assert still.is_sound()
