"""Where a question is answered: the files that are searched, a piece's vectors, and how places are chosen."""

from __future__ import annotations

from pathlib import Path

import pytest

from agents.context.index import Indexer
from agents.context.questions import OF_ONE_FILE, PLACES, chunks_of, find_places, texts_of
from agents.context.retrieval import WINDOW_CHARS, WINDOWS, Chunk
from agents.workspace.repository import GitBlob


class Files:
    """A repository of these files."""

    def __init__(self, texts: dict[str, str]) -> None:
        self._texts = texts

    def blobs(self, sha: str) -> dict[str, GitBlob]:
        return {path: GitBlob(path, len(text)) for path, text in self._texts.items()}

    def contents(self, hashes: list[str]) -> dict[str, bytes]:
        return {path: self._texts[path].encode() for path in hashes}


def chunks(tmp_path: Path, **texts: str) -> list[Chunk]:
    return chunks_of(
        Files({path.replace("__", "."): text for path, text in texts.items()}), "", tmp_path, "p", Indexer()
    )


@pytest.mark.parametrize("path", ["tox.ini", "pyproject.toml", ".github/workflows/ci.yml", "docs/conf.cfg"])
def test_settings_are_searched(tmp_path: Path, path: str) -> None:
    made = chunks_of(Files({path: "[lint]\nline_length = 120\n"}), "", tmp_path, "p", Indexer())
    assert [one.path for one in made] == [path]


def test_data_of_tests_that_looks_like_settings_is_not_searched(tmp_path: Path) -> None:
    assert chunks_of(Files({"tests/data/valid/a.toml": "[lint]\nlines = 1\n"}), "", tmp_path, "p", Indexer()) == []


def test_a_question_in_other_words_finds_the_code(tmp_path: Path) -> None:
    made = chunks(
        tmp_path, shop__py='def remove(row):\n    """Take it out."""\n\n\ndef weather(city):\n    return "rain"\n'
    )
    places, problem = find_places("Where does somebody delete something?", made)
    assert ([one.chunk.name for one in places], problem) == (["remove"], "")


def test_one_file_does_not_take_all_places(tmp_path: Path) -> None:
    many = "\n\n".join(f"def price_{name}(price):\n    return price * price" for name in "abcdefg")
    made = chunks(tmp_path, shop__py=many, other__py="def total(many):\n    return sum(price for price in many)\n")
    found = [one.chunk.path for one in find_places("price", made)[0]]
    assert (len(found), found.count("shop.py")) == (PLACES, OF_ONE_FILE)


def test_a_long_piece_has_several_vectors_and_a_test_one(tmp_path: Path) -> None:
    body = "\n".join(f"    print('a line that says something, number {number}')" for number in range(300))
    made = chunks(tmp_path, shop__py=f"def tell():\n{body}\n", test_shop__py=f"def test_tell():\n{body}\n")
    texts = texts_of(made)
    assert [text.split(".")[0] for text in texts] == ["shop tell"] * WINDOWS + ["test shop test tell"]
    assert max(map(len, texts)) < WINDOW_CHARS + 100
    assert "print a line that says something, number 1" in texts[0]
