"""What the tasks of a process draw on beside repositories."""

from agents.context.knowledge import Knowledge, knowledge_at


def test_without_an_embedding_model_there_is_documentation_alone(tmp_path):
    assert knowledge_at(tmp_path, "http://127.0.0.1:9", "") == Knowledge(tmp_path / "docs", None)


def test_the_same_settings_share_one_and_others_do_not(tmp_path):
    first = knowledge_at(tmp_path, "http://127.0.0.1:9", "embedder")
    assert knowledge_at(tmp_path, "http://127.0.0.1:9", "embedder") is first
    assert first.meaning.model == "embedder"
    assert knowledge_at(tmp_path, "http://127.0.0.1:9", "another").meaning.model == "another"
