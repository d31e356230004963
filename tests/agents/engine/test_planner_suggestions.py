"""What the model reads between the lines: asked for in words of its own, and taken for no more than it says."""

import json
from types import SimpleNamespace

import pytest

from agents.engine import planner_suggestions
from agents.engine.planner_suggestions import inferred
from agents.requirements.model import Paragraph

ROW = {"key": "R1", "author_key": "FR-1", "text": "Sums are shown.", "kind": "functional", "origin": "explicit"}
LEFT = [Paragraph("Sums are exact.", (12, 12))]


@pytest.fixture
def asked(monkeypatch):
    """Ask a model that answers with these suggestions; returns what was added and what the model was sent."""

    def ask(rows, *items):
        sent = []

        def say(ctx, messages, **_):
            sent.extend(message["content"] for message in messages)
            return json.dumps({"requirements": items})

        monkeypatch.setattr(planner_suggestions, "say", say)
        return inferred(SimpleNamespace(project="Sums"), rows, LEFT), sent

    return ask


def test_the_system_text_is_about_reading_and_not_about_planning_tasks(asked):
    _, (system, prompt) = asked([ROW])
    assert "requirements analyst" in system
    assert not {"T-01", "tasks", "cycles", "architect"} & set(system.replace(",", " ").split())
    assert "12: Sums are exact." in prompt


def test_the_example_names_no_requirement_and_none_is_asked_for_where_none_was_found(asked):
    _, (_, found) = asked([ROW])
    _, (_, nothing) = asked([])
    assert '"because_of": the key' in found
    assert "because_of" not in nothing
    assert "No requirement was found" in nothing
    assert '"R1"' not in found + nothing


@pytest.mark.parametrize(("because", "kept"), [("R1", True), ("R1 (FR-1)", True), ("FR-1", True), ("R7", False)])
def test_a_suggestion_is_because_of_a_requirement_only_if_that_exists(asked, because, kept):
    item = {"text": "Sums are exact.", "kind": "constraint", "reason": "Cents.", "because_of": because, "line": 12}
    ((row,), _) = asked([ROW], item)
    assert row["reason"] == (f"Cents. (because of {because})" if kept else "Cents.")
    assert row["lines"] == [12, 12]


def test_only_kinds_of_things_to_build_are_suggested_and_the_prompt_says_what_they_mean(asked):
    (row,), (_, prompt) = asked([ROW], {"text": "Sums are fast.", "kind": "goal", "reason": "Speed."})
    assert row["kind"] == "functional"
    for kind in planner_suggestions.KINDS:
        assert f"{kind} (" in prompt


def test_where_nothing_was_found_a_report_of_an_error_is_said_to_ask_for_something(asked):
    _, (_, found) = asked([ROW])
    _, (_, nothing) = asked([])
    assert "what should happen instead" in nothing
    assert "An empty list is a good answer" not in nothing
    assert "An empty list is a good answer" in found
