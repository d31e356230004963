"""The benchmark of questions: what counts as answered, and the ways to search side by side."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agents.memory.embedders import hashing
from measure.__main__ import main
from measure.corpora.questions.check import BadQuestions, measure, read_questions

QUESTIONS = """
package = "shop"
version = "1.0"

[[questions]]
question = "How is money paid back to a customer?"
path = "shop/money.py"
lines = [1, 3]

[[questions]]
question = "Where is the weather told?"
path = "shop/weather.py"
lines = "5-6"
"""


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    folder = tmp_path / "sources" / "shop" / "shop"
    folder.mkdir(parents=True)
    (folder / "money.py").write_text('def refund(customer):\n    """Pay money back."""\n    return customer.last()\n')
    (folder / "weather.py").write_text('def forecast():\n    """Tell the weather."""\n    return "rain"\n\n\nx = 1\n')
    (tmp_path / "shop.toml").write_text(QUESTIONS)
    return tmp_path


def run(sources: Path, *words: str) -> int:
    questions = str(sources / "shop.toml")
    return main(["questions", "--repositories", str(sources / "sources"), "--questions", questions, *words])


def test_lines_are_read_as_a_pair_or_as_words(sources: Path) -> None:
    assert [one.lines for one in read_questions([sources / "shop.toml"])] == [(1, 3), (5, 6)]


@pytest.mark.slow
def test_the_ways_are_compared_side_by_side(sources: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(sources, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["questions"] == 2
    assert found["hit@5"]["words (BM25)"] == found["hit@5"]["words and hashing"] == 0.5


@pytest.mark.slow
def test_the_table_counts_each_package(sources: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(sources) == 0
    head, words, *_ = capsys.readouterr().out.splitlines()
    assert (head.split()[-2:], words.split()[-4:]) == (["shop", "(2)"], ["50", "%", "1", "1"])


@pytest.mark.parametrize("text", ["", "[[questions]]\npackage = 'shop'\n", "not toml ["])
def test_a_file_without_questions_says_what_is_wrong(tmp_path: Path, text: str) -> None:
    (tmp_path / "bad.toml").write_text(text)
    with pytest.raises(BadQuestions, match=r"bad\.toml"):
        read_questions([tmp_path / "bad.toml"])


def test_a_package_without_sources_is_named(sources: Path) -> None:
    with pytest.raises(BadQuestions, match="sources of shop"):
        measure(read_questions([sources / "shop.toml"]), sources / "elsewhere")


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without MiniLM the default is hashed words."""
    monkeypatch.setattr("measure.corpora.questions.check.embedder_of", lambda name, url: hashing)


@pytest.mark.usefixtures("alone")
def test_prompts_are_written_without_the_answer_and_replies_to_them_are_measured(
    sources: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(sources, "--prompts", str(tmp_path / "prompts")) == 0
    assert "2 prompts" in capsys.readouterr().out
    prompt = (tmp_path / "prompts" / "shop" / "02.txt").read_text()
    assert "Where is the weather told?" in prompt
    numbers = [line.split("]")[0].strip("[") for line in prompt.split("\n") if "shop/weather.py:5-6" in line]
    (tmp_path / "replies" / "shop").mkdir(parents=True)
    (tmp_path / "replies" / "shop" / "02.txt").write_text(json.dumps({"best": [int(one) for one in numbers]}))
    assert run(sources, "--replies", str(tmp_path / "replies"), "--json") == 0
    hits = json.loads(capsys.readouterr().out)["hit@5"]
    assert hits["ordered by the replies"] == hits["among the first 60"]


@pytest.mark.usefixtures("alone")
def test_vectors_are_kept_for_the_next_measurement(sources: Path, tmp_path: Path) -> None:
    assert run(sources, "--deep", "--vectors", str(tmp_path / "vectors")) == 0
    assert [one.name for one in (tmp_path / "vectors").iterdir()] == [hashing.label]
