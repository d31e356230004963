"""The index, the ranking and the map of a repository."""

from agents.context.index import Indexer
from agents.context.map import repository_map
from agents.context.ranking import ranked, words_of
from agents.languages.registry import grammar_of
from agents.languages.symbols import read_symbols
from agents.llm.tokens import count_tokens
from tests.agents.context.support import SHOP, commit, repository_of

SYMBOLS = {path: read_symbols(text.encode(), grammar_of(path)) for path, text in SHOP.items()}


def test_a_commit_costs_only_the_files_it_changed(tmp_path):
    repository, first = repository_of(tmp_path, SHOP)
    indexer = Indexer()
    assert indexer.index(repository, first).read == len(SHOP) + 1  # with the README
    assert indexer.index(repository, first).read == 0
    second = commit(repository, {"shop/weather.py": "def storm() -> bool:\n    return True\n"})
    after = indexer.index(repository, second)
    assert after.read == 1
    assert [each.name for each in after.symbols["shop/weather.py"].definitions] == ["storm"]


def test_what_the_own_file_builds_on_comes_before_what_it_has_nothing_to_do_with():
    order = [path for path, _ in ranked(SYMBOLS, own=["shop/basket.py"])]
    assert order.index("shop/money.py") < order.index("shop/weather.py")
    assert order[0] == "shop/basket.py"


def test_the_words_of_a_task_lift_the_file_that_defines_them():
    order = [path for path, _ in ranked(SYMBOLS, words=words_of("Show the forecast for a city"))]
    assert order[0] == "shop/weather.py"


def test_ranks_are_shares_of_one():
    assert abs(sum(rank for _, rank in ranked(SYMBOLS, words={"money"})) - 1) < 1e-6
    assert ranked({}) == []


def test_the_map_shows_signatures_and_is_the_same_to_the_byte():
    drawn = repository_map(SYMBOLS, ["shop/basket.py"], words_of("total of the basket"), without=["shop/basket.py"])
    assert "shop/money.py:\n  class Money\n" in drawn
    assert '    def plus(self, other: "Money") -> "Money"' in drawn
    assert "shop/basket.py" not in drawn
    turned = dict(reversed(SYMBOLS.items()))
    again = repository_map(turned, ["shop/basket.py"], words_of("total of the basket"), without=["shop/basket.py"])
    assert again == drawn


def test_a_method_whose_class_is_not_shown_names_it_and_stands_below_no_other():
    names = "".join(f"class C{n}:\n    def total_{n}(self): ...\n\n\n" for n in range(30))
    drawn = repository_map({"a.py": read_symbols(names.encode(), grammar_of("a.py"))}, words={"total_29"})
    assert "\n  C29: def total_29(self)" in drawn


def test_the_map_of_a_large_repository_keeps_to_its_tokens():
    many = {
        f"part{number:03}/module.py": read_symbols(
            "".join(f"def task_{number}_{each}(first: int, second: str) -> bool: ...\n" for each in range(30)).encode(),
            grammar_of("a.py"),
        )
        for number in range(120)
    }
    drawn = repository_map(many, words=words_of("task_77_3 must work"))
    assert 600 < count_tokens(drawn) <= 1_000
    assert "part077/module.py:" in drawn
    assert "def task_77_3(" in drawn


def test_long_files_leave_room_for_short_ones():
    long = {f"m{number}.py": "".join(f"def f{number}_{each}(a, b): ...\n" for each in range(40)) for number in range(9)}
    files = {**long, "till.py": "class Till: ...\n"}
    symbols = {path: read_symbols(text.encode(), grammar_of(path)) for path, text in files.items()}
    drawn = repository_map(symbols, (), {"f0_1"}, tokens=700)
    assert "till.py:\n  class Till" in drawn
