"""JavaScript and TypeScript as trees: one door to the parser, and what its readers share."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agents.languages.node.grammars import JAVASCRIPT, TSX, TYPESCRIPT, grammar_of_script
from agents.languages.symbols import MAX_BYTES, Grammar, parsed_within, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

FUNCTIONS = frozenset(
    (
        "function_declaration generator_function_declaration function_expression generator_function arrow_function "
        "method_definition"
    ).split()
)
CALLBACKS = frozenset({"arrow_function", "function_expression", "generator_function"})
_WHOLE = frozenset({"string", "template_string", "regex", "number"})
CLASSES = frozenset({"class_declaration", "abstract_class_declaration", "class"})
_DOTTED = re.compile(r"[\w$#.]+")


@dataclass(frozen=True)
class ScriptTree:
    """A text that parses: its bytes and the root of its tree."""

    content: bytes
    root: Node

    def text(self, first: int, last: int) -> str:
        """The text between two offsets in bytes."""
        return self.content[first:last].decode("utf-8", "replace")

    @property
    def newline(self) -> str:
        """How the first line ends."""
        return "\r\n" if self.content.partition(b"\n")[0].endswith(b"\r") else "\n"


def read(path: str, source: str) -> ScriptTree | None:
    """The tree of a file by its suffix; None for text that does not parse, or that is too long."""
    return _read(source, grammar_of_script(path))


def read_any(source: str) -> ScriptTree | None:
    """The tree of a text whose suffix is not known: JavaScript, else TypeScript, else TSX; None when it is neither."""
    return next((found for one in (JAVASCRIPT, TYPESCRIPT, TSX) if (found := _read(source, one))), None)


def _read(source: str, grammar: Grammar) -> ScriptTree | None:
    content = source.encode("utf-8", "replace")
    if len(content) > MAX_BYTES:
        return None
    root = parsed_within(content, grammar, 0)
    return None if root is None or root.has_error else ScriptTree(content, root)


def walk(node: Node) -> Iterator[Node]:
    """A node and all named nodes below it, in the order of the text."""
    waiting = [node]
    while waiting:
        one = waiting.pop()
        yield one
        waiting.extend(reversed(one.named_children))


def field(node: Node | None, name: str) -> Node | None:
    """A child by its field; None without a node."""
    return node.child_by_field_name(name) if node is not None else None


def bare(node: Node | None) -> Node | None:
    """An expression without its parentheses."""
    while node is not None and node.type == "parenthesized_expression" and node.named_children:
        node = node.named_children[0]
    return node


def string_value(node: Node | None) -> str | None:
    """The value of a literal without substitutions, common escapes resolved; None for anything else."""
    if node is None or node.type not in ("string", "template_string"):
        return None
    parts = []
    for child in node.named_children:
        if child.type == "string_fragment":
            parts.append(text_of(child))
        elif child.type == "escape_sequence" and (meant := _unescaped(text_of(child))) is not None:
            parts.append(meant)
        else:
            return None
    return "".join(parts)


def _unescaped(escape: str) -> str | None:
    simple = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0", "\n": "", "\r\n": ""}
    rest = escape[1:]
    if rest in simple:
        return simple[rest]
    if len(rest) == 1:
        return rest
    try:
        if rest[0] in "xu":
            return chr(int(rest[1:].strip("{}"), 16))
    except (ValueError, OverflowError):
        pass
    return None


def dotted(node: Node | None) -> str:
    """`a.b.c` as written, without spaces; "" for an expression of another kind."""
    words = "".join(text_of(node).split()) if node is not None else ""
    return words if _DOTTED.fullmatch(words) else ""


def tokens(node: Node) -> Iterator[str]:
    """The words of a node without comments and layout; the text of strings, templates and JSX stays as it is."""
    waiting = [node]
    while waiting:
        one = waiting.pop()
        if one.type == "comment":
            continue
        if not one.children or one.type in _WHOLE:
            words = text_of(one)
            if one.type == "jsx_text":
                words = " ".join(words.split())
            if words:
                yield words
            continue
        waiting.extend(reversed(one.children))


def same(one: Node, other: Node) -> bool:
    """True for two nodes that differ in comments and layout alone."""
    return shape(one) == shape(other)


def shape(node: Node) -> list[str]:
    """A tree as words, without comments, semicolons and layout: equal for texts that mean the same."""
    found: list[str] = []
    waiting: list[Node | str] = [node]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            found.append(one)
        elif one.type == "comment" or (one.type == ";" and (one.parent is None or one.parent.type != "for_statement")):
            continue
        elif not one.children or one.type in _WHOLE:
            text = text_of(one)
            found.append(" ".join(text.split()) if one.type == "jsx_text" else text)
        else:
            found.append(f"({one.type}")
            waiting.append(")")
            waiting.extend(reversed(one.children))
    return found
