"""What an editor is shown of a plan."""

from __future__ import annotations

from agents.conversation.state import ChatPlan, PlanStep, StepState
from aiswe_site.acp import shapes


def test_a_step_that_failed_has_no_mark_of_what_is_done() -> None:
    states: list[StepState] = ["done", "skipped", "failed", "in_progress", "pending"]
    found = shapes.plan(ChatPlan("Tidy up", [PlanStep(1, "Sweep", state=state) for state in states]))
    assert [one.status for one in found.entries] == ["completed", "completed", "pending", "in_progress", "pending"]
    assert found.entries[2].content == "Sweep (not accepted)"
