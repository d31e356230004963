"""JavaScript and TypeScript as text: whether it parses, and what of it is code.

The grammars lag behind the languages: what they do not know is told apart from what is wrong, and in doubt nothing is
said. Names that nothing defines are not looked for: which names are global is decided by the runner, by the page and
by types that lie in packages.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from agents.languages import talk
from agents.languages.node.grammars import JAVASCRIPT, TSX, grammar_of_script
from agents.languages.node.items import Item, body_of, items_of
from agents.languages.node.tree import FUNCTIONS, bare, field, read_any, shape
from agents.languages.symbols import MAX_BYTES, parsed_within, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

SEARCHED = 60  # steps after an error, in which the parser looks for what is meant
# Sound code that the grammars do not read: variance, constrained `infer`, `using`, import phases, accessors and
# signatures of calls without a semicolon before them.
_UNKNOWN = re.compile(
    r"[<,]\s*(?:const\s+)?(?:in|out)\s+(?:out\s+)?\w+|\binfer\s+\w+\s+extends\b|<\s*const\s+\w|\busing\s+\w"
    r"|\bimport\s+(?:defer|source)\b|\baccessor\s+[\w#]|\bas\s+(?:null|function|class|default)\b|\basserts\s+\w"
    r"|<<\w+\s+extends\b|(?m:^[ \t]*<[A-Z]\w*(?:\s+extends\b|(?:\s*,\s*\w+)*>\())"
    r"|\b(?:unique\s+symbol|abstract\s+new|export\s+=|import\s+type\s+\w+\s*=)|@@|/[^/\n]+/\w*v\w*\b|#\w+\s+in\b"
)
_TYPES = re.compile(r"[<>|&]|\b[A-Z]|\b(?:extends|is|keyof|infer|readonly|typeof)\b")  # what types are made of
_BRACKETS = frozenset("( ) [ ] { }".split())
_CODE = re.compile(
    r"(?:function|class|import|export|const|let|var|async|await|if|for|while|return|try|describe|it|test|module|exports"
    r"|interface|type|enum|throw|new|switch)\b(?!,)[^.]*[({;=]|[@})\];]|//|/\*"
)
_PROSE = re.compile(r"(?:[#>*-]+\s*|\d{1,2}[.)]\s+)?(?:[A-Z][\w'’]*|\*\*)[^=({;]{8,}|`{3,}|~{3,}|#{1,6}\s+[A-Z]")


def compiles(source: str) -> bool | None:
    """Is this JavaScript or TypeScript? None when the grammars may not know what it is written with."""
    if len(source.encode("utf-8", "replace")) > MAX_BYTES:
        return None
    if read_any(source) is not None:
        return True
    return None if _UNKNOWN.search(source) else False


def syntax_error(path: str, source: str) -> str:
    """Line and reason of a file that surely does not parse; "" for others."""
    content = source.encode("utf-8", "replace")
    if re.search(r"\.d\.[cm]?ts$", path) or len(content) > MAX_BYTES:
        return ""
    grammar = grammar_of_script(path)
    root = parsed_within(content, grammar, SEARCHED)
    if root is None or not root.has_error or _UNKNOWN.search(source):
        return ""
    other = parsed_within(content, TSX if grammar is JAVASCRIPT else JAVASCRIPT, SEARCHED)
    if other is not None and not other.has_error:
        return ""
    wrong = _first_error(root)
    line = wrong.start_point[0] + 1
    if wrong.is_missing and wrong.type not in _BRACKETS:
        return ""
    if wrong.is_missing:
        return f"{path}:{line}: SyntaxError: {wrong.type} is missing"
    words = " ".join(text_of(wrong).split())[:40]
    if grammar is not JAVASCRIPT and _TYPES.search(words):
        return ""
    return (
        f"{path}:{line}: SyntaxError: unexpected {words!r}"
        if words
        else f"{path}:{line}: SyntaxError: it is incomplete"
    )


def _first_error(node: Node) -> Node:
    while True:
        wrong = next((one for one in node.children if one.has_error or one.is_missing or one.type == "ERROR"), None)
        if wrong is None or wrong.type == "ERROR" or wrong.is_missing:
            return wrong or node
        node = wrong


def normal(source: str) -> str | None:
    """The text without comments and layout; None for one that does not parse."""
    script = read_any(source)
    return "\n".join(shape(script.root)) if script is not None else None


def without_talk(source: str) -> str | None:
    """Code without the prose that follows it; None when that is not what is wrong with it."""
    return talk.without_talk(source, compiles, _CODE, _PROSE)


def changed_code(old: str, new: str) -> str:
    """`new` with empty bodies for the functions that `old` has too, equal but for layout and at the same place."""
    was, now = read_any(old), read_any(new)
    if was is None or now is None:
        return new
    known = {(name, *shape(node)) for name, node in _functions(was.root, "")}
    out = now.content
    for name, node in sorted(_functions(now.root, ""), key=lambda one: one[1].start_byte, reverse=True):
        body = field(node, "body")
        if (name, *shape(node)) in known and body is not None and body.type == "statement_block":
            out = out[: body.start_byte] + b"{}" + out[body.end_byte :]
    return out.decode("utf-8", "replace")


def _functions(body: Node, inside: str) -> list[tuple[str, Node]]:
    """The functions of a program and of its classes, with their names."""
    found: list[tuple[str, Node]] = []
    for item in items_of(body):
        name = f"{inside}{item.names[0][0]}" if item.names else ""
        if name and (function := function_of(item)) is not None:
            found.append((name, function))
        elif name and (below := body_of(item.node)) is not None and below.type == "class_body":
            found += _functions(below, f"{name}.")
    return found


def function_of(item: Item) -> Node | None:
    """The function that an item declares, as a statement, a method or the value of a name; None for others."""
    if item.node.type in FUNCTIONS:
        return item.node
    parts = [one for one in item.node.named_children if one.type == "variable_declarator"]
    value = bare(field(parts[0], "value")) if len(parts) == 1 else bare(field(item.node, "value"))
    if value is None and item.node.type == "expression_statement" and item.node.named_children:
        value = bare(field(item.node.named_children[0], "right"))
    return value if value is not None and value.type in FUNCTIONS else None
