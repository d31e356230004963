"""Parts of scripts put into the scripts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agents.languages.definitions import CannotMerge
from agents.languages.merging import Body, Merger, Name, by_key
from agents.languages.node.bindings import bindings_of
from agents.languages.node.definitions import definitions_of, exports_of
from agents.languages.node.edits import Edits, above, end_of_line, indent_at, shifted
from agents.languages.node.exports import add_exports
from agents.languages.node.imports import add_imports, is_module
from agents.languages.node.items import (
    Item,
    below_names,
    body_of,
    call_of,
    is_compound,
    items_of,
    names_in,
    object_functions,
    test_call,
)
from agents.languages.node.test_files import is_test
from agents.languages.node.tree import CLASSES, FUNCTIONS, ScriptTree, read, same, tokens
from agents.languages.symbols import text_of

if TYPE_CHECKING:
    from tree_sitter import Node

_METHODS = frozenset({"method_definition", "method_signature", "abstract_method_signature"})
_SHELL = "class Part {\n"
_BY_MEMBER = frozenset({"class_body", "interface_body", "object_type", "statement_block"})


@dataclass
class _ScriptBody(Body[Item]):
    """The items of a program, a class or a suite."""

    script: ScriptTree
    node: Node

    def above(self, item: Item) -> int:
        return above(self.script, item, self.node)


def _body_of(script: ScriptTree, node: Node, items: list[Item]) -> _ScriptBody:
    return _ScriptBody(items, by_key(items, lambda item: item.names), script, node)


@dataclass
class _ScriptMerger(Merger[_ScriptBody, Item]):
    edits: Edits
    tests: bool
    assigned = "declared"

    def names(self, statement: Item) -> Iterable[Name]:
        return statement.names

    def start(self, statement: Item) -> int:
        return statement.start

    def needed_at_once(self, statement: Item) -> set[str]:
        found, waiting = set(), [statement.node]
        while waiting:
            one = waiting.pop()
            if one.type in ("identifier", "shorthand_property_identifier"):
                found.add(text_of(one))
            if one.type not in FUNCTIONS:
                waiting.extend(one.named_children)
        return found

    def signature(self, statement: Item) -> list[str]:
        parts = map(statement.node.child_by_field_name, ("parameters", "return_type"))
        return [word for part in parts if part is not None for word in (*tokens(part), "|")]

    def conditional(self, body: _ScriptBody) -> set[str]:
        return {name for one in body.statements if is_compound(one.node) for name in below_names(one.node)}

    def to_merge(self, body: _ScriptBody, inside: str) -> list[Item]:
        return [one for one in body.statements if one.sort in ("definition", "loose") and not _is_directive(one)]

    def counterpart(self, statement: Item, old: _ScriptBody, new: _ScriptBody) -> Item | None:
        match = super().counterpart(statement, old, new)
        if match is not None and statement.names and len(match.names) > len(statement.names):
            raise CannotMerge(f"{statement.names[0][0]} is declared together with others in the file")
        return match

    def equivalent(self, statement: Item, old: _ScriptBody) -> Item | None:
        alike = (one for one in old.statements if one.sort == "loose" and same(one.node, statement.node))
        equal = next(alike, None)
        if equal is None:
            raise CannotMerge("it holds code outside of definitions that the file has not, or has otherwise")
        return equal

    def last_place(self, old: _ScriptBody, statement: Item) -> Item | None:
        """The last of its kind."""
        name = statement.names[0][0]
        call = name.partition(".")[0] if "." in name and " " in name else ""
        alike = [one for one in old.statements if call and one.names and one.names[0][0].startswith(f"{call}.")]
        defined = [one for one in old.statements if one.sort == "definition" and not _is_last(one)]
        return next(iter([*alike[-1:], *defined[-1:], *old.statements[-1:]]), None)

    def put_before(self, old: _ScriptBody, new: _ScriptBody, near: Item, statement: Item, inside: str) -> None:
        at = old.above(near)
        indent = indent_at(old.script, at)
        blank = "\n" if _is_apart(near, statement) else ""
        self.edits.insert(at, f"{self._text(new, statement, indent, inside)}\n{blank}{indent}")

    def put_after(self, old: _ScriptBody, new: _ScriptBody, near: Item, statement: Item, inside: str) -> None:
        indent = indent_at(old.script, near.start)
        blank = "\n" if _is_apart(near, statement) else ""
        at = end_of_line(old.script, near.end)
        self.edits.insert(at, f"\n{blank}{indent}{self._text(new, statement, indent, inside)}")

    def _text(self, new: _ScriptBody, item: Item, indent: str, inside: str) -> str:
        root = self.edits.was.root
        if not inside and item.inner[0] > item.start and _is_common(root) and not is_module(root):
            raise CannotMerge(f"it exports {item.names[0][0]} by `export`, and the file exports by `module.exports`")
        return shifted(new.script, new.above(item), item.end, new.node, indent)

    def replace(self, old: _ScriptBody, new: _ScriptBody, was: Item, statement: Item, inside: str) -> None:
        if was.sort == "loose" or same(was.node, statement.node):
            return
        there, given = _block(was, self.tests), _block(statement, self.tests)
        below = items_of(there, tests=self.tests) if there is not None else []
        if below and there is not None and given is not None and _by_member(was, there, statement, given):
            inner = _body_of(new.script, given, items_of(given, tests=self.tests))
            self.merge(_body_of(old.script, there, below), inner, f"{inside}{statement.names[0][0]}.")
            return
        if lost := _members(was, self.tests) - _members(statement, self.tests):
            raise CannotMerge(f"{inside}{statement.names[0][0]} lacks {', '.join(sorted(lost))}")
        if _shares_line(was, old.statements):
            raise CannotMerge(f"{inside}{statement.names[0][0]} shares its line with other code")
        # The block's own comments replace those above the old definition; without any, the old ones stay.
        commented = new.above(statement) < statement.start
        start, end = was.start, was.end
        first, last = statement.start, statement.end
        if self._keeps_export(was, statement):
            (start, end), (first, last) = was.inner, statement.inner
            commented = False
        if commented:
            start, first = old.above(was), new.above(statement)
        text = shifted(new.script, first, last, new.node, indent_at(old.script, start))
        if text.replace("\r\n", "\n") != old.script.text(start, end).replace("\r\n", "\n"):
            self.edits.replace(start, end, text)

    def _keeps_export(self, was: Item, item: Item) -> bool:
        """True when the old way of exporting stays: the part is only another text for the declaration."""
        before, after = was.inner[0] > was.start, item.inner[0] > item.start
        if not before and not after:
            return False
        if before and after:
            default = [any(one.type == "default" for one in _wrapper(each).children) for each in (was, item)]
            return default[0] != default[1]
        root = self.edits.was.root
        return before or bool(names_in([item]) & exports_of(root)) or _is_common(root)


def merged(path: str, old: str, part: str) -> str:
    """The script `old` with the definitions of `part`. Raises CannotMerge."""
    was = read(path, old)
    if was is None:
        raise CannotMerge("the file itself does not parse")
    tests, edits = is_test(path), Edits(was)
    merger, there = _ScriptMerger(edits, tests), _body_of(was, was.root, items_of(was.root, tests=tests))
    new = read(path, part)
    if new is None:
        owner, new = _owner(path, there, part)
        below, given = body_of(owner.node), new.root.named_children[0].child_by_field_name("body")
        if below is None or given is None:
            raise CannotMerge("it does not parse")
        members = _body_of(was, below, items_of(below))
        merger.merge(members, _body_of(new, given, items_of(given)), f"{owner.names[0][0]}.")
    else:
        body = _body_of(new, new.root, items_of(new.root, tests=tests))
        if taken := names_in(body.statements) & {one.local for one in bindings_of(was.root)}:
            raise CannotMerge(f"it defines {min(taken)}, which the file imports")
        merger.merge(there, body, "")
        add_imports(path, was, new, names_in(there.statements), edits)
        add_exports(was, new, there.statements, body.statements, edits)
    text = edits.applied()
    _prove(path, old, text)
    return text


def _prove(path: str, old: str, text: str) -> None:
    """Raise CannotMerge unless the text parses, has all that the old one had, and defines nothing twice."""
    before, after = definitions_of(path, old), definitions_of(path, text)
    if before is None or after is None:
        raise CannotMerge("together with the rest of the file it does not parse")
    counts, there = (Counter((one.name, one.kind, one.role) for one in rows) for rows in (after, before))
    names = {one.name for one in after}
    if lost := [one.name for one in before if one.name not in names]:
        raise CannotMerge(f"{lost[0]} would be lost")
    twice = [key for key, number in counts.items() if number > max(1, there[key]) and key[2] != "overload"]
    if twice:
        raise CannotMerge(f"{twice[0][0]} would be defined twice")


def _owner(path: str, there: _ScriptBody, part: str) -> tuple[Item, ScriptTree]:
    """Methods without the line of their class, and the one class of the file that has such methods."""
    new = read(path, f"{_SHELL}{part}\n}}\n")
    body = new.root.named_children[0].child_by_field_name("body") if new is not None else None
    if new is None or body is None or len(new.root.named_children) != 1:
        raise CannotMerge("it does not parse")
    items = items_of(body)
    classes = [
        one for one in there.statements if (inner := body_of(one.node)) is not None and inner.type == "class_body"
    ]
    names = names_in(items) - {"constructor"}
    owners = [one for one in classes if names & _members(one, tests=False)] if names else classes
    if len(owners) != 1 or not items or any(one.node.type not in _METHODS for one in items):
        raise CannotMerge("it holds methods, and it is not clear of which class")
    return owners[0], new


def _is_last(item: Item) -> bool:
    """`app.listen(…)`, `module.exports = …`: what stands below the definitions."""
    return item.node.type == "expression_statement"


def _block(item: Item, tests: bool) -> Node | None:
    """What holds the members of an item; of a suite the block of its function."""
    call = call_of(item) if tests else None
    made = test_call(call) if call is not None else None
    if made is not None:
        return made.body if made.kind == "suite" else None
    return body_of(item.node)


def _by_member(was: Item, there: Node, item: Item, given: Node) -> bool:
    """True for two classes, interfaces, namespaces or suites with the same head: their members are merged."""
    return there.type == given.type and there.type in _BY_MEMBER and _head(was, there) == _head(item, given)


def _head(item: Item, body: Node) -> list[str]:
    """The words before the members, without `export`."""
    own, found = list(tokens(item.node)), list(tokens(body))
    return (
        own[: len(own) - len(found)] if own[-len(found) :] == found else [*own[: own.index("{")]] if "{" in own else own
    )


def _members(item: Item, tests: bool) -> set[str]:
    """Names of what an item holds."""
    body = _block(item, tests)
    if body is None:
        return set()
    if body.type == "object":
        return {name for name, _ in object_functions(body)}
    return names_in(items_of(body, tests=tests))


def _is_apart(near: Item, item: Item) -> bool:
    """True when a blank line stands between two items: functions, classes and tests have one."""
    return any(
        one.node.type in FUNCTIONS | CLASSES
        or any(kind in ("function", "class", "test", "suite") for _, kind, _ in one.names)
        for one in (near, item)
    )


def _is_directive(item: Item) -> bool:
    """`"use strict"` and a string above a file: the file has its own."""
    children = item.node.named_children
    return item.node.type == "expression_statement" and len(children) == 1 and children[0].type == "string"


def _is_common(root: Node) -> bool:
    """True for a file that exports or loads as CommonJS does."""
    text = root.text or b""
    return b"module.exports" in text or b"exports." in text or (b"require(" in text and not is_module(root))


def _wrapper(item: Item) -> Node:
    return (
        item.node.parent if item.node.parent is not None and item.node.parent.type == "export_statement" else item.node
    )


def _shares_line(item: Item, items: Sequence[Item]) -> bool:
    first, last = item.node.start_point[0], item.node.end_point[0]
    return any(one is not item and one.node.start_point[0] <= last and first <= one.node.end_point[0] for one in items)
