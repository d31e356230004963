"""Which names a script's imports bind, and where they come from."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agents.languages.node.items import arguments, items_of, loaded
from agents.languages.node.tree import field, string_value
from agents.languages.symbols import text_of

if TYPE_CHECKING:
    from tree_sitter import Node

SUFFIXES = (".js", ".mjs", ".cjs", ".jsx", ".ts", ".tsx", ".mts", ".cts")


@dataclass(frozen=True)
class Binding:
    """One name that an import binds; `name` is what it takes: "*" for all, "default", "" for a bare import.

    `style` is import or require; `listed` when it stands in braces, whose node `braces` is.
    """

    local: str
    module: str
    name: str
    style: str
    typing: bool
    braces: Node | None
    node: Node

    @property
    def source(self) -> tuple[str, str]:
        """What the name stands for: equal for two imports of the same thing."""
        return self.module.removeprefix("node:"), self.name


def bindings_of(root: Node) -> Iterator[Binding]:
    """What the imports at the top of a program bind, in their order."""
    for item in items_of(root):
        node = item.node
        if node.type == "import_statement":
            yield from _imported(node)
        elif item.sort == "import":
            for part in node.named_children:
                if part.type == "variable_declarator":
                    yield from _required(part, node)
        elif node.type == "expression_statement" and node.named_children:
            call = node.named_children[0]
            given = arguments(call) if call.type == "call_expression" else []
            module = string_value(given[0]) if len(given) == 1 else None
            if module is not None and text_of(field(call, "function") or call) == "require":
                yield Binding("", module, "", "require", False, None, node)


def _imported(node: Node) -> Iterator[Binding]:
    typing = any(child.type in ("type", "typeof") for child in node.children)
    source = field(node, "source")
    clause = next((child for child in node.named_children if child.type == "import_clause"), None)
    if source is None:  # import x = require("y")
        inner = next((child for child in node.named_children if child.type == "import_require_clause"), None)
        name, given = (inner.named_children[0] if inner else None), field(inner, "source")
        if name is not None:
            yield Binding(text_of(name), string_value(given) or "", "*", "require", typing, None, node)
        return
    module = string_value(source) or ""
    if clause is None:
        yield Binding("", module, "", "import", typing, None, node)
        return
    for part in clause.named_children:
        if part.type == "identifier":
            yield Binding(text_of(part), module, "default", "import", typing, None, node)
        elif part.type == "namespace_import":
            yield Binding(text_of(part.named_children[0]), module, "*", "import", typing, None, node)
        elif part.type == "named_imports":
            for one in part.named_children:
                name = field(one, "name")
                if one.type == "import_specifier" and name is not None:
                    local = field(one, "alias") or name
                    own = typing or any(child.type == "type" for child in one.children)
                    yield Binding(text_of(local), module, text_of(name), "import", own, part, node)


def _required(part: Node, node: Node) -> Iterator[Binding]:
    taken, name = loaded(field(part, "value")), field(part, "name")
    if taken is None or name is None:
        return
    module, attribute = taken
    if name.type == "identifier":
        yield Binding(text_of(name), module, attribute or "*", "require", False, None, node)
        return
    for one in name.named_children if name.type == "object_pattern" else ():
        key, value = field(one, "key"), field(one, "value")
        if one.type == "shorthand_property_identifier_pattern":
            yield Binding(text_of(one), module, text_of(one), "require", False, name, node)
        elif one.type == "pair_pattern" and key is not None and value is not None and value.type == "identifier":
            yield Binding(text_of(value), module, text_of(key), "require", False, name, node)


def is_own(module: str, path: str) -> bool:
    """True when a module's name in the file `path` means that file itself."""
    if not module.startswith("."):
        return False
    meant = posixpath.normpath(posixpath.join(posixpath.dirname(path), module))
    stem = next((path.removesuffix(one) for one in SUFFIXES if path.endswith(one)), path)
    return (
        meant in (path, stem) or next((meant.removesuffix(one) for one in SUFFIXES if meant.endswith(one)), "") == stem
    )


def line_of(one: Binding, newline: str, semicolon: str) -> str:
    """The import as a line of its own."""
    quoted = f'"{one.module}"'
    if one.style == "require":
        if not one.local:
            return f"require({quoted}){semicolon}{newline}"
        if one.braces is not None:
            taken = one.name if one.name == one.local else f"{one.name}: {one.local}"
            return f"const {{ {taken} }} = require({quoted}){semicolon}{newline}"
        rest = "" if one.name == "*" else f".{one.name}"
        return f"const {one.local} = require({quoted}){rest}{semicolon}{newline}"
    if not one.local:
        return f"import {quoted}{semicolon}{newline}"
    typing = "type " if one.typing else ""
    if one.braces is not None:
        return f"import {typing}{{ {specifier(one)} }} from {quoted}{semicolon}{newline}"
    what = f"* as {one.local}" if one.name == "*" else one.local
    return f"import {typing}{what} from {quoted}{semicolon}{newline}"


def specifier(one: Binding) -> str:
    """The name as it stands in the braces of an import or of a `require`."""
    word = ": " if one.style == "require" else " as "
    return one.name if one.name == one.local else f"{one.name}{word}{one.local}"
