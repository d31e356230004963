"""What was learned is weighed before it is shown: by reward, by what became of showing it, by age."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from agents.memory.base import Lesson, Near, NoLessons, Showing, Track
from agents.memory.choosing import find_lessons
from agents.memory.weighing import HALF_LIFE, SHOWN_FROM, chance, state_of, weight

NOW = 1_800_000_000.0
FAILURE = "TypeError: unsupported operand type(s) for +: Decimal and float"


def lesson(name="one", **changes):
    made = Lesson(name, "s1", "a price was a float", "make prices Decimal", 1.0, "shop", "T-01", "1")
    return replace(made, **{"failure": FAILURE, "topic": "Totals of an order", "learned_at": NOW, **changes})


def find(store, **question):
    return find_lessons(store, **{"project": "shop", "now": NOW, **question})


def show(store, times, *, passed=False, name="one"):
    store.record([Showing(name, f"shop/1/T-{number:02}/1", passed, NOW) for number in range(times)])


def test_the_very_same_failure_comes_before_a_like_one(store):
    store.add(lesson("like", signature="s2"))
    store.add(lesson("same", failure="", topic="", reward=0.5))
    found = find(store, signature="s1", text=FAILURE)
    assert [(one.lesson.id, one.by) for one in found] == [("same", "signature"), ("like", "words")]


def test_a_like_failure_with_another_signature_is_found_and_an_unlike_one_is_not(store):
    store.add(lesson())
    assert [one.lesson.id for one in find(store, signature="s9", text=FAILURE.replace("+", "-"))] == ["one"]
    assert find(store, signature="s9", text="FileNotFoundError: no such file: report.csv") == []
    # A task with a like title finds it too.
    assert [one.lesson.id for one in find(store, text="Totals of an invoice order")] == ["one"]


def test_other_projects_lessons_stay_there_unless_sharing_is_allowed(store):
    store.add(lesson(project="bank"))
    assert find(store, signature="s1", text=FAILURE) == []
    assert [one.lesson.project for one in find(store, signature="s1", across=True)] == ["bank"]


def test_a_lesson_that_never_helps_sinks_until_it_is_no_longer_shown(store):
    store.add(lesson())
    seen = []
    for number in range(6):
        found = find(store, signature="s1")
        seen.append(len(found))
        store.record([Showing(one.lesson.id, f"shop/1/T-{number}/1", False, NOW) for one in found])
    assert seen == [1, 1, 1, 1, 0, 0]


def test_a_lesson_that_helped_stays_and_says_how_often(store):
    store.add(lesson())
    show(store, 4, passed=True)
    found = find(store, signature="s1")[0]
    assert (found.track.helped, found.track.shown) == (4, 4)
    assert found.weight > weight(lesson(), Track(), NOW)


def test_the_same_attempt_is_counted_once_and_its_first_outcome_stands(store):
    store.add(lesson())
    store.record([Showing("one", "shop/1/T-01/2", True, NOW), Showing("one", "shop/1/T-01/2", False, NOW)])
    store.record([Showing("one", "shop/1/T-01/2", False, NOW)])
    assert store.tracks(["one"])["one"] == Track(1, 1, NOW)


def test_a_better_track_record_goes_first(store):
    store.add(lesson("a"))
    store.add(lesson("b"))
    show(store, 2, passed=True, name="b")
    show(store, 2, passed=False, name="a")
    assert [one.lesson.id for one in find(store, signature="s1")] == ["b", "a"]


def test_what_a_person_switched_off_is_kept_but_not_shown_even_when_it_is_learned_again(store):
    store.add(lesson())
    assert store.switch("one", by="ada", why="it is wrong")
    store.add(lesson(run="2"))
    assert find(store, signature="s1", text=FAILURE) == []
    kept = store.all()[0]
    assert (kept.disabled_by, kept.disabled_why, kept.run) == ("ada", "it is wrong", "1")
    assert store.switch("one", by="")
    assert len(find(store, signature="s1")) == 1


def test_switching_what_is_not_there_says_so(store):
    assert not store.switch("nothing", by="ada")


def test_an_old_lesson_expires_unless_it_has_helped_lately(store):
    old = lesson(learned_at=NOW - 3 * HALF_LIFE)
    assert state_of(old, Track(), NOW) == "expired"
    assert state_of(old, Track(1, 1, NOW), NOW) == "active"
    store.add(old)
    assert find(store, signature="s1") == []


def test_states_are_told_apart():
    assert state_of(lesson(), Track(), NOW) == "active"
    assert state_of(lesson(), Track(4, 0), NOW) == "sunk"
    assert state_of(lesson(disabled_by="ada"), Track(4, 0), NOW) == "disabled"


def test_what_failed_is_no_advice():
    assert weight(lesson(reward=-0.5), Track(), NOW) < SHOWN_FROM


def test_no_memory_answers_with_nothing():
    assert find(NoLessons(), signature="s1", text=FAILURE) == []


class Many(NoLessons):
    """A store that finds too much."""

    def similar(self, text, limit=50):
        return [Near(lesson(f"l{number}"), 0.7 + number / 100) for number in range(9)]


def test_no_more_are_shown_than_a_small_model_can_use():
    assert [one.lesson.id for one in find(Many(), text="x")] == ["l8", "l7", "l6"]


@given(st.integers(0, 500), st.integers(0, 500), st.floats(-1, 1), st.floats(0, 1e9))
def test_a_weight_lies_between_0_and_1_and_no_failure_raises_it(helped, failed, reward, age):
    one, track = lesson(reward=reward), Track(helped + failed, helped, NOW - age)
    assert 0.0 <= weight(one, track, NOW) <= 1.0
    assert chance(Track(track.shown + 1, helped)) <= chance(track) <= chance(Track(track.shown + 1, helped + 1))
