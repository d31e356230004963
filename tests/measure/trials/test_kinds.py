"""Every mistake has a kind in plain words, which survive as a lesson."""

from __future__ import annotations

from agents.languages.python.mutants import wrongs
from agents.requirements.injection_hints import odd
from measure.trials.kinds import KINDS, kind_in
from tests.tables import each_row

SOURCE = """
def f(items, low=0.5):
    total = 0
    if low < 1 and not items:
        return True
    for item in items[1:]:
        total += pow(item, 2)
    return total if total > 3 else total * 2
"""


@each_row("kind", KINDS.values(), ids=str)
def test_a_kind_is_known_by_its_cause_and_by_its_cure_and_is_no_instruction(kind):
    assert kind_in(f"Cause: {kind.cause}.") == kind_in(f"{kind.fix.replace(' ', chr(10), 1)}") == kind.name
    assert not odd(f"{kind.cause}\n{kind.fix}")
    assert len(kind.cause) < 300 > len(kind.fix)


def test_words_of_no_kind_name_none():
    assert kind_in("the last version does not do what the test asks") == ""


def test_mistakes_of_every_kind_are_made():
    found = {wrong.kind for wrong in wrongs(SOURCE, limit=200)}
    assert found == set(KINDS)


@each_row(
    ("source", "wrong", "kind"),
    [
        ("x = a < b\n", "x = a <= b\n", "boundary"),
        ("x = a < b\n", "x = a > b\n", "direction"),
        ("x = a == b\n", "x = a != b\n", "opposite"),
        ("x = a + b\n", "x = a - b\n", "arithmetic"),
        ("def f():\n    return a\n", "def f():\n    return None\n", "result"),
    ],
)
def test_a_mistake_is_called_what_it_is(source, wrong, kind):
    assert {one.text: one.kind for one in wrongs(source)}[wrong] == kind
