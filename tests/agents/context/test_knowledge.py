"""What a process may draw on beside repositories is said once and kept."""

import pytest

from agents.context import knowledge


@pytest.fixture(autouse=True)
def as_before(monkeypatch):
    monkeypatch.setattr(knowledge, "_current", knowledge.current())
    monkeypatch.setattr(knowledge, "_from", ("", "", ""))


def test_without_an_embedding_model_there_is_documentation_alone(tmp_path):
    knowledge.use(tmp_path, "http://127.0.0.1:9", "")
    assert knowledge.current() == knowledge.Knowledge(tmp_path / "docs", None)


def test_the_same_words_change_nothing_and_others_do(tmp_path):
    knowledge.use(tmp_path, "http://127.0.0.1:9", "embedder")
    first = knowledge.current()
    knowledge.use(tmp_path, "http://127.0.0.1:9", "embedder")
    assert knowledge.current() is first
    assert first.meaning.model == "embedder"
    knowledge.use(tmp_path, "http://127.0.0.1:9", "another")
    assert knowledge.current().meaning.model == "another"
