"""Vectors in a real Chroma: kept by content with their places, one collection for each embedding."""

from pathlib import Path

import pytest

from agents.context.vectors import VectorStore, forget_projects, hash_of, unit
from agents.memory.folder import ChromaFolder, copied

PLACE = {"path": "shop.py", "symbol": "pay", "kind": "code", "language": "python", "line": 1, "end": 2, "commit": "c1"}


@pytest.fixture
def folder(tmp_path: Path) -> ChromaFolder:
    return ChromaFolder(tmp_path / "chroma")


@pytest.fixture
def store(folder: ChromaFolder) -> VectorStore:
    return VectorStore(folder, "shop", "m")


def kept(*numbers: float):
    vector = unit(numbers)
    assert vector is not None
    return vector


def rows_of(folder: ChromaFolder, name: str) -> dict:
    got = folder.client().get_collection(name, embedding_function=None).get(include=["metadatas"])
    return dict(zip(got["ids"], got["metadatas"], strict=True))


def test_what_was_kept_is_there_for_the_next_process(folder):
    VectorStore(folder, "shop", "m").put({"a": kept(3.0, 4.0)})
    folder.close()
    again = VectorStore(ChromaFolder(folder.path), "shop", "m")
    assert again.get(["a", "b"]) == {"a": kept(3.0, 4.0)}
    assert again.missing(["a", "b"]) == ["b"]


def test_the_same_text_has_another_vector_for_another_model():
    assert hash_of("one", "text") == hash_of("one", "text") != hash_of("two", "text")


@pytest.mark.parametrize("numbers", [[], [0.0, 0.0], [float("nan"), 1.0], [float("inf"), 1.0]])
def test_numbers_that_point_nowhere_are_no_vector(numbers):
    assert unit(numbers) is None


def test_a_row_says_where_its_text_is_and_goes_with_it(folder, store):
    store.put({"a": kept(1.0), "b": kept(1.0)})
    store.describe({"a": PLACE, "b": PLACE | {"symbol": "refund"}})
    assert rows_of(folder, "code.shop.m")["a"] == PLACE
    store.describe({"a": PLACE | {"line": 5, "end": 6, "commit": "c2"}})
    assert rows_of(folder, "code.shop.m") == {"a": PLACE | {"line": 5, "end": 6, "commit": "c2"}}


def test_the_same_text_at_the_same_place_keeps_the_commit_it_was_indexed_at(folder, store):
    store.put({"a": kept(1.0)})
    store.describe({"a": PLACE})
    store.describe({"a": PLACE | {"commit": "c2"}})
    assert rows_of(folder, "code.shop.m")["a"]["commit"] == "c1"


def test_what_tasks_asked_for_stays_when_the_index_is_renewed(store):
    store.put({"signature": kept(1.0)})
    store.describe({"a": PLACE})
    assert store.missing(["signature"]) == []


def test_the_nearest_come_first(store):
    store.put({"east": kept(1.0, 0.0), "north": kept(0.0, 1.0), "between": kept(2.0, 1.0)})
    assert list(store.nearest(kept(1.0, 0.1), 2)) == ["east", "between"]


def test_projects_and_embeddings_do_not_mix(folder):
    VectorStore(folder, "shop", "m").put({"a": kept(1.0, 0.0)})
    assert VectorStore(folder, "shop", "other").get(["a"]) == {}
    assert VectorStore(folder, "bank", "m").get(["a"]) == {}
    assert VectorStore(folder, "shop", "other").other_embedding() == "m"


def test_the_index_of_another_embedding_is_replaced_when_the_project_is_indexed(folder):
    VectorStore(folder, "shop", "m").put({"a": kept(1.0, 0.0)})
    VectorStore(folder, "shop", "other").describe({})
    assert VectorStore(folder, "shop", "other").other_embedding() == ""


def test_a_model_that_goes_by_a_known_name_begins_anew(folder, store):
    store.put({"a": kept(1.0, 0.0)})
    assert store.nearest(kept(1.0, 0.0, 0.0), 1) == {}
    store.put({"b": kept(1.0, 0.0, 0.0)})
    assert (store.missing(["a", "b"]), folder.problem) == (["a"], "")


def test_a_project_that_is_gone_is_forgotten(folder):
    VectorStore(folder, "shop", "m").put({"a": kept(1.0)})
    VectorStore(folder, "shop", "m").describe({"a": PLACE | {"symbol": "a_secret_name"}})
    VectorStore(folder, "bank", "m").put({"a": kept(1.0)})
    forget_projects(folder, ["shop"])
    assert b"a_secret_name" not in (folder.path / "chroma.sqlite3").read_bytes()
    assert VectorStore(folder, "shop", "m").missing(["a"]) == ["a"]
    assert VectorStore(folder, "bank", "m").missing(["a"]) == []


def test_many_names_are_asked_for_at_once(store):
    store.put({str(number): kept(1.0, float(number)) for number in range(1_200)})
    assert len(store.get(map(str, range(2_000)))) == 1_200


def test_a_process_that_does_not_own_the_memory_reads_a_copy(folder):
    VectorStore(folder, "shop", "m").put({"a": kept(1.0, 0.0), "b": kept(0.0, 1.0)})
    other = ChromaFolder(folder.path)
    assert VectorStore(other, "shop", "m").get(["a"]) == {}
    assert other.taken
    with copied(folder.path) as copy:
        assert list(VectorStore(copy, "shop", "m").nearest(kept(1.0, 0.1), 5)) == ["a", "b"]
    assert not copy.path.exists()


def test_a_place_that_cannot_be_written_keeps_nothing_and_breaks_nothing(tmp_path):
    (tmp_path / "file").write_text("not a folder")
    store = VectorStore(ChromaFolder(tmp_path / "file" / "chroma"), "shop", "m")
    store.put({"a": kept(1.0)})
    assert store.get(["a"]) == {}
    assert "cannot be used" in store.folder.problem
