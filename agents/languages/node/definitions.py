"""What a script defines at its top, in its classes and in its test suites; what it hands on and what it borrows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from agents.languages.definitions import DefinitionSpan
from agents.languages.node.bindings import bindings_of
from agents.languages.node.items import (
    below_names,
    blocks_of,
    body_of,
    call_of,
    is_compound,
    is_export_list,
    items_of,
    object_functions,
    pattern_names,
    test_call,
)
from agents.languages.node.test_files import is_test
from agents.languages.node.tree import ScriptTree, bare, dotted, field, read, read_any, walk
from agents.languages.symbols import text_of

if TYPE_CHECKING:
    from tree_sitter import Node

Found = tuple[str, str, str, int, int, bool]  # name, kind, role, first and last line, conditional
_PARAMETERS = frozenset({"formal_parameters", "required_parameter", "optional_parameter"})
_DECLARED = frozenset(
    (
        "function_declaration generator_function_declaration function_expression generator_function class "
        "class_declaration abstract_class_declaration interface_declaration enum_declaration type_alias_declaration "
        "function_signature type_parameter internal_module"
    ).split()
)


def definitions_of(path: str, source: str) -> list[DefinitionSpan] | None:
    """Definitions in order of line, in test files their tests and hooks too; None for text that does not parse."""
    script = read(path, source)
    if script is None:
        return None
    counts: Counter[tuple[str, str, str]] = Counter()
    found = []
    for name, kind, role, first, last, conditional in _walk(script, script.root, "", False, tests=is_test(path)):
        found.append(DefinitionSpan(name, kind, role, counts[name, kind, role], first, last, conditional))
        counts[name, kind, role] += 1
    return found


def _walk(script: ScriptTree, body: Node, above: str, conditional: bool, *, tests: bool) -> Iterator[Found]:
    for item in items_of(body, tests=tests):
        first, last = _lines(script, item.start, item.end)
        call = call_of(item) if tests else None
        made = test_call(call) if call is not None else None
        if made is not None:
            name = f"{above}{made.title if made.title is not None else made.word}"
            if made.kind != "suite":
                yield name, "test" if made.kind == "test" else "value", "", first, last, conditional
            elif made.body is not None:
                yield from _walk(script, made.body, f"{name} > ", conditional, tests=True)
            continue
        for name, kind, role in item.names:
            yield f"{above}{name}", kind, role, first, last, conditional
        if item.names and (inside := body_of(item.node)) is not None:
            yield from _members(script, inside, f"{above}{item.names[0][0]}.", conditional)
        if item.sort == "export" and (given := _exported_object(item.node)) is not None:
            yield from _members(script, given, above, conditional)
        if item.sort == "loose" and is_compound(item.node):
            for block in blocks_of(item.node):
                yield from _walk(script, block, above, True, tests=tests)


def _members(script: ScriptTree, body: Node, above: str, conditional: bool) -> Iterator[Found]:
    if body.type == "object":
        for name, node in object_functions(body):
            yield f"{above}{name}", "function", "", *_lines(script, node.start_byte, node.end_byte), conditional
        return
    yield from _walk(script, body, above, conditional, tests=False)


def _lines(script: ScriptTree, first: int, last: int) -> tuple[int, int]:
    """The lines of a part, from 1."""
    return script.content.count(b"\n", 0, first) + 1, script.content.count(b"\n", 0, last) + 1


def _exported_object(node: Node) -> Node | None:
    """The object of `module.exports = { … }`."""
    if not is_export_list(node):
        return None
    value = bare(field(node.named_children[0], "right"))
    return value if value is not None and value.type == "object" else None


def imported_names(source: str) -> set[str]:
    """Names that the file's imports bind at its top, and those it hands on by `export … from`."""
    script = read_any(source)
    if script is None:
        return set()
    names = {one.local for one in bindings_of(script.root) if one.local}
    return names | {
        name
        for node in script.root.named_children
        if node.type == "export_statement" and field(node, "source") is not None
        for name in _listed(node)
    }


def exported_names(source: str) -> set[str]:
    """What the file exports by name, whichever way it is written; "default" for what has none."""
    script = read_any(source)
    return exports_of(script.root) if script is not None else set()


def exports_of(root: Node) -> set[str]:
    """The names that a program exports."""
    found: set[str] = set()
    for node in root.named_children:
        if node.type == "export_statement":
            declared = field(node, "declaration")
            if any(child.type == "default" for child in node.children):
                found.add("default")
            elif declared is not None:
                found |= {name for item in items_of(root) if item.end == node.end_byte for name, _, _ in item.names}
            else:
                found |= set(_listed(node))
        elif node.type == "expression_statement" and node.named_children:
            found |= _assigned_exports(node.named_children[0])
    return found


def _listed(node: Node) -> Iterator[str]:
    for clause in node.named_children:
        if clause.type == "export_clause":
            for one in clause.named_children:
                name = field(one, "alias") or field(one, "name")
                if name is not None:
                    yield text_of(name)
        elif clause.type == "namespace_export" and clause.named_children:
            yield text_of(clause.named_children[0])


def _assigned_exports(node: Node) -> set[str]:
    """Names in `module.exports = { a, b: c }` and `exports.a = …`."""
    if node.type != "assignment_expression":
        return set()
    target, value = dotted(field(node, "left")), bare(field(node, "right"))
    found: set[str] = set()
    if target.startswith(("exports.", "module.exports.")):
        found.add(target.rpartition(".")[2])
    if target in ("module.exports", "exports") and value is not None and value.type == "object":
        found |= set(object_keys(value))
    if value is not None and value.type == "assignment_expression":
        found |= _assigned_exports(value)
    return found


def object_keys(node: Node) -> list[str]:
    """The names of an object literal's members, as far as they are written out."""
    keys = []
    for child in node.named_children:
        name = field(child, "key") or field(child, "name")
        if child.type == "shorthand_property_identifier":
            keys.append(text_of(child))
        elif name is not None and name.type in ("property_identifier", "string"):
            keys.append(text_of(name).strip("\"'"))
    return keys


def borrows(old: str, part: str) -> bool:
    """True when `part` uses names that it neither defines nor imports, and `old` does: it is no file of its own."""
    was, new = read_any(old), read_any(part)
    if was is None or new is None:
        return False
    return bool((used_names(new.root) - bound_names(new.root)) & top_names(was.root))


def top_names(root: Node) -> set[str]:
    """Names that a program defines or imports at its top, under conditions too."""
    found = {one.local for one in bindings_of(root) if one.local}
    for item in items_of(root):
        found |= {name for name, _, _ in item.names}
        if item.sort == "loose" and is_compound(item.node):
            found |= below_names(item.node)
    return found


def used_names(node: Node) -> set[str]:
    """Names that the code reads, types included; members of objects are none."""
    return {
        text_of(one)
        for one in walk(node)
        if one.type in ("identifier", "type_identifier", "shorthand_property_identifier")
    }


def bound_names(node: Node) -> set[str]:
    """Names that are bound anywhere below: declared, imported, parameters, what is caught."""
    found: set[str] = set()
    for one in walk(node):
        name = field(one, "name")
        if (one.type in _DECLARED and name is not None) or one.type == "variable_declarator":
            found |= {text_of(name)} if one.type in _DECLARED and name is not None else set()
            if one.type == "variable_declarator" and name is not None:
                found |= set(pattern_names(name))
        elif one.type in _PARAMETERS:
            for part in one.named_children:
                found |= set(pattern_names(part))
        elif one.type in ("arrow_function", "catch_clause"):
            given = field(one, "parameter")
            found |= set(pattern_names(given)) if given is not None else set()
        elif one.type == "for_in_statement":
            left = field(one, "left")
            found |= set(pattern_names(left)) if left is not None and field(one, "kind") is not None else set()
        elif one.type in ("import_clause", "namespace_import"):
            found |= {text_of(part) for part in one.named_children if part.type == "identifier"}
        elif one.type == "import_specifier":
            local = field(one, "alias") or name
            found |= {text_of(local)} if local is not None else set()
    return found
