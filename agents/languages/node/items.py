"""The parts of a file, a class or a test suite: what each defines, imports or calls by name, and where it stands."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agents.languages.node.tree import CALLBACKS, CLASSES, FUNCTIONS, bare, dotted, field, string_value
from agents.languages.symbols import text_of

if TYPE_CHECKING:
    from tree_sitter import Node

SUITES = frozenset({"describe", "suite", "context"})
TESTS = frozenset({"it", "test", "specify"})
HOOKS = frozenset(
    "before after beforeEach afterEach beforeAll afterAll setup teardown suiteSetup suiteTeardown".split()
)
_VARIABLES = frozenset({"lexical_declaration", "variable_declaration"})
_KINDS = {
    "function_declaration": "function",
    "generator_function_declaration": "function",
    "function_signature": "function",
    "class_declaration": "class",
    "abstract_class_declaration": "class",
    "interface_declaration": "class",
    "enum_declaration": "class",
    "type_alias_declaration": "value",
    "internal_module": "class",
    "module": "class",
}
_MEMBERS = {
    "method_definition": "function",
    "method_signature": "function",
    "abstract_method_signature": "function",
    "field_definition": "value",
    "public_field_definition": "value",
    "property_signature": "value",
    "enum_assignment": "value",
}
_COMPOUND = frozenset(
    (
        "if_statement try_statement for_statement for_in_statement while_statement do_statement switch_statement "
        "statement_block labeled_statement"
    ).split()
)
_BODIES = frozenset({"class_body", "interface_body", "object_type", "enum_body", "statement_block"})
Name = tuple[str, str, str]  # name, kind, role


@dataclass(frozen=True)
class Item:
    """One statement or member; offsets in bytes, `start` with its decorators, `end` with its semicolon.

    `sort` is import, export (a list of names), definition or loose; `names` are what it defines.
    """

    node: Node  # the declaration itself, without `export`
    start: int
    end: int
    sort: str
    names: tuple[Name, ...] = ()

    @property
    def inner(self) -> tuple[int, int]:
        """Where the declaration itself stands, without `export`."""
        decorators = [child for child in self.node.children if child.type == "decorator"]
        return (decorators[0] if decorators else self.node).start_byte, self.node.end_byte


def items_of(body: Node, *, tests: bool = False) -> list[Item]:
    """The items of a program, of a class's body or of a block; with `tests` calls that make tests define them."""
    found: list[Item] = []
    decorator: Node | None = None
    for node in body.children:
        if node.type == "decorator" and body.type != "program":
            decorator = decorator or node
        elif node.type == ";" and found and found[-1].node.type in _MEMBERS:
            last = found[-1]
            found[-1] = Item(last.node, last.start, node.end_byte, last.sort, last.names)
        elif node.is_named and node.type not in ("comment", "hash_bang_line", "empty_statement"):
            found.append(_item(node, (decorator or node).start_byte, tests=tests))
            decorator = None
    return found


def _item(node: Node, start: int, *, tests: bool) -> Item:
    at = node
    if node.type == "export_statement":
        declared = field(node, "declaration")
        if declared is None and any(child.type == "default" for child in node.children):
            value = field(node, "value")
            if value is not None and value.type == "identifier":
                return Item(node, start, node.end_byte, "export")
            named = (_own_name(value) or "default", _value_kind(value), "")
            return Item(value or node, start, node.end_byte, "definition", (named,))
        if declared is None:
            return Item(node, start, node.end_byte, "export")
        at = declared
    if at.type == "ambient_declaration":
        inner = next((child for child in at.named_children if child.type in _KINDS or child.type in _VARIABLES), None)
        names = _names(inner, tests=False) if inner is not None else ()
        return Item(at, start, node.end_byte, "definition" if names else "loose", names)
    if at.type in ("import_statement", "import_alias") or (at.type in _VARIABLES and loads(at)):
        return Item(at, start, node.end_byte, "import")
    if is_export_list(at):
        return Item(at, start, node.end_byte, "export")
    names = _names(at, tests=tests)
    return Item(at, start, node.end_byte, "definition" if names else "loose", names)


def _names(node: Node, *, tests: bool) -> tuple[Name, ...]:
    name = field(node, "name")
    if node.type in _KINDS and name is not None:
        role = {"function_signature": "overload", "type_alias_declaration": "type"}.get(node.type, "")
        return ((text_of(name), _KINDS[node.type], role),)
    if node.type in _VARIABLES:
        return tuple(one for part in node.named_children for one in _declared(part))
    if node.type in _MEMBERS:
        return _member(node)
    if node.type == "property_identifier":  # a bare member of an enum
        return ((text_of(node), "value", ""),)
    if node.type == "class_static_block":
        return (("static", "value", "block"),)
    if node.type == "expression_statement" and node.named_children:
        inner = node.named_children[0]
        if inner.type in _KINDS:
            return _names(inner, tests=False)
        if inner.type == "assignment_expression":
            return _assigned(inner)
        if inner.type in ("call_expression", "await_expression"):
            return _called(inner, tests=tests)
    return ()


def _declared(declarator: Node) -> Iterator[Name]:
    name, value = field(declarator, "name"), bare(field(declarator, "value"))
    if name is None:
        return
    if name.type == "identifier":
        yield text_of(name), _value_kind(value), ""
    else:
        yield from ((one, "value", "") for one in pattern_names(name))


def pattern_names(pattern: Node) -> list[str]:
    """The names that a pattern binds."""
    if pattern.type in ("identifier", "shorthand_property_identifier_pattern"):
        return [text_of(pattern)]
    if pattern.type == "pair_pattern":
        value = field(pattern, "value")
        return pattern_names(value) if value is not None else []
    if pattern.type in ("assignment_pattern", "object_assignment_pattern"):
        left = field(pattern, "left")
        return pattern_names(left) if left is not None else []
    if pattern.type in ("object_pattern", "array_pattern", "rest_pattern"):
        return [name for part in pattern.named_children for name in pattern_names(part)]
    return []


def _value_kind(value: Node | None) -> str:
    if value is None:
        return "value"
    if value.type in FUNCTIONS:
        return "function"
    return "class" if value.type in CLASSES else "value"


def _own_name(value: Node | None) -> str:
    name = field(value, "name")
    return text_of(name) if name is not None else ""


def _member(node: Node) -> tuple[Name, ...]:
    name = field(node, "name") or field(node, "property")
    if name is None:
        return ()
    words = [child.type for child in node.children]
    role = "getter" if "get" in words else "setter" if "set" in words else "static" if "static" in words else ""
    if node.type in ("method_signature", "abstract_method_signature") and node.parent is not None:
        role = role or ("overload" if node.parent.type == "class_body" and node.type == "method_signature" else "")
    kind, value = _MEMBERS[node.type], bare(field(node, "value"))
    if kind == "value" and value is not None and value.type in FUNCTIONS:
        kind = "function"
    return ((text_of(name).strip("\"'"), kind, role),)


def _assigned(node: Node) -> tuple[Name, ...]:
    """`exports.x = …`, `Cart.prototype.add = …`, `module.exports = …`: what takes part in the file's interface."""
    left, value = field(node, "left"), bare(field(node, "right"))
    while value is not None and value.type == "assignment_expression":
        value = bare(field(value, "right"))
    target = dotted(left)
    if left is None or left.type != "member_expression" or not target:
        return ()
    name = re.sub(r"^(?:module\.)?exports\.(?=.)", "", target).replace(".prototype.", ".")
    if value is not None and value.type in FUNCTIONS | CLASSES:
        own = _own_name(value)
        return ((own if target == "module.exports" and own else name, _value_kind(value), ""),)
    return ((name, "value", ""),)


def _called(node: Node, *, tests: bool) -> tuple[Name, ...]:
    call = bare(node.named_children[0]) if node.type == "await_expression" and node.named_children else node
    if call is None or call.type != "call_expression":
        return ()
    if tests and (made := test_call(call)):
        return ((made.title if made.title is not None else made.word, made.kind, ""),)
    first = call
    while (above := field(field(first, "function"), "object")) is not None and above.type == "call_expression":
        first = above
    target, given = dotted(field(first, "function")), arguments(first)
    title = string_value(given[0]) if given else None
    handled = [one for one in arguments(call) if one.type != "string"]
    if "." not in target or not title or not handled or not any(_handles(one) for one in handled):
        return ()
    return ((f"{target} {title}", "value", ""),)


def _handles(node: Node) -> bool:
    return node.type in CALLBACKS or node.type in ("identifier", "member_expression")


def arguments(call: Node) -> list[Node]:
    """The arguments of a call."""
    given = field(call, "arguments")
    if given is None or given.type != "arguments":
        return []
    return [child for child in given.named_children if child.type != "comment"]


@dataclass(frozen=True)
class TestCall:
    """A call that makes a test, a suite or a hook; `title` is None where it is not written out.

    `marks` are words such as only, skip and each; `body` is the block of its function.
    """

    word: str
    kind: str  # test, suite, hook
    title: str | None
    marks: frozenset[str]
    body: Node | None


def test_call(call: Node) -> TestCall | None:
    """What a call makes for the test runner; None for any other call."""
    function, marks = field(call, "function"), set[str]()
    if function is not None and function.type == "call_expression":  # test.each(rows)("title", …)
        function = field(function, "function")
        marks.add("each")
    word, _, rest = dotted(function).partition(".")
    marks |= set(rest.split(".")) if rest else set()
    if word == "test" and marks & {*SUITES, *HOOKS}:  # test.describe, test.beforeEach
        word = next(one for one in rest.split(".") if one in SUITES or one in HOOKS)
    kind = "suite" if word in SUITES else "test" if word in TESTS else "hook" if word in HOOKS else ""
    given = arguments(call)
    if not kind or (kind != "hook" and not given):
        return None
    if kind != "hook" and marks - _MARKS:
        return None
    title = None if kind == "hook" else string_value(given[0])
    callback = next((one for one in given if one.type in CALLBACKS), None)
    body = field(callback, "body")
    return TestCall(word, kind, title, frozenset(marks), body if body and body.type == "statement_block" else None)


_MARKS = frozenset("only skip todo each concurrent sequential failing fails skipIf runIf shuffle for".split()) | SUITES


def call_of(item: Item) -> Node | None:
    """The call that a statement consists of; None for another statement."""
    if item.node.type != "expression_statement" or not item.node.named_children:
        return None
    inner = item.node.named_children[0]
    if inner.type == "await_expression" and inner.named_children:
        inner = inner.named_children[0]
    return inner if inner.type == "call_expression" else None


def loads(node: Node) -> bool:
    """True for variables that stand for modules: `const fs = require("fs")`, `const { a } = await import("./a.js")`."""
    parts = [child for child in node.named_children if child.type == "variable_declarator"]
    return bool(parts) and all(loaded(field(part, "value")) is not None for part in parts)


def loaded(value: Node | None) -> tuple[str, str] | None:
    """The module that an expression loads by `require` or `import()`, and what it takes from it ("" for all)."""
    taken: list[str] = []
    value = bare(value)
    while value is not None and value.type == "member_expression":
        taken.insert(0, text_of(field(value, "property") or value))
        value = bare(field(value, "object"))
    if value is not None and value.type == "await_expression":
        value = bare(value.named_children[0])
    function = field(value, "function")
    if value is None or value.type != "call_expression" or function is None:
        return None
    given = arguments(value)
    module = string_value(given[0]) if len(given) == 1 else None
    if module is None or text_of(function) not in ("require", "import"):
        return None
    return module, ".".join(taken)


def is_export_list(node: Node) -> bool:
    """`module.exports = { a, b }`, `module.exports = a` or `exports.a = a`: names that are defined elsewhere."""
    inner = node.named_children[0] if node.type == "expression_statement" and node.named_children else None
    if inner is None or inner.type != "assignment_expression":
        return False
    target, value = dotted(field(inner, "left")), bare(field(inner, "right"))
    if not re.fullmatch(r"(?:module\.)?exports(?:\.[\w$]+)?", target) or value is None:
        return False
    return value.type == "identifier" or (target == "module.exports" and value.type == "object")


def body_of(node: Node) -> Node | None:
    """The members of a class, an interface, an enum, a namespace, or of a value that is a class or an object."""
    if node.type in _VARIABLES:
        parts = [child for child in node.named_children if child.type == "variable_declarator"]
        node = bare(field(parts[0], "value")) or node if len(parts) == 1 else node
    if node.type == "expression_statement" and node.named_children:
        inner = node.named_children[0]
        node = bare(field(inner, "right")) or node if inner.type == "assignment_expression" else inner
    if node.type in ("as_expression", "satisfies_expression") and node.named_children:
        node = node.named_children[0]
    if node.type == "object":
        return node
    if node.type == "call_expression" and text_of(field(node, "function") or node) == "Object.freeze":
        return next((one for one in arguments(node) if one.type == "object"), None)
    body = field(node, "body")
    return body if body is not None and body.type in _BODIES and node.type not in FUNCTIONS else None


def object_functions(node: Node) -> list[tuple[str, Node]]:
    """The functions that an object literal holds, with their names."""
    found = []
    for child in node.named_children:
        if child.type == "method_definition":
            found.append((text_of(field(child, "name") or child), child))
        elif child.type == "pair":
            value, key = bare(field(child, "value")), field(child, "key")
            if value is not None and key is not None and value.type in FUNCTIONS:
                found.append((text_of(key).strip("\"'"), child))
    return found


def is_compound(node: Node) -> bool:
    """True for statements whose blocks may define names under a condition."""
    return node.type in _COMPOUND


def blocks_of(node: Node) -> Iterator[Node]:
    """The blocks of a compound statement, the innermost last."""
    if node.type == "statement_block":
        yield node
    for child in node.named_children:
        if child.type in _COMPOUND or child.type in ("else_clause", "catch_clause", "finally_clause", "switch_body"):
            yield from blocks_of(child)


def below_names(node: Node) -> set[str]:
    """Names that a compound statement defines in its blocks."""
    found: set[str] = set()
    for block in blocks_of(node):
        for item in items_of(block):
            found |= {name for name, _, _ in item.names}
    return found


def names_in(items: Sequence[Item]) -> set[str]:
    """All names that these items define."""
    return {name for item in items for name, _, _ in item.names}
