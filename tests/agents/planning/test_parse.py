"""From JSON to a plan: lenient with what is missing, strict with what is there."""

import json
from typing import Any

import jsonschema
from hypothesis import given
from hypothesis import strategies as st

from agents.planning.model import PLAN_SCHEMA, PlanDraft, PlanProblem, PlanTask
from agents.planning.parse import parse_plan
from tests.agents.planning.strategies import plans
from tests.tables import each_row

WHOLE: dict[str, Any] = {
    "tasks": [
        {
            "key": "T-01",
            "title": "Write router",
            "description": "The routes of notes.",
            "kind": "code",
            "agent": "coder",
            "minutes": 45,
            "requirements": ["FR-1"],
            "needs": [],
            "expects": "GET /notes answers",
            "files": ["app/router.py"],
            "packages": ["fastapi"],
        }
    ],
    "notes": "First the router.",
}


def test_a_whole_plan_is_read_without_remark() -> None:
    plan, problems = parse_plan(WHOLE)
    assert problems == []
    assert plan is not None
    assert plan.to_json() == WHOLE


def test_missing_values_get_placeholders_that_are_named() -> None:
    plan, problems = parse_plan({"tasks": [{"description": "Write the tests of notes", "kind": "test", "needs": None}]})
    assert plan == PlanDraft(
        (PlanTask("T-01", "Write the tests of notes", "Write the tests of notes", "code", minutes=30),)
    )
    assert [p.code for p in problems] == ["placeholder"]
    assert problems[0].severity == "warning"
    assert "key T-01" in problems[0].message


def test_a_placeholder_key_does_not_meet_a_given_one() -> None:
    plan, _ = parse_plan({"tasks": [{"title": "a"}, {"title": "b", "key": "T-01"}]})
    assert plan is not None
    assert [t.key for t in plan.tasks] == ["T-01x", "T-01"]


@each_row(
    ("obj", "said"),
    [
        (None, "The plan must be an object with `tasks` and `notes`, not nothing."),
        ([], "The plan must be an object with `tasks` and `notes`, not a list."),
        ({}, "The plan has no `tasks`. Give a list of at least one task."),
        ({"tasks": {}}, "`tasks` must be a list, not an object."),
        ({"tasks": ["x"]}, "Task 1 must be an object, not a text."),
        ({"tasks": [], "notes": 3}, "`notes` must be a text, not a number."),
        ({"tasks": [{"key": 7}]}, "`key` of task 1 must be a text, not a number."),
        ({"tasks": [{"minutes": "30"}]}, "`minutes` of task 1 must be a whole number, not a text."),
        ({"tasks": [{"minutes": True}]}, "`minutes` of task 1 must be a whole number, not true/false."),
        ({"tasks": [{"minutes": 1.5}]}, "`minutes` of task 1 must be a whole number, not a number."),
        ({"tasks": [{"needs": "T-1"}]}, "`needs` of task 1 must be a list of texts, not a text."),
        ({"tasks": [{"needs": [1]}]}, "An entry of `needs` of task 1 must be a text, not a number."),
        ({"tasks": [{"title": "a\x00b"}]}, "`title` of task 1 holds a NUL or half a character pair. Remove it."),
        (
            {"tasks": [{"files": ["\ud800"]}]},
            "An entry of `files` of task 1 holds a NUL or half a character pair. Remove it.",
        ),
        ({"tasks": [{"key": "k" * 501}]}, "`key` of task 1 has 501 characters; the limit is 500. Shorten it."),
    ],
)
def test_a_wrong_type_is_refused_by_name(obj: object, said: str) -> None:
    plan, problems = parse_plan(obj)
    assert plan is None
    assert [p.message for p in problems if p.severity == "error"] == [said]


def test_fields_nobody_reads_are_mentioned() -> None:
    plan, problems = parse_plan({**WHOLE, "mood": "good"})
    assert plan is not None
    assert [(p.code, p.severity) for p in problems] == [("unknown_field", "warning")]
    assert "mood" in problems[0].message


def test_ten_thousand_wrong_tasks_are_told_in_a_hundred_lines() -> None:
    plan, problems = parse_plan({"tasks": [1] * 10_000})
    assert plan is None
    assert len(problems) == 101
    assert parse_plan({"tasks": [1] * 10_001})[1][0].code == "too_many_tasks"


@given(plans())
def test_a_plan_survives_the_way_through_json(plan: PlanDraft) -> None:
    text = json.dumps(plan.to_json())
    asked = json.loads(text)
    for task in asked["tasks"]:
        del task["agent"]  # kept, but not asked for
    jsonschema.validate(asked, PLAN_SCHEMA)
    assert parse_plan(json.loads(text)) == (plan, [])


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["tasks", "notes", "key", "minutes", "needs", "files", "kind"]), inner, max_size=5
        )
    ),
    max_leaves=20,
)


@given(JSON)
def test_any_json_gives_a_plan_or_an_error(obj: object) -> None:
    plan, problems = parse_plan(obj)
    assert (plan is None) == any(p.severity == "error" for p in problems)
    assert all(isinstance(p, PlanProblem) for p in problems)


def test_a_task_may_name_a_requirement_by_the_id_that_the_author_gave_it() -> None:
    tasks = [{"title": "Sums", "requirements": ["FR-03", "R2 (FR-02)", "R9"]}]
    plan, _ = parse_plan({"tasks": tasks}, {"FR-03": "R9"})
    assert plan is not None
    assert plan.tasks[0].requirements == ("R9", "R2")
