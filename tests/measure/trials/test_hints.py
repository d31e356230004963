"""Lessons are found where the real prompts show them, and a prompt without them is what it would have been."""

from __future__ import annotations

import pytest

from agents.engine.nodes.common import lessons_text
from agents.prompts.provenance import Source, label, render
from measure.trials.hints import lessons_in, without_lessons

LESSONS = [{"cause": "it counts wrongly", "fix": "count again"}, {"cause": "a `tick`", "fix": "none → some"}]
HEAD = {
    **dict.fromkeys("note requirements passages failing existing tests_go avoid".split(), ""),
    **{name: [] for name in "long servers removable installed".split()},
    **{"project": "p", "key": "T-01", "title": "t", "step": "code", "approach": 1, "files": ["a.py"], "may_ask": True},
    "container_files": {"docker": False, "kubernetes": False},
    "description": label("Do it.\n- a → b", Source.MODEL),
    "tests": label("assert 1", Source.MODEL),
}
REPAIR = {"counts": "1 failed.", "repeated": False, "unfounded": False, "undone": ""}
REPAIR["trace"] = label("E  assert f(0) == 1", Source.TESTS)


@pytest.mark.parametrize(("name", "values"), [("task.head", HEAD), ("task.repair", REPAIR)])
def test_the_lessons_of_a_real_prompt_are_read_and_taken_out(name, values):
    plain = render(name, **values, lessons=lessons_text([]))
    shown = render(name, **values, lessons=lessons_text(LESSONS))
    assert lessons_in(shown) == ["it counts wrongly → count again", "a `tick` → none → some"]
    assert lessons_in(plain) == []
    assert without_lessons(shown) == without_lessons(plain) == " ".join(plain.split())


def test_addresses_make_no_difference():
    assert without_lessons("<f at 0x7f12>") == without_lessons("<f at 0x7fab>")
