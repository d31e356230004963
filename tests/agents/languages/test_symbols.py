"""What a file defines and mentions."""

from hypothesis import given
from hypothesis import strategies as st

from agents.languages.registry import grammar_of
from agents.languages.symbols import MAX_BYTES, read_symbols
from tests.agents.context.support import SHOP


def read(path):
    return read_symbols(SHOP[path].encode(), grammar_of(path))


def test_classes_methods_and_functions_are_found_with_their_lines_and_signatures():
    found = [(each.full_name, each.line, each.end, each.signature) for each in read("shop/basket.py").definitions]
    assert found == [
        ("Basket", 4, 6, "class Basket"),
        ("Basket.total", 5, 6, "def total(self) -> Money"),
        ("sum_up", 9, 13, "def sum_up(parts: list[Money]) -> Money"),
    ]


def test_a_definition_is_no_mention_of_itself_and_a_use_is():
    mentions = read("shop/basket.py").mentions
    assert mentions["sum_up"] == 1
    assert "Basket" not in mentions
    assert mentions["Money"] > 3


def test_typescript_is_read_too():
    found = [(each.name, each.kind) for each in read("web/cart.ts").definitions]
    assert found == [("Line", "class"), ("rate", "value"), ("showBasket", "function")]


def test_a_decorated_function_begins_at_its_decorator():
    (found,) = read_symbols(b"@cache\ndef f(): ...\n", grammar_of("a.py")).definitions
    assert (found.line, found.end) == (1, 2)


def test_a_comment_before_the_body_is_no_part_of_the_signature():
    (found,) = read_symbols(b"def f(a):  # doubled\n    # for ever\n    return 2 * a\n", grammar_of("a.py")).definitions
    assert found.signature == "def f(a)"


def test_a_broken_file_is_read_as_far_as_it_goes():
    names = [each.name for each in read_symbols(b"def good(): ...\n\ndef bad(:\n", grammar_of("a.py")).definitions]
    assert "good" in names


def test_files_without_a_grammar_and_endless_ones_are_left_alone():
    assert not read_symbols(b"def f(): ...", grammar_of("notes.md")).definitions
    assert not read_symbols(b"def f(): ...\n" + b"#" * MAX_BYTES, grammar_of("a.py")).definitions


@given(st.binary(max_size=300), st.sampled_from(["a.py", "a.js", "a.ts", "a.tsx"]))
def test_any_bytes_can_be_read(content, path):
    lines = content.count(b"\n") + content.count(b"\r") + 1
    for each in read_symbols(content, grammar_of(path)).definitions:
        assert 1 <= each.line <= each.end <= lines + 1


def test_a_file_that_the_parser_would_search_for_hours_is_left_out(monkeypatch) -> None:
    broken = b"def one():\n    pass\n" + b")) ((\n" * 40
    assert [one.name for one in read_symbols(broken, grammar_of("a.py")).definitions] == ["one"]
    monkeypatch.setattr("agents.languages.symbols.SEARCHED", -1)  # as if it had searched for long
    assert read_symbols(broken, grammar_of("a.py")).definitions == ()
