"""JavaScript and TypeScript as text: what is valid, what it comes to, and mistakes put into it."""

import pytest

from agents.languages.node import text
from agents.languages.node.grammars import JAVASCRIPT
from agents.languages.node.mutants import mutants_of
from agents.languages.node.tree import read_any
from agents.languages.symbols import parsed_within
from tests.tables import each_row


@pytest.mark.parametrize(
    ("path", "source", "said"),
    [
        ("a.js", "function f() {\n  return 1;\n", "a.js:2: SyntaxError: } is missing"),
        ("a.ts", "const a: string = 'b';\nlet b = = 1;\n", "a.ts:2: SyntaxError: unexpected '='"),
        ("a.jsx", "export const A = () => <p>hi;\n", "a.jsx:1: SyntaxError"),
        ("a.mjs", "def f():\n  return 1\n", "a.mjs:1: SyntaxError"),
    ],
)
def test_a_file_that_does_not_parse_is_told_with_its_line(path: str, source: str, said: str) -> None:
    assert text.syntax_error(path, source).startswith(said)
    assert text.compiles(source) is False or path.endswith(".jsx")


@each_row(
    ("path", "source"),
    [
        ("a.js", "export default async () => { for await (const x of y) z?.a ??= 1n; }\n"),
        ("a.js", "class A { static { b(); } #c = 1; has(d) { return #c in d; } }\n"),
        ("a.ts", "interface Box<in out T> { a: T }\n"),
        ("a.ts", "type A<T> = T extends (infer U extends string)[] ? U : never;\n"),
        ("a.ts", "function f<const T>(a: T) { using b = open(); return a satisfies T; }\n"),
        ("a.d.ts", "export default function (): void;\n"),
        ("a.tsx", "export const A = <T,>(p: { a: T }) => <b key={1}>{String(p.a)}</b>;\n"),
    ],
)
def test_nothing_is_said_of_valid_code_known_to_the_grammar_or_not(path: str, source: str) -> None:
    assert text.syntax_error(path, source) == ""
    assert text.compiles(source) is not False or path.endswith(".d.ts")


def test_texts_are_equal_but_for_comments_and_layout() -> None:
    assert text.normal("f( 1,2 ) // x\n") == text.normal("/* y */ f(1, 2);\n")
    assert text.normal("return\nx;") != text.normal("return x;")
    assert text.normal("f(`a b`)") != text.normal("f(`a  b`)")
    assert text.normal("function (") is None


def test_prose_after_code_is_cut_off_and_half_a_file_is_not() -> None:
    code = "function f() {\n  return 1;\n}\n"
    assert text.without_talk(f"{code}\nThis function returns one, as the test wants it.\n") == code
    assert text.without_talk(f"{code}\nNow the rest of the file follows here:\n\nfunction g( {{\n") is None
    assert text.without_talk(code) is None


def test_functions_that_were_there_are_emptied() -> None:
    old = "function f() {\n  return 1;\n}\nclass A {\n  m() { return 2; }\n}\n"
    new = old.replace("return 2", "return 3").replace("return 1;", "return 1; // same")
    assert text.changed_code(old, new) == "function f() {}\nclass A {\n  m() { return 3; }\n}\n"


SOURCE = """import { g } from "./g.js";
export function f(a: number, b = 2): number {
  if (a < b && !g(a, b)) {
    total += a;
  }
  return a + 1.5;
}
"""


def test_mutants_are_small_mistakes_on_the_lines_asked_for_that_parse() -> None:
    plain, found = mutants_of(SOURCE, seed=1, limit=50, lines=frozenset(range(1, 8)))
    assert plain == SOURCE
    lines = {(line, made.splitlines()[line - 1].strip()) for line, made in found}
    assert {
        (3, "if (a <= b && !g(a, b)) {"),
        (3, "if (a > b && !g(a, b)) {"),
        (3, "if (a < b || !g(a, b)) {"),
        (3, "if (a < b && g(a, b)) {"),
        (3, "if (!(a < b && !g(a, b))) {"),
        (3, "if (a < b && !g(b, a)) {"),
        (4, "total -= a;"),
        (4, ";"),
        (6, "return undefined;"),
        (6, "return a - 1.5;"),
        (2, "export function f(a: number, b = 3): number {"),
    } <= lines
    assert all(read_any(made) is not None for _, made in found)
    assert len({made for _, made in found}) == len(found)
    assert {line for line, _ in mutants_of(SOURCE, seed=1, limit=50, lines=frozenset({6}))[1]} == {6}
    assert mutants_of(SOURCE, seed=3, limit=4, lines=frozenset({3})) == mutants_of(
        SOURCE, seed=3, limit=4, lines=frozenset({3})
    )
    assert mutants_of("function (", seed=1, limit=4, lines=frozenset({1})) == ("function (", [])


def test_a_parser_is_stopped_when_it_searches_for_too_long_and_reads_long_texts_in_pieces() -> None:
    source = "const café = `a`;\n" * 5_000
    whole = parsed_within(source.encode(), JAVASCRIPT, 0)
    assert whole is not None
    assert (whole.has_error, whole.named_child_count, whole.end_byte) == (False, 5_000, len(source.encode()))
    assert parsed_within(source.encode(), JAVASCRIPT, -1) is None
