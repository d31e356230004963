"""Whatever is in its folder or comes as a lesson: the memory answers, reports what is wrong, and never stops work."""

import math
import threading
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.memory.base import Lesson, Showing, Track
from agents.memory.choosing import find_lessons
from agents.memory.chroma import ChromaLessons
from agents.memory.embedding import embed
from agents.memory.rows import LONGEST, cleaned, lesson_of
from agents.memory.weighing import HALF_LIFE, SHOWN_FROM, weight
from agents.secrets.redaction import configure
from tests.sizes import scaled

NOW = 1_800_000_000.0
CAUSE, FIX = "a price was a float", "make prices Decimal"
LESSON = Lesson("one", "s1", CAUSE, FIX, 1.0, "shop", "T-01", "1", failure="TypeError: x", learned_at=NOW)


def use(store):
    """Everything that a run asks of it."""
    store.add(LESSON)
    store.record([Showing("one", "a", True, NOW)])
    store.switch("one", by="ada", why="no")
    return find_lessons(store, project="shop", signature="s1", text="price float Decimal", now=NOW), store.all()


@pytest.fixture
def folder(tmp_path):
    store = ChromaLessons(tmp_path / "chroma")
    store.add(LESSON)
    store.close()
    return tmp_path / "chroma"


@pytest.mark.parametrize("content", [b"not a database" * 500, b"", b"SQLite format 3\0" + b"\0" * 4_000])
def test_a_damaged_folder_remembers_nothing_and_says_what_to_do(folder, content):
    (folder / "chroma.sqlite3").write_bytes(content)
    store = ChromaLessons(folder)
    assert use(store) == ([], [])
    assert store.tracks(["one"]) == {}
    assert "cannot be used" in store.problem
    assert "move the folder" in store.problem
    store.close()


def test_a_file_where_the_folder_should_be_is_no_reason_to_fail_and_its_path_is_not_told(tmp_path):
    (tmp_path / "chroma").write_text("x")
    store = ChromaLessons(tmp_path / "chroma")
    assert use(store) == ([], [])
    assert "File exists" in store.problem
    assert str(tmp_path) not in store.problem


def test_a_store_that_breaks_while_it_is_used_gives_up_once_and_for_all(store):
    store.add(LESSON)

    class Broken:
        def __getattr__(self, name):
            raise OSError(28, "No space left on device")

    store._collection = Broken()
    store.add(replace(LESSON, id="two"))
    assert "No space left on device" in store.problem
    assert use(store) == ([], [])


def test_an_interrupt_is_not_taken_for_damage(store):
    def stop(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        store._try(stop, None)
    assert store.problem == ""


def test_rows_that_are_no_lessons_are_left_out_and_counted(folder):
    store = ChromaLessons(folder)
    rows = [{"id": "a", "cause": 3}, {"id": "b"}, LESSON.to_json() | {"id": "c", "reward": "much"}]
    store._open().upsert(ids=["a", "b", "c"], documents=["x"] * 3, metadatas=rows, embeddings=embed(["x"] * 3))
    store.close()
    again = ChromaLessons(folder)
    assert [lesson.id for lesson in again.all()] == ["one"]
    assert again.hint == "3 lessons of the memory cannot be read and are left out."
    again.close()


ODD = st.text(st.characters(), max_size=60)  # with NUL and halves of character pairs


@settings(max_examples=scaled(60, 5))
@given(ODD, ODD, ODD, st.floats(), st.floats())
def test_every_lesson_can_be_kept_and_is_read_again(cause, fix, failure, reward, learned_at):
    made = cleaned(replace(LESSON, cause=cause, fix=fix, failure=failure, reward=reward, learned_at=learned_at))
    assert lesson_of(made.to_json()) == made
    assert -1.0 <= made.reward <= 1.0
    assert math.isfinite(made.learned_at)
    made.text.encode()


def test_odd_and_huge_words_do_not_harm_the_store(store):
    store.add(replace(LESSON, id="half\ud800", cause="a\0b\ud800", reward=math.nan, learned_at=math.inf))
    store.add(replace(LESSON, id="huge", cause="word " * 500_000))
    store.record([Showing("huge", "try\ud800", True, math.nan)])
    assert store.similar("\ud800 a question \0") == []
    assert store.tracks(["huge", "half\ud800"])["huge"] == Track(1, 1, 0.0)
    assert max(len(lesson.cause) for lesson in store.all()) == LONGEST
    assert (len(store.all()), store.problem) == (2, "")


def test_a_lesson_without_an_id_is_refused(tmp_path):
    with pytest.raises(ValueError, match="id"):
        ChromaLessons(tmp_path / "chroma").add(replace(LESSON, id=" "))


def test_no_secret_is_kept(tmp_path):
    configure({"service": "hunter2-very-secret"})
    try:
        store = ChromaLessons(tmp_path / "chroma")
        store.add(replace(LESSON, cause="the key hunter2-very-secret was wrong", failure="AKIAIOSFODNN7ABCDEFG"))
        (kept,) = store.all()
        store.close()
    finally:
        configure({})
    assert "hunter2" not in kept.cause
    assert "AKIA" not in kept.failure


def test_a_clock_that_is_set_back_neither_expires_nor_raises_a_lesson():
    today = weight(LESSON, Track(), NOW)
    assert weight(LESSON, Track(), NOW - 10 * HALF_LIFE) == today
    assert weight(LESSON, Track(1, 1, NOW + HALF_LIFE), 0.0) >= today >= SHOWN_FROM


def test_several_workers_of_one_process_lose_nothing(store):
    found = []

    def work(number):
        for turn in range(5):
            store.add(replace(LESSON, id=f"{number}-{turn}"))
            store.record([Showing("shared", f"{number}-{turn}", True, NOW), Showing("shared", "same", True, NOW)])
            found.append(len(store.similar("a price was a float: make prices Decimal")))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(store.all()), len(found), store.problem) == (20, 20, "")
    assert store.tracks(["shared"])["shared"].shown == 21
