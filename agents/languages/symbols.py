"""What a source file defines and what it mentions, read by tree-sitter: broken files are read as far as they go."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Language as TreeLanguage
    from tree_sitter import Node, Query

MAX_BYTES = 400_000  # a longer file is generated, or data
MAX_DEFINITIONS = 2_000
SEARCHED = 2_000  # steps in which a file with errors is made out; of 4,000 broken files the longest search took 406
SIGNATURE_CHARS = 160
PIECE = 65_536  # bytes that the parser is given at a time
_DEEPEST = 60  # enclosing nodes looked at; code that people read is far flatter

_FUNCTIONS = frozenset({"function_definition", "function_declaration", "method_definition", "arrow_function", "lambda"})
_CLASSES = frozenset({"class_definition", "class_declaration", "interface_declaration"})


@dataclass(frozen=True)
class Definition:
    """A function, class or value at the top of a file or in a class; lines count from 1."""

    name: str
    kind: str  # function, class, value
    line: int
    end: int
    signature: str
    inside: str = ""  # the class it belongs to

    @property
    def full_name(self) -> str:
        """With its class."""
        return f"{self.inside}.{self.name}" if self.inside else self.name


@dataclass(frozen=True)
class Symbols:
    """Of one file: definitions in their order, and how often each name is mentioned."""

    definitions: tuple[Definition, ...] = ()
    mentions: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, order=True)
class Grammar:
    """A tree-sitter grammar and the query for definitions and mentions: `package` is imported on first use.

    The query captures @name within @function, @class or @value, and @mention.
    """

    name: str
    package: str
    query: str
    function: str = "language"  # of the package, which returns the parser's table


@cache
def _tools(grammar: Grammar) -> tuple[TreeLanguage, Query]:
    import tree_sitter  # loaded for repositories alone: it and its tables are slow to start

    made = tree_sitter.Language(getattr(import_module(grammar.package), grammar.function)())
    return made, tree_sitter.Query(made, grammar.query)


def parsed_within(content: bytes, grammar: Grammar, steps: int) -> Node | None:
    """The root of the file's tree; None when more than `steps` were taken after the first error.

    A parser may search for hours how a long text that it cannot read could be meant. A step is a few dozen tokens.
    """
    import tree_sitter

    taken = 0

    def give_up(_: int, has_error: bool) -> bool:
        nonlocal taken
        taken += has_error
        return taken > steps

    try:
        parser = tree_sitter.Parser(_tools(grammar)[0])
        return parser.parse(lambda at, _: content[at : at + PIECE], progress_callback=give_up).root_node
    except ValueError:  # it was given up
        return None


def read_symbols(content: bytes, grammar: Grammar | None) -> Symbols:
    """Read a file; nothing for one that is too long, has no grammar or cannot be made out.

    Never raises for its content.
    """
    if grammar is None or len(content) > MAX_BYTES:
        return Symbols()
    from tree_sitter import QueryCursor

    root = parsed_within(content, grammar, SEARCHED)
    if root is None:
        return Symbols()
    mentions: Counter[str] = Counter()
    found: dict[tuple[int, str], Definition] = {}
    for _, captures in QueryCursor(_tools(grammar)[1]).matches(root):
        if "mention" in captures:
            mentions[text_of(captures["mention"][0])] += 1
            continue
        if len(found) >= MAX_DEFINITIONS:
            continue
        kind = next(kind for kind in ("function", "class", "value") if kind in captures)
        made = _definition(captures[kind][0], text_of(captures["name"][0]), kind)
        if made is not None:
            found[(made.line, made.name)] = made
    for definition in found.values():
        mentions[definition.name] -= 1  # its own name is no mention
    return Symbols(
        tuple(found[place] for place in sorted(found)),
        {name: count for name, count in sorted(mentions.items()) if count > 0},
    )


def _definition(node: Node, name: str, kind: str) -> Definition | None:
    inside = ""
    above = node.parent
    for _ in range(_DEEPEST):
        if above is None:
            break
        if above.type in _FUNCTIONS:
            return None  # a helper inside of a function is its own business
        if above.type in _CLASSES and not inside:
            named = above.child_by_field_name("name")
            inside = text_of(named) if named is not None else ""
        above = above.parent
    first = node
    if node.parent is not None and node.parent.type in ("decorated_definition", "export_statement"):
        first = node.parent
    if kind == "value":
        inside = ""
    return Definition(name, kind, first.start_point[0] + 1, node.end_point[0] + 1, _signature(node, kind), inside)


def _signature(node: Node, kind: str) -> str:
    """What stands before the body, on one line."""
    whole = node.text or b""
    body = node.child_by_field_name("body")
    if kind == "value":
        whole = whole.split(b"\n", 1)[0]
    elif body is not None:
        head = [each.end_byte for each in node.children if each.end_byte <= body.start_byte and each.type != "comment"]
        whole = whole[: max(head, default=body.start_byte) - node.start_byte]
    words = " ".join(whole.decode("utf-8", "replace").split())
    words = words.removesuffix("{").rstrip().removesuffix(":")
    return words if len(words) <= SIGNATURE_CHARS else words[: SIGNATURE_CHARS - 1] + "…"


def text_of(node: Node) -> str:
    """The source text of a node."""
    return (node.text or b"").decode("utf-8", "replace")
