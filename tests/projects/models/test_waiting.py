import ast
from pathlib import Path

import pytest

from agents.engine.waiting import OUTAGES, SCHEDULED, WaitReason
from agents.languages.python import syntax
from projects.models import Task
from projects.models.waiting import PHRASES, sentence
from tests.factories import bare_run, make_task
from tests.tables import each_row

ROOT = Path(__file__).parents[3]
ROOMS = ("agents", "aiswe_site", "dashboard", "projects", "sandbox", "measure")
PREFIX_TESTS = ("startswith", "removeprefix", "partition")


def test_every_wait_reason_fits_its_column_and_has_a_phrase():
    assert set(PHRASES) == set(WaitReason)
    assert all(len(reason) <= Task._meta.get_field("wait_reason").max_length for reason in WaitReason)


@each_row("reason", WaitReason)
def test_only_a_wait_for_a_person_says_needs_you(reason):
    passes = OUTAGES | SCHEDULED | {WaitReason.RESTING_TASKS, WaitReason.DEPENDENCY}
    person = reason not in passes
    assert reason.needs_person == person
    assert sentence(reason, "x").startswith("needs you: ") == person


def test_a_detail_is_data_and_never_a_template():
    assert sentence(WaitReason.MODEL, "{0.__class__} {}") == "waiting for the model: {0.__class__} {}"


@pytest.mark.django_db
def test_without_a_wait_reason_the_reason_of_the_last_move_is_shown():
    task = make_task(bare_run())
    assert task.why == ""
    task.why_detail = "tried again: use a list"
    assert task.why == "tried again: use a list"


def _prose_decisions(tree: ast.AST) -> list[int]:
    """Lines with `"word" in str(error)` about a caught exception, or a prefix test of a sentence in `why`."""
    found = []
    caught = {
        id(part): handler.name
        for handler in ast.walk(tree)
        if isinstance(handler, ast.ExceptHandler)
        for part in ast.walk(handler)
    }
    for node in ast.walk(tree):
        match node:
            case ast.Compare(ops=[ast.In() | ast.NotIn()], comparators=[ast.Call(ast.Name("str"), [ast.Name(name)])]):
                found += [node.lineno] * (caught.get(id(node)) == name)
            case ast.Call(ast.Attribute(ast.Attribute(attr="why"), method)):
                found += [node.lineno] * (method in PREFIX_TESTS)
            case ast.Call(ast.Attribute(ast.Call(ast.Name("str"), [ast.Name(name)]), method)):
                found += [node.lineno] * (method in PREFIX_TESTS and caught.get(id(node)) == name)
    return found


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("try: f()\nexcept E as e: g('confirm' in str(e))", True),
        ("try: f()\nexcept E as e: g(str(e).startswith('no such'))", True),
        ("task.why.startswith('waiting for')", True),
        ("'/' in str(key)", False),
        ("'x' in why.split()", False),
    ],
)
def test_a_decision_on_prose_is_recognised(code, found):
    assert bool(_prose_decisions(syntax.parse(code))) == found


def test_no_decision_reads_a_sentence():
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for room in ROOMS
        for path in (ROOT / room).rglob("*.py")
        for line in _prose_decisions(syntax.parse(path.read_text()))
    ]
    assert found == []
