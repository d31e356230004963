"""What a source file defines and what it mentions, read by tree-sitter: broken files are read as far as they go."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import PurePosixPath

import tree_sitter_javascript
import tree_sitter_python
import tree_sitter_typescript
from tree_sitter import Language, Node, Parser, Query, QueryCursor

MAX_BYTES = 400_000  # a longer file is generated, or data
MAX_DEFINITIONS = 2_000
SIGNATURE_CHARS = 160
_DEEPEST = 60  # enclosing nodes looked at; code that people read is far flatter

_LANGUAGES = {
    ".py": "python", ".pyi": "python",
    ".js": "javascript", ".mjs": "javascript", ".cjs": "javascript", ".jsx": "javascript",
    ".ts": "typescript", ".mts": "typescript", ".cts": "typescript", ".tsx": "tsx",
}  # fmt: skip

_PYTHON = """
(function_definition name: (identifier) @name) @function
(class_definition name: (identifier) @name) @class
(module (expression_statement (assignment left: (identifier) @name) @value))
(identifier) @mention
"""
_JAVASCRIPT = """
(function_declaration name: (identifier) @name) @function
(generator_function_declaration name: (identifier) @name) @function
(class_declaration name: (_) @name) @class
(method_definition name: (property_identifier) @name) @function
(program (lexical_declaration (variable_declarator name: (identifier) @name) @value))
(program (export_statement (lexical_declaration (variable_declarator name: (identifier) @name) @value)))
(identifier) @mention
(property_identifier) @mention
"""
_TYPESCRIPT = (
    _JAVASCRIPT
    + """
(interface_declaration name: (type_identifier) @name) @class
(type_alias_declaration name: (type_identifier) @name) @class
(enum_declaration name: (identifier) @name) @class
(type_identifier) @mention
"""
)
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


def language_of(path: str) -> str:
    """The language by the file's name; empty for what has no grammar here."""
    return _LANGUAGES.get(PurePosixPath(path).suffix, "")


@cache
def _tools(language: str) -> tuple[Language, Query]:
    grammar, words = {
        "python": (tree_sitter_python.language, _PYTHON),
        "javascript": (tree_sitter_javascript.language, _JAVASCRIPT),
        "typescript": (tree_sitter_typescript.language_typescript, _TYPESCRIPT),
        "tsx": (tree_sitter_typescript.language_tsx, _TYPESCRIPT),
    }[language]
    made = Language(grammar())
    return made, Query(made, words)


def read_symbols(content: bytes, language: str) -> Symbols:
    """Read a file; nothing for one that is too long or in no language known here. Never raises for its content."""
    if not language or len(content) > MAX_BYTES:
        return Symbols()
    grammar, query = _tools(language)
    root = Parser(grammar).parse(content).root_node
    mentions: Counter[str] = Counter()
    found: dict[tuple[int, str], Definition] = {}
    for _, captures in QueryCursor(query).matches(root):
        if "mention" in captures:
            mentions[_text(captures["mention"][0])] += 1
            continue
        if len(found) >= MAX_DEFINITIONS:
            continue
        kind = next(kind for kind in ("function", "class", "value") if kind in captures)
        made = _definition(captures[kind][0], _text(captures["name"][0]), kind)
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
            inside = _text(named) if named is not None else ""
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
        whole = whole[: body.start_byte - node.start_byte]
    words = " ".join(whole.decode("utf-8", "replace").split())
    words = words.removesuffix("{").rstrip().removesuffix(":")
    return words if len(words) <= SIGNATURE_CHARS else words[: SIGNATURE_CHARS - 1] + "…"


def _text(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "replace")
