"""What the tasks of a process draw on beside repositories."""

from agents.context.knowledge import Knowledge, knowledge_of
from agents.memory.embedders import Embedder, hashing
from agents.memory.folder import ChromaFolder

MODEL = Embedder("a model", lambda texts, seconds: [[1.0] for _ in texts])


def test_hashed_words_are_no_meaning(tmp_path):
    known = knowledge_of(tmp_path, ChromaFolder(tmp_path / "chroma"), "shop", hashing)
    assert known == Knowledge(tmp_path / "docs", None)


def test_the_tasks_of_a_project_share_one_and_those_of_others_do_not(tmp_path):
    folder = ChromaFolder(tmp_path / "chroma")
    first = knowledge_of(tmp_path, folder, "shop", MODEL)
    assert knowledge_of(tmp_path, folder, "shop", MODEL) is first
    assert first.meaning is not None
    assert first.meaning.model == "a model"
    assert knowledge_of(tmp_path, folder, "bank", MODEL) is not first
