"""Code that fits a task."""

from agents.context.retrieval import CHUNK_CHARS, Chunk, bm25, pieces_of, retrieve
from agents.languages.registry import grammar_of
from agents.languages.symbols import read_symbols
from tests.agents.context.support import SHOP


def chunks(files):
    return [
        Chunk(path, piece)
        for path, text in sorted(files.items())
        for piece in pieces_of(text, read_symbols(text.encode(), grammar_of(path)))
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
    assert bm25({"xylophone": 1.0}, []) == []


def test_what_is_found_keeps_to_its_room():
    found = retrieve("money basket forecast city", chunks(SHOP), limit=2, chars=200)
    assert len(found) <= 2
    assert sum(len(chunk.text) for chunk in found) <= 200


def likes(**likeness):
    """A measure that finds pieces with these words in them that like, and others not at all."""

    def near(query, texts):
        return [max((like for word, like in likeness.items() if word in text), default=0.05) for text in texts]

    return near


def test_meaning_finds_what_shares_no_word():
    query = "climate tomorrow"
    assert retrieve(query, chunks(SHOP)) == []
    assert [chunk.name for chunk in retrieve(query, chunks(SHOP), near=likes(forecast=0.8))] == ["forecast"]


def test_what_two_orders_put_high_comes_before_what_one_does():
    query = "money basket sum city"
    assert retrieve(query, chunks(SHOP))[0].name != "forecast"
    both = retrieve(query, chunks(SHOP), near=likes(forecast=0.9))
    assert both[0].name == "forecast"
    assert {chunk.name for chunk in retrieve(query, chunks(SHOP))} <= {chunk.name for chunk in both}


def test_where_all_is_equally_far_meaning_adds_nothing():
    query = "Add up money in a basket"
    assert retrieve(query, chunks(SHOP), near=likes()) == retrieve(query, chunks(SHOP))


def test_pieces_without_a_vector_are_found_by_words():
    query = "Add up money in a basket"
    found = retrieve(query, chunks(SHOP), near=lambda query, texts: [None] * len(texts))
    assert found == retrieve(query, chunks(SHOP)) != []


def test_the_likeliest_by_words_are_asked_for_first():
    asked = []
    retrieve("forecast for a city", chunks(SHOP), near=lambda query, texts: asked.extend(texts) or [None] * len(texts))
    assert len(asked) == len(chunks(SHOP))
    assert asked[0].startswith("shop weather forecast. def forecast")
