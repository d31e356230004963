"""Vectors are kept by content, within bounds, and losing them loses nothing else."""

import pytest

from agents.context.vectors import VectorStore, hash_of, unit


@pytest.fixture
def place(tmp_path):
    return tmp_path / "vectors.sqlite3"


def test_what_was_kept_is_there_for_the_next_process(place):
    vector = unit([3.0, 4.0])
    VectorStore(place).put({"a": vector})
    assert VectorStore(place).get(["a", "b"]) == {"a": vector}
    assert [round(number, 6) for number in vector] == [0.6, 0.8]


def test_the_same_text_has_another_vector_for_another_model():
    assert hash_of("one", "text") == hash_of("one", "text") != hash_of("two", "text")


@pytest.mark.parametrize("numbers", [[], [0.0, 0.0], [float("nan"), 1.0], [float("inf"), 1.0]])
def test_numbers_that_point_nowhere_are_no_vector(numbers):
    assert unit(numbers) is None


def test_what_was_not_asked_for_longest_goes_first(place):
    day = [1]
    store = VectorStore(place, kept=10, today=lambda: day[0])
    store.put({f"old{number}": unit([1.0]) for number in range(5)})
    day[0] = 2
    assert len(store.get(["old0", "old1"])) == 2
    store.put({f"new{number}": unit([1.0]) for number in range(7)})
    names = [f"old{number}" for number in range(5)] + [f"new{number}" for number in range(7)]
    left = set(store.get(names))
    assert len(left) == 9
    assert {"old2", "old3", "old4"}.isdisjoint(left)
    assert {"old0", "old1"} <= left


def test_many_names_are_asked_for_at_once(place):
    store = VectorStore(place)
    store.put({str(number): unit([1.0, float(number)]) for number in range(1_200)})
    assert len(store.get(map(str, range(2_000)))) == 1_200


def test_a_broken_file_is_begun_anew(place):
    place.write_bytes(b"this is no database" * 500)
    store = VectorStore(place)
    assert store.get(["a"]) == {}
    store.put({"a": unit([1.0])})
    assert set(store.get(["a"])) == {"a"}


def test_a_place_that_cannot_be_written_keeps_nothing_and_breaks_nothing(tmp_path):
    (tmp_path / "file").write_text("not a folder")
    store = VectorStore(tmp_path / "file" / "vectors.sqlite3")
    store.put({"a": unit([1.0])})
    assert store.get(["a"]) == {}
