"""A trial reads the memory and writes to itself; what it learned is given over once, however often."""

from __future__ import annotations

import json
from dataclasses import replace

from agents.memory.base import Lesson, Showing, Track
from measure.trials.notebook import Notebook, remember

LESSON = Lesson("a", "sig", "it counts wrongly", "count again", 1.0, "trial", "T-01", "run", learned_at=5.0)


def test_what_a_trial_learns_is_not_in_the_memory_before_it_is_given_over(store):
    book = Notebook(store)
    book.add(LESSON)
    book.add(replace(LESSON, fix="again"))
    book.record([Showing("old", "trial/1", True, 7.0), Showing("old", "trial/1", False, 8.0)])
    assert (store.all(), store.tracks(["old"])) == ([], {})
    rows = json.loads(json.dumps([book.learned, book.showings]))
    for _ in range(2):
        remember(store, *rows)
    assert store.all() == [LESSON]
    assert store.tracks(["old"]) == {"old": Track(1, 1, 7.0)}


def test_a_trial_sees_the_memory_and_what_it_was_shown_itself(store):
    store.add(LESSON)
    store.record([Showing("a", "earlier", True, 1.0)])
    book = Notebook(store)
    assert book.by_signature("sig") == book.all() == [LESSON]
    assert [near.lesson.id for near in book.similar("it counts wrongly: count again")] == ["a"]
    book.record([Showing("a", "now", False, 2.0)])
    assert book.tracks(["a", "b"]) == {"a": Track(2, 1, 1.0)}


def test_a_trial_switches_no_lesson_off(store):
    store.add(LESSON)
    assert Notebook(store).switch("a", by="trial") is False
    assert store.all()[0].disabled_by == ""
