"""A blueprint is typed: what does not fit together goes back in words that name the fragment."""

from typing import Any

import jsonschema
import pytest

from agents.fragments.blueprint import BLUEPRINT_SCHEMA, MOST_LOGIC, MOST_UI, read_blueprint
from agents.fragments.planned import described, edited_words, plan_of, task_fields
from agents.fragments.values import NoValue, fits, read_call, read_type, read_value
from agents.planning.model import content_hash
from agents.planning.parse import parse_plan
from agents.planning.rules import RULES
from agents.planning.validate import validate_plan
from tests.agents.fragments import crm
from tests.tables import each_row

ROWS = [
    {"key": "FR-01", "kind": "functional", "text": "Keeps customers"},
    {"key": "FR-02", "kind": "non_goal", "text": "Sends no mail"},
]


def problems_with(part: str, number: int, **changes: Any) -> list[str]:
    value = crm.blueprint()
    value[part][number] |= changes
    found, problems = read_blueprint(value)
    assert found is None
    return problems


def test_a_blueprint_that_fits_the_schema_is_read_and_given_back_as_it_was() -> None:
    jsonschema.validate(crm.blueprint(), BLUEPRINT_SCHEMA)
    assert read_blueprint(crm.whole().to_json())[0] == crm.whole()
    assert crm.whole().logic[0].signature == (
        "def add_customer(customers: list[dict[str, Any]], name: str, worth: float) -> list[dict[str, Any]]:"
    )


def test_values_that_came_as_json_are_read_as_well() -> None:
    value = crm.blueprint(state=[{"name": "customers", "type": "list", "default": []}])
    value["ui"][1]["reads"] = ["customers"]
    value["logic"][2]["examples"] = [{"call": "calculate_tax(amount='100', rate=0.19)", "result": 19.0}]
    found, problems = read_blueprint(value)
    assert problems == []
    assert found is not None
    assert found.state[0].value == []


def test_words_that_models_use_for_types_texts_and_functions_are_understood() -> None:
    value = crm.blueprint()
    value["state"].append({"name": "greeting", "type": "string", "default": "Good day"})
    value["state"].append({"name": "note", "type": "str", "default": ""})
    value["logic"].append(
        {
            "name": "greet",
            "purpose": "Greets",
            "parameters": [{"name": "name", "type": "Optional[str]"}],
            "returns": "str",
            "examples": [{"call": "greet('Ada')", "result": "Hello Ada"}, {"call": "greet(None)", "result": "'12'"}],
        }
    )
    value["logic"][1]["parameters"][0]["type"] = "List[Dict[str, any]]"
    value["ui"][0]["uses"] = ["logic.find_customers()", "greet(name)"]
    found, problems = read_blueprint(value)
    assert found is not None, problems
    assert [one.value for one in found.state[2:]] == ["Good day", ""]
    assert [one.result for one in found.logic[3].examples] == ["'Hello Ada'", "'12'"]
    assert found.logic[3].parameters[0].type == "str | None"
    assert found.logic[1].parameters[0].type == "list[dict[str, Any]]"
    assert found.ui[0].uses == ("find_customers", "greet")


@each_row(
    ("part", "number", "changes", "words"),
    [
        ("logic", 0, {"name": "Add Customer"}, "'Add Customer' is not a name"),
        ("logic", 0, {"name": "class"}, "is a word of Python"),
        ("logic", 0, {"name": "print"}, "is taken by Python or by the app"),
        ("logic", 1, {"name": "add_customer"}, "calls find_customers; an example of add_customer"),
        ("logic", 2, {"returns": "Decimal"}, "'Decimal' is not a type"),
        ("logic", 2, {"returns": "list[str"}, "is not a type"),
        ("logic", 2, {"examples": []}, "at least 1 item"),
        ("logic", 2, {"examples": [{"call": "calculate_tax(100, 0.1)", "result": "1.0"}]}, "amount is not of type str"),
        ("logic", 2, {"examples": [{"call": "calculate_tax('1')", "result": "1.0"}]}, "does not fit the parameters"),
        ("logic", 2, {"examples": [{"call": "calculate_tax('1', rate)", "result": "1.0"}]}, "not a plain value"),
        ("logic", 2, {"examples": [{"call": "calculate_tax('1', 1.0)", "result": "'one'"}]}, "not of type float"),
        ("logic", 2, {"examples": [{"call": "calculate_tax('1', 1.0)"}]}, "either a result or an exception"),
        (
            "logic",
            2,
            {"examples": [{"call": "calculate_tax('1', 1.0)", "raises": "BadInput"}]},
            "not an exception of Python",
        ),
        ("ui", 0, {"uses": ["delete_all"]}, "uses delete_all, which is not a logic fragment"),
        ("ui", 0, {"reads": ["orders"]}, "reads or writes orders, which is not a state field"),
        ("ui", 0, {"title": "New customer"}, "two UI fragments are called New customer"),
        ("state", 0, {"default": "0"}, "not of type list"),
        ("state", 1, {"name": "customers", "type": "list", "default": "[]"}, "two state fields are called customers"),
    ],
)
def test_a_mistake_is_told_in_words(part: str, number: int, changes: dict[str, Any], words: str) -> None:
    assert any(words in problem for problem in problems_with(part, number, **changes))


def test_a_mistake_names_the_fragment_and_not_its_number() -> None:
    assert problems_with("logic", 2, returns="Decimal")[0].startswith("logic · calculate_tax · returns: ")


@each_row("value", [None, [], "x", {}, {"name": "a", "logic": 3}, {"logic": [{}], "ui": [[]]}])
def test_what_is_not_a_blueprint_is_refused_without_an_exception(value: object) -> None:
    found, problems = read_blueprint(value)
    assert found is None
    assert problems


def test_more_fragments_than_fit_into_an_hour_are_refused() -> None:
    page, logic = crm.blueprint()["ui"][0], crm.blueprint()["logic"][1]
    pages = [page | {"name": f"page_{n}", "title": f"Page {n}"} for n in range(MOST_UI + 1)]
    assert "at most 6" in read_blueprint(crm.blueprint(ui=pages))[1][0]
    many = [
        logic | {"name": f"find_{n}", "examples": [{"call": f"find_{n}([], 'a')", "result": "[]"}]}
        for n in range(MOST_LOGIC)
    ]
    ui = [one | {"uses": [], "reads": [], "writes": []} for one in pages[:MOST_UI]]
    most, problems = read_blueprint(crm.blueprint(logic=many, ui=ui))
    assert most is not None, problems
    assert plan_of(most, ROWS)["tasks"][0]["minutes"] <= 60


def test_the_plan_is_one_task_that_covers_what_is_asked_for_and_carries_the_blueprint() -> None:
    plan = plan_of(crm.whole(), ROWS)
    parsed, problems = parse_plan(plan)
    assert parsed is not None
    assert problems == []
    assert validate_plan(parsed, {row["key"]: row["kind"] for row in ROWS}) == []
    (task,) = parsed.tasks
    assert task.requirements == ("FR-01",)
    assert task.files[:3] == ("app.py", "logic.py", "state.py")
    assert task.files[3:] == ("requirements.txt", "tests/test_logic.py", "tests/test_app.py")
    assert task.packages == ("streamlit",)
    assert parsed.to_json() == plan
    for word in ("calculate_tax('100', 0.19) → 19.0", "New customer (new_customer)", "rate: float = 0.19"):
        assert word in task.description
    changed = crm.blueprint(summary="Something else")
    other = parse_plan(plan | {"tasks": [plan["tasks"][0] | {"blueprint": changed}]})[0]
    assert other is not None
    assert content_hash(other) != content_hash(parsed)


def test_a_plan_with_a_blueprint_that_is_none_is_refused() -> None:
    plan = plan_of(crm.whole(), ROWS)
    plan["tasks"][0]["blueprint"] = crm.blueprint(logic=[])
    parsed, problems = parse_plan(plan)
    assert parsed is None
    assert "The blueprint of task 1: logic" in problems[0].message


def test_variants_of_a_plan_leave_a_blueprint_whole() -> None:
    plan = plan_of(crm.whole(), [*ROWS, {"key": "FR-03", "kind": "functional", "text": "Finds customers"}])
    follower = {"key": "T-02", "title": "Say how", "needs": ["T-01"], "minutes": 10, "requirements": ["FR-01"]}
    parsed, _ = parse_plan(plan | {"tasks": [*plan["tasks"], follower]})
    assert parsed is not None
    for rule in RULES:
        changed = rule.apply(parsed)
        assert [task.blueprint for task in changed.tasks if task.blueprint] == [parsed.tasks[0].blueprint], rule.name
        assert next(task for task in changed.tasks if task.blueprint).requirements == ("FR-01", "FR-03")


def test_a_task_gets_the_tests_that_follow_from_its_blueprint() -> None:
    fields = task_fields(crm.blueprint())
    assert list(fields["tests_given"]) == ["tests/test_logic.py", "tests/test_app.py"]


def test_what_a_person_writes_into_the_description_is_found() -> None:
    blueprint = crm.whole()
    assert edited_words(blueprint, described(blueprint)) == ""
    assert edited_words(blueprint, described(blueprint) + "\nUse euros.\n") == "Use euros."


@each_row(
    ("value", "kind", "fit"),
    [
        (1, "int", True),
        (True, "int", False),
        (1, "float", True),
        ("1", "float", False),
        (None, "str | None", True),
        ([1, "a"], "list[int]", False),
        ({"a": [1]}, "dict[str, list[int]]", True),
        ({1: 2}, "dict[str, Any]", False),
    ],
)
def test_a_value_fits_a_type_or_not(value: object, kind: str, fit: bool) -> None:
    assert fits(value, read_type(kind)) is fit


@each_row("text", ["(1, 2)", "{1}", "open('x')", "1e999", "", "[" * 500, "b'x'"])
def test_only_plain_values_are_read(text: str) -> None:
    with pytest.raises(NoValue):
        read_value(text)


@each_row("text", ["add(1)(2)", "x.add(1)", "add(*[1])", "add(a=1, a=2)", "add(1); add(2)", "add(c=1)"])
def test_only_plain_calls_are_read(text: str) -> None:
    with pytest.raises(NoValue):
        read_call(text, "add", ["a"])
