"""A prompt is taken apart by its headings, and put together again."""

from hypothesis import given
from hypothesis import strategies as st

from agents.context.ledger import ledger
from agents.context.parts import parts_of
from agents.llm.tokens import count_messages
from agents.prompts.provenance import Source, as_turn, label, render
from tests.agents.context.prompts import head, repair

SIMPLE = {
    "description": "Add up.",
    "requirements": "- FR-01: It adds.",
    "note": "Mind the cents.",
    "lessons": "- a → b",
    "existing": "x = 1",
    "tests": "assert add(1, 1) == 2",
    "avoid": "try 1: failed",
    "rules": "Use Decimal.",
}


def named(message):
    return {part.name: part.text for part in parts_of(message)}


def test_every_stretch_of_the_first_message_has_its_name():
    system, first = head(**SIMPLE)
    assert list(named(system)) == ["system", "house rules"]
    assert "Use Decimal." in named(system)["house rules"]
    found = named(first)
    assert list(found) == ["task", "requirements", "people", "lessons", "files", "tests", "failed before"]
    for name, words in (
        ("task", "Add up."),
        ("requirements", "FR-01: It adds."),
        ("people", "Mind the cents."),
        ("lessons", "a → b"),
        ("files", "x = 1"),
        ("tests", "add(1, 1) == 2"),
        ("failed before", "try 1: failed"),
    ):
        assert words in found[name]


def test_every_stretch_of_a_planners_prompt_has_its_name():
    texts = ["requirements", "passages", "beside", "background", "recipe", "code", "tests", "documents", "lessons"]
    texts.append("last_plan")
    fenced = {name: label(f"the {name}", Source.DOCUMENT) for name in texts}
    prompt = render("plan.reason", project="shop", comment="smaller", small=False, may_look=True, **fenced)
    found = [(part.name, part.text) for part in parts_of(as_turn("user", prompt, step="plan"))]
    assert [name for name, _ in found] == [
        *("task", "requirements", "document", "requirements", "document", "house rules", "map", "existing tests"),
        *("documentation", "lessons", "plan", "people", "task"),
    ]
    for (_, text), words in zip(found[1:10], texts[:9], strict=True):
        assert f"the {words}" in text
    assert "read_file" in found[-1][1]


def test_a_failing_run_is_a_trace():
    assert list(named(repair("E  assert 1 == 2"))) == ["trace"]


def test_a_heading_inside_of_a_fence_is_a_quotation():
    quoted = "Requirements:\n```\nThe tests that your code must pass:\n```\nStep: repair\n"
    _, first = head(**{**SIMPLE, "existing": quoted})
    assert list(named(first)).count("tests") == 1
    assert quoted.rstrip() in named(first)["files"]


@given(st.dictionaries(st.sampled_from(sorted(SIMPLE)), st.text(max_size=80)))
def test_the_parts_joined_are_the_message_to_the_byte(texts):
    for message in (*head(**{**SIMPLE, **texts}), repair(texts.get("tests", "E  x"))):
        assert "".join(part.text for part in parts_of(message)) == message["content"]


def test_the_ledger_adds_up_to_what_the_server_counted():
    messages = [
        *head(**SIMPLE),
        {"role": "assistant", "content": "```python path=a.py\nx = 1\n```"},
        repair("E  1 == 2"),
    ]
    for total in (1, 7, 1_000, count_messages(messages), 20_001):
        assert sum(ledger(messages, total).values()) == total
    assert {"system", "house rules", "tests", "files", "conversation", "trace"} <= set(ledger(messages, 1_000))


@given(st.integers(0, 50_000), st.lists(st.text(max_size=60), max_size=6))
def test_any_conversation_adds_up(total, texts):
    messages = [
        {"role": ("system", "user", "assistant")[number % 3], "content": text} for number, text in enumerate(texts)
    ]
    shares = ledger(messages, total)
    assert not shares or sum(shares.values()) == total
    assert all(share > 0 for share in shares.values())


def test_a_new_approach_begins_with_the_same_bytes_as_the_first():
    first, second = head(**{**SIMPLE, "avoid": ""})[1]["content"], head(approach=2, **SIMPLE)[1]["content"]
    assert second != first
    assert second.startswith(first)
