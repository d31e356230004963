"""With an embedding model lessons are found by meaning; without its answer by words, and it says so."""

import pytest

from agents.llm.base import ModelUnavailable
from agents.memory.base import Lesson
from agents.memory.chroma import ChromaLessons
from agents.memory.embedders import embedder_of
from agents.memory.meaning import LessonMeaning, meaning_of
from tests.agents.llm.fake_servers import FakeModelServer

AXES = (("missing", "path", "file"), ("price", "total", "sum"))


class Model:
    """An embedding model that knows two subjects."""

    def __init__(self):
        self.there, self.asked = True, []

    def embed(self, texts):
        if not self.there:
            raise ModelUnavailable("no server")
        self.asked.append(list(texts))
        return [[float(any(word in text for word in axis)) + 0.01 for axis in AXES] for text in texts]


@pytest.fixture
def model():
    return Model()


@pytest.fixture
def store(tmp_path, model):
    made = ChromaLessons(tmp_path / "chroma", meaning=LessonMeaning("test/model:1", model.embed))
    yield made
    made.close()


def lesson(id, cause):
    return Lesson(id, f"s-{id}", cause, "see there", 1.0, "p", "T-01", "1")


def test_other_words_for_the_same_thing_are_found(store):
    store.add(lesson("a", "the path was wrong"))
    store.add(lesson("b", "the sum was wrong"))
    assert [(near.lesson.id, near.by) for near in store.similar("missing file")] == [("a", "meaning")]


def test_while_the_model_is_away_words_find_what_they_can_and_vectors_are_made_later(store, model):
    model.there = False
    store.add(lesson("a", "the path to reports was wrong"))
    assert store.similar("missing file") == []
    assert [near.by for near in store.similar("wrong path to reports: see there")] != []
    assert "does not answer" in store.hint
    model.there = True
    assert [near.lesson.id for near in store.similar("missing file")] == ["a"]
    assert store.hint == ""


def test_a_lesson_is_embedded_once(store, model):
    store.add(lesson("a", "the path was wrong"))
    store.similar("missing file")
    store.similar("another file")
    assert sum("the path was wrong" in text for texts in model.asked for text in texts) == 1


def test_a_model_server_gives_the_vectors_over_its_own_protocol(tmp_path):
    scenario = tmp_path / "scenario"
    scenario.mkdir()
    (scenario / "scenario.toml").write_text(
        'name = "t"\ntitle = "t"\ndescription = "d"\nmodel = "m"\nrecorded = true\n'
    )
    with FakeModelServer(scenario, tokens_per_s=0) as url:
        store = ChromaLessons(tmp_path / "chroma", meaning=meaning_of(embedder_of("embedder", url)))
        store.add(lesson("a", "the path was wrong"))
        assert [near.lesson.id for near in store.similar("the path was wrong\nsee there")] == ["a"]
        assert store.hint == ""
        store.close()


def test_a_server_that_is_not_there_costs_no_lesson(tmp_path):
    store = ChromaLessons(tmp_path / "chroma", meaning=meaning_of(embedder_of("embedder", "http://127.0.0.1:9")))
    store.add(lesson("a", "the path was wrong"))
    assert [near.lesson.id for near in store.similar("the path was wrong\nsee there")] == ["a"]
    assert "does not answer" in store.hint
    store.close()
