"""Structure comes last, in a short call of its own, whatever the server makes of the schema."""

import pytest

from agents.engine.structured_output import ask_structured
from tests.tables import each_row

SCHEMA = {
    "type": "object",
    "properties": {"tasks": {"type": "array", "items": {"type": "object"}}, "note": {"type": "string"}},
    "required": ["tasks", "note"],
}
THOUGHT = [{"role": "user", "content": "Think."}, {"role": "assistant", "content": "Two tasks."}]


def settled(reply: str, *, fill: bool = False):
    asked = []

    def say(messages, schema):
        asked.append((messages, schema))
        return reply

    found = ask_structured(say, THOUGHT, {"role": "user", "content": "As JSON."}, SCHEMA, fill=fill)
    assert len(asked) == 1
    assert asked[0][0][:2] == THOUGHT, "the thought stays in front, word for word"
    assert asked[0][0][2]["content"] == "As JSON."
    assert asked[0][1] == SCHEMA
    assert found.messages[-1]["content"] == reply
    return found


@pytest.mark.parametrize(
    "reply",
    [
        '{"tasks": [{"id": 1}], "note": ""}',
        'Here you are:\n```json\n{"tasks": [{"id": 1}], "note": ""}\n```\nDone!',
        "<think>hm</think>{\"tasks\": [{\"id\": 1},], 'note': ''",
    ],
)
def test_an_object_is_found_where_the_server_held_to_the_schema_and_where_not(reply):
    assert settled(reply).value == {"tasks": [{"id": 1}], "note": ""}


def test_a_bare_list_is_put_in_its_place_when_gaps_may_be_filled():
    found = settled('[{"id": 1}]', fill=True)
    assert found.value == {"tasks": [{"id": 1}], "note": ""}
    assert found.problems


def test_nothing_is_filled_in_that_the_caller_wants_to_judge():
    assert settled('{"tasks": []}').value == {"tasks": []}


@each_row("reply", ["", "No.", "[1, 2]", "null", '"text"'])
def test_what_is_no_object_is_none_with_a_reason(reply):
    found = settled(reply)
    assert found.value is None
    assert found.problems
