"""Code that fits a task."""

from agents.context.retrieval import CHUNK_CHARS, Chunk, bm25, pieces_of, retrieve
from agents.context.symbols import language_of, read_symbols
from tests.agents.context.support import SHOP


def chunks(files):
    return [
        Chunk(path, piece)
        for path, text in sorted(files.items())
        for piece in pieces_of(text, read_symbols(text.encode(), language_of(path)))
    ]


def test_a_short_class_is_one_piece_and_a_function_another():
    assert [chunk.name for chunk in chunks({"a.py": SHOP["shop/basket.py"]})] == ["Basket", "sum_up"]


def test_a_long_class_comes_by_its_methods():
    long = "class Big:\n" + "".join(
        f"    def part_{number}(self):\n        return '{'x' * 400}'\n\n" for number in range(12)
    )
    assert len(long) > CHUNK_CHARS
    assert [chunk.name for chunk in chunks({"big.py": long})] == [f"Big.part_{number}" for number in range(12)]


def test_the_piece_that_shares_words_with_the_task_comes_first():
    best = retrieve("Add up money in a basket: the sum of its parts", chunks(SHOP))
    assert best[0].name == "sum_up"
    assert "forecast" not in [chunk.name for chunk in best]


def test_a_task_that_shares_no_word_gets_nothing():
    assert retrieve("xylophone", chunks(SHOP)) == []
    assert bm25("xylophone", []) == []


def test_what_is_found_keeps_to_its_room():
    found = retrieve("money basket forecast city", chunks(SHOP), limit=2, chars=200)
    assert len(found) <= 2
    assert sum(len(chunk.text) for chunk in found) <= 200


def test_an_embedder_can_turn_the_order_among_what_shares_words():
    def embed(texts):
        return [[1.0, 0.0] if number == 0 or "forecast" in text else [0.0, 1.0] for number, text in enumerate(texts)]

    query = "money basket sum city"
    assert retrieve(query, chunks(SHOP))[0].name != "forecast"
    assert retrieve(query, chunks(SHOP), embed=embed)[0].name == "forecast"
