"""Lessons are found by signature, then by likeness; one process owns the directory."""

import math
import subprocess
import sys
from dataclasses import replace

from agents.memory.base import Lesson, Showing, Track
from agents.memory.chroma import ChromaLessons
from agents.memory.embedding import DIMENSIONS, embed


def lesson(number, signature="s1", cause="sqlite3 connection was used in another thread", reward=1.0):
    return Lesson(f"l{number}", signature, cause, "open a connection per request", reward, "chores", "T-02", "1")


def test_a_lesson_is_found_by_its_signature_best_reward_first(store):
    store.add(lesson(1, reward=0.5))
    store.add(lesson(2, reward=1.0))
    store.add(lesson(3, signature="s2"))
    assert [found.id for found in store.by_signature("s1")] == ["l2", "l1"]


def test_a_like_text_finds_it_and_an_unlike_one_does_not(store):
    store.add(lesson(1))
    near = store.similar("the sqlite3 connection was used in another thread: open a connection per request")
    assert [found.lesson.id for found in near] == ["l1"]
    assert store.similar("render a chart of monthly sales in the browser") == []


def test_adding_the_same_lesson_twice_keeps_one(store):
    for _ in range(2):
        store.add(lesson(1))
    assert len(store.by_signature("s1")) == 1


def test_an_empty_store_answers_with_nothing(store):
    assert store.similar("anything") == []
    assert store.by_signature("") == []


def test_another_process_is_kept_out_and_says_why(store, tmp_path):
    store.add(lesson(1))
    code = (
        "import sys; from pathlib import Path; from agents.memory.chroma import ChromaLessons;"
        "s = ChromaLessons(Path(sys.argv[1])); print(s.by_signature('s1'), s.problem)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path / "chroma")], capture_output=True, text=True)
    assert done.stdout.startswith("[] Another process owns the memory")


def test_lessons_outlive_the_process(tmp_path):
    first = ChromaLessons(tmp_path / "c")
    first.add(lesson(1))
    first.close()
    second = ChromaLessons(tmp_path / "c")
    assert [found.id for found in second.by_signature("s1")] == ["l1"]
    second.close()


def test_vectors_have_length_one_and_depend_on_words_alone():
    one, two, empty = embed(["def read_file(path)", "path read_file def", ""])
    assert math.isclose(math.dist(one, two), 0.0, abs_tol=1e-9)
    assert math.isclose(sum(v * v for v in one), 1.0)
    assert empty == [0.0] * DIMENSIONS


def test_rows_from_before_a_field_was_added_are_read(store, tmp_path):
    old = {name: value for name, value in lesson(1).to_json().items() if name not in ("failure", "topic", "learned_at")}
    store._open().upsert(ids=["l1"], documents=["x"], metadatas=[old], embeddings=embed(["x"]))
    store.close()
    again = ChromaLessons(tmp_path / "chroma")
    assert again.by_signature("s1") == [lesson(1)]
    again.close()


def test_what_a_project_taught_is_forgotten_in_the_files_too_and_nothing_else(store, tmp_path):
    kept = replace(lesson(2, cause="a price was rounded twice"), project="shop")
    store.add(replace(lesson(1), cause="zebra crossing", failure="zebra", topic="zebra"))
    store.add(kept)
    store.record([Showing(name, f"other/1/T-01/1/{n}", True, 1.0) for n, name in enumerate(("l1", "l2"))])
    store.forget(["chores", "elsewhere"])
    assert store.all() == [kept]
    assert store.tracks(["l1", "l2"]) == {"l2": Track(1, 1, 1.0)}
    assert [near.lesson.id for near in store.similar(kept.text)] == ["l2"]
    assert [
        path.name for path in (tmp_path / "chroma").rglob("*") if path.is_file() and b"zebra" in path.read_bytes()
    ] == []
    store.close()
    again = ChromaLessons(tmp_path / "chroma")
    assert again.all() == [kept]
    assert again.problem == ""
    again.close()
