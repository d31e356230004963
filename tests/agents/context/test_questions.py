"""Where a question is answered: the files that are searched, a piece's vectors, and how places are chosen."""

from pathlib import Path

import pytest

from agents.context.index import Indexer
from agents.context.meaning import meaning_of
from agents.context.questions import OF_ONE_FILE, PLACES, chunks_of, find_places, texts_of
from agents.context.retrieval import WINDOW_CHARS, WINDOWS, Chunk
from agents.context.vectors import VectorStore
from agents.memory.embedders import Embedder
from agents.memory.folder import ChromaFolder
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
    body = "    total += price\n" * 100  # too long to become one place
    many = "\n\n".join(f"def price_{name}(price):\n{body}" for name in "abcdefg")
    made = chunks(tmp_path, shop__py=many, other__py="def total(many):\n    return sum(price for price in many)\n")
    found = [one.chunk.path for one in find_places("price", made)[0]]
    assert (len(found), found.count("shop.py")) == (PLACES, OF_ONE_FILE)


def test_finds_that_are_near_each_other_are_one_place_with_what_is_between_them(tmp_path: Path) -> None:
    shop = "def pay(price):\n    return price\n\n\nlimit = 100\n\n\ndef pay_back(price):\n    return -price\n"
    (place,) = find_places("Where is a price paid back?", chunks(tmp_path, shop__py=shop))[0]
    assert (place.chunk.piece.line, place.chunk.piece.end) == (1, 9)
    assert (place.chunk.name, "limit = 100" in place.chunk.text) == ("pay, pay_back", True)


def test_of_overloads_the_implementation_is_the_place(tmp_path: Path) -> None:
    body = "    total += 1\n" * 150
    stub = "@overload\ndef pay(price: int) -> int: ...\n"
    made = chunks(tmp_path, shop__py=f"{stub}{stub}def pay(price):\n{body}")
    (place,) = find_places("Where is a price paid?", made)[0]
    assert place.chunk.piece.line == 5


def test_the_likeliest_place_is_found_though_it_shares_no_word(tmp_path: Path) -> None:
    """In the order of words it comes after all others."""
    many = {f"shop{number}__py": f"def price{number}(price):\n    return price\n" for number in range(20)}
    made = chunks(tmp_path, **many, till__py="def refund(row):\n    return row\n")
    model = Embedder("m", lambda texts, seconds: [[0.1, "price" not in text or "?" in text] for text in texts])
    store = VectorStore(ChromaFolder(tmp_path / "chroma"), "p", model.label)
    assert meaning_of(store, model).learn(texts_of(made), 60.0) == (0, "")
    places, _ = find_places("Where does the price go back?", made, store=store, embedder=model)
    assert places[0].chunk.path == "till.py"


def test_a_long_piece_has_several_vectors_and_a_test_one(tmp_path: Path) -> None:
    body = "\n".join(f"    print('a line that says something, number {number}')" for number in range(300))
    made = chunks(tmp_path, shop__py=f"def tell():\n{body}\n", test_shop__py=f"def test_tell():\n{body}\n")
    texts = texts_of(made)
    assert [text.split(".")[0] for text in texts] == ["shop tell"] * WINDOWS + ["test shop test tell"]
    assert max(map(len, texts)) < WINDOW_CHARS + 100
    assert "print a line that says something, number 1" in texts[0]
