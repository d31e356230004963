"""Small mistakes in JavaScript and TypeScript, of the kinds that mutation testing uses: one change a mutant.

A mutant is the text with one place written otherwise; each parses.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from agents.languages.node.items import arguments
from agents.languages.node.tree import ScriptTree, field, read_any
from agents.languages.symbols import text_of

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_SITES = 4_000
_OPERATORS: dict[str, tuple[str, ...]] = {
    "<": ("<=", ">"),
    "<=": ("<", ">="),
    ">": (">=", "<"),
    ">=": (">", "<="),
    "===": ("!==",),
    "!==": ("===",),
    "==": ("!=",),
    "!=": ("==",),
    "+": ("-",),
    "-": ("+",),
    "*": ("/", "+"),
    "/": ("*",),
    "%": ("*",),
    "**": ("*",),
    "&": ("|",),
    "|": ("&",),
    "^": ("&",),
    "<<": (">>",),
    ">>": ("<<",),
    ">>>": ("<<",),
    "&&": ("||",),
    "||": ("&&",),
    "??": ("&&",),
    "+=": ("-=",),
    "-=": ("+=",),
    "*=": ("/=",),
    "/=": ("*=",),
    "++": ("--",),
    "--": ("++",),
}
# What only the compiler reads, and what loads: a mistake there changes nothing that a test could notice.
_LEFT_OUT = frozenset(
    (
        "type_annotation type_arguments type_parameters type_alias_declaration interface_declaration import_statement "
        "ambient_declaration function_signature decorator implements_clause"
    ).split()
)
_DROPPED = frozenset({"expression_statement", "if_statement"})
Change = tuple[int, int, str, int]  # start and end in bytes, what stands there instead, line


def mutants_of(source: str, *, seed: int, limit: int, lines: frozenset[int]) -> tuple[str, list[tuple[int, str]]]:
    """The text itself and up to `limit` mutants on these lines, each after its line; none for text without a tree."""
    script = read_any(source)
    if script is None:
        return source, []
    sites = [one for one in _sites(script) if one[3] in lines]
    random.Random(f"{seed}").shuffle(sites)  # noqa: S311 - a draw that can be repeated, no secret
    found: list[tuple[int, str]] = []
    seen = {source}
    for start, end, text, line in sites:
        if len(found) >= limit:
            break
        made = (script.content[:start] + text.encode() + script.content[end:]).decode("utf-8", "replace")
        if made not in seen and read_any(made) is not None:
            seen.add(made)
            found.append((line, made))
    return source, found


def _sites(script: ScriptTree) -> list[Change]:
    found: list[Change] = []
    waiting = [script.root]
    while waiting and len(found) < MAX_SITES:
        node = waiting.pop()
        if node.type in _LEFT_OUT:
            continue
        found += _changes(node)
        waiting.extend(reversed(node.named_children))
    return found


def _changes(node: Node) -> Iterator[Change]:
    if (changes := _BY_TYPE.get(node.type)) is not None:
        yield from changes(node)
    directive = bool(node.named_children) and node.named_children[0].type == "string"
    in_block = node.parent is not None and node.parent.type == "statement_block"
    if node.type in _DROPPED and in_block and not directive:
        yield _at(node, ";")


def _other_operators(node: Node) -> Iterator[Change]:
    operator = field(node, "operator")
    for other in _OPERATORS.get(operator.type, ()) if operator is not None else ():
        yield _at(operator or node, other)


def _without_not(node: Node) -> Iterator[Change]:
    argument = field(node, "argument")
    if text_of(field(node, "operator") or node) == "!" and argument is not None:
        yield _at(node, text_of(argument))


def _other_truth(node: Node) -> Iterator[Change]:
    yield _at(node, "false" if node.type == "true" else "true")


def _swapped(node: Node) -> Iterator[Change]:
    given = arguments(node)
    if len(given) > 1 and not any(one.type == "spread_element" for one in given[:2]):
        first, second = given[:2]
        between = (node.text or b"")[first.end_byte - node.start_byte : second.start_byte - node.start_byte]
        swapped = f"{text_of(second)}{between.decode('utf-8', 'replace')}{text_of(first)}"
        yield first.start_byte, second.end_byte, swapped, first.start_point[0] + 1


def _negated(node: Node) -> Iterator[Change]:
    condition = field(node, "condition")
    if condition is not None:
        bare = text_of(condition)
        yield _at(condition, f"(!{bare})" if bare.startswith("(") else f"!({bare})")


def _without_value(node: Node) -> Iterator[Change]:
    value = next(iter(node.named_children), None)
    if value is not None and value.type not in ("undefined", "null", "true", "false", "number", "string"):
        yield _at(value, "undefined")


def _numbers(node: Node) -> Iterator[Change]:
    text = text_of(node)
    if text.isdecimal() and (text == "0" or text[0] != "0") and len(text) < 10:
        yield _at(node, str(int(text) + 1))
        yield _at(node, f"({int(text) - 1})" if text == "0" else str(int(text) - 1))
    elif text.count(".") == 1 and text.replace(".", "").isdecimal() and text[0] != ".":
        whole, _, rest = text.partition(".")
        yield _at(node, f"{int(whole) + 1}.{rest}" if rest else f"{int(whole) + 1}")


def _at(node: Node, text: str) -> Change:
    return node.start_byte, node.end_byte, text, node.start_point[0] + 1


_BY_TYPE: dict[str, Callable[[Node], Iterator[Change]]] = {
    **dict.fromkeys(("binary_expression", "augmented_assignment_expression", "update_expression"), _other_operators),
    "unary_expression": _without_not,
    **dict.fromkeys(("true", "false"), _other_truth),
    "number": _numbers,
    "call_expression": _swapped,
    **dict.fromkeys(("if_statement", "while_statement", "ternary_expression"), _negated),
    "return_statement": _without_value,
}
