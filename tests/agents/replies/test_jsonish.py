"""JSON as models write it."""

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from agents.replies.jsonish import parse_json
from tests.sizes import scaled
from tests.tables import each_row

F = "```"
PLAN = {"tasks": [{"id": "T-01", "title": "Add", "minutes": 30}]}
TEXT = json.dumps(PLAN)
SCHEMA = {
    "type": "object",
    "required": ["tasks"],
    "properties": {"tasks": {"type": "array", "items": {"$ref": "#/$defs/task"}}},
    "$defs": {
        "task": {
            "type": "object",
            "required": ["id", "title", "minutes"],
            "properties": {"id": {"type": "string"}, "title": {"type": "string"}, "minutes": {"type": "integer"}},
        }
    },
}


JUDGEMENT = {
    "type": "object",
    "required": ["verdict", "reason"],
    "properties": {"verdict": {"enum": ["approve", "reject"]}, "reason": {"type": "string"}},
}


@each_row(
    "text",
    [
        TEXT,
        f"{F}json\n{TEXT}\n{F}",
        f"Here is the plan:\n\n{F}json\n{TEXT}\n{F}\nGood luck.",
        f"{F}\n{TEXT}\n{F}",
        f"~~~json\n{TEXT}\n~~~",
        f"The plan is {TEXT}",
        f"<think>hm {{}}</think>\n{TEXT}",
        f"\ufeff{TEXT}\r\n",
        json.dumps(PLAN, indent=2),
    ],
)
def test_sound_json_is_found_without_a_problem(text):
    assert parse_json(text, SCHEMA) == (PLAN, [])


@each_row(
    "text",
    [TEXT[:-1], TEXT[:-3], TEXT.replace('"', "'"), f"{F}json\n{TEXT[:-2]}", TEXT.replace("[{", "[ // the tasks\n{")],
)
def test_broken_json_is_mended_and_said_to_be(text):
    value, problems = parse_json(text, SCHEMA)
    assert value == PLAN
    assert "mended" in problems[0]


@each_row("text", ["", "   ", "No.", "I cannot do that.", "[" * 5000, "{" * 100 + "}" * 100])
def test_where_there_is_no_json_there_is_a_problem(text):
    value, problems = parse_json(text, SCHEMA)
    assert value is None
    assert problems


def test_missing_values_are_filled_and_named():
    value, problems = parse_json('{"tasks": [{"id": "T-01"}]}', SCHEMA)
    assert value == {"tasks": [{"id": "T-01", "title": "", "minutes": 0}]}
    assert problems == ["tasks[0].title is missing.", "tasks[0].minutes is missing."]


def test_a_missing_choice_is_never_guessed():
    value, problems = parse_json('{"reason": "fine"}', JUDGEMENT)
    assert value.get("verdict") not in ("approve", "reject")
    assert any("verdict" in problem for problem in problems)


def test_a_wrong_type_is_a_problem_that_names_the_place():
    value, problems = parse_json('{"tasks": [{"id": "T-01", "title": "x", "minutes": "soon"}]}', SCHEMA)
    assert value["tasks"][0]["minutes"] == "soon"
    assert problems == ["tasks[0].minutes: 'soon' is not of type 'integer'"]


def test_a_bare_list_is_put_under_its_key():
    value, problems = parse_json(json.dumps(PLAN["tasks"]), SCHEMA)
    assert value == PLAN
    assert "'tasks'" in problems[0]


def test_a_wrong_choice_is_refused():
    _, problems = parse_json('{"verdict": "perhaps", "reason": "x"}', JUDGEMENT)
    assert problems == ["verdict: 'perhaps' is not one of ['approve', 'reject']"]


def test_not_a_number_becomes_nothing():
    assert parse_json('{"a": NaN, "b": -Infinity}') == ({"a": None, "b": None}, [])


def test_too_much_json_is_not_read():
    value, problems = parse_json('{"a": "' + "x" * 1_000_001 + '"}')
    assert value is None
    assert "longer" in problems[0]


def test_problems_are_bounded():
    value, problems = parse_json(json.dumps({"tasks": [{"id": n} for n in range(1000)]}), SCHEMA)
    assert value is not None
    assert len(problems) == 20


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.text(max_size=8), JSON, max_size=5))
@settings(max_examples=scaled(150))
def test_json_comes_back_as_it_was_in_a_fence_or_out_of_it(value):
    for text in (json.dumps(value), f"Here:\n{F}json\n{json.dumps(value, indent=1)}\n{F}\nEnd."):
        assert parse_json(text) == (value, [])


@given(JSON)
@settings(max_examples=scaled(150))
def test_any_value_is_judged_by_any_schema_without_an_exception(value):
    for schema in (SCHEMA, JUDGEMENT):
        found, problems = parse_json(json.dumps(value), schema)
        assert problems or found is not None


@given(st.integers(0, len(TEXT)))
def test_json_cut_anywhere_never_raises(at):
    value, problems = parse_json(TEXT[:at], SCHEMA)
    assert value is not None or problems


def test_a_comma_too_many_before_a_bracket_is_no_problem_and_commas_in_strings_stay():
    value, problems = parse_json('{"reasons": ["a ,] b", "c",], "approved": true,}')
    assert value == {"reasons": ["a ,] b", "c"], "approved": True}
    assert problems == []
