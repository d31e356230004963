"""A part of a script put into the script: definitions of the same name are replaced, new ones added.

All else stays byte for byte. What is not clear is refused: overloads in another number, a function that the file
defines under a condition, other code outside of definitions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from agents.languages.definitions import CannotMerge
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

Key = tuple[str, str, str, int]  # name, kind, role, ordinal
_METHODS = frozenset({"method_definition", "method_signature", "abstract_method_signature"})
_SHELL = "class Part {\n"
_BY_MEMBER = frozenset({"class_body", "interface_body", "object_type", "statement_block"})


@dataclass
class _Body:
    """The items of a program, a class or a suite, by what they define."""

    script: ScriptTree
    node: Node
    items: list[Item]
    keyed: dict[Key, Item] = field(init=False)

    def __post_init__(self) -> None:
        counts: Counter[tuple[str, str, str]] = Counter()
        self.keyed = {}
        for item in self.items:
            for one in item.names:
                self.keyed[*one, counts[one]] = item
                counts[one] += 1

    def above(self, item: Item) -> int:
        return above(self.script, item, self.node)

    def keys(self, item: Item) -> list[Key]:
        return [key for key, one in self.keyed.items() if one is item]


@dataclass
class _Merge:
    path: str
    edits: Edits
    tests: bool

    def body(self, old: _Body, new: _Body, inside: str) -> None:
        """Put the items of `new` among those of `old`."""
        _check(old, new, inside)
        place: Item | None = None  # the last item of the old body that the part speaks of
        waiting: list[Item] = []  # new items before the first such
        done: set[int] = set()
        rows = [one for one in new.items if one.sort in ("definition", "loose") and not _is_directive(one)]
        matches = [(item, _counterpart(item, old, new)) for item in rows]
        for item, match in matches:
            if match is None:
                users = [
                    one for other, one in matches if one is not None and names_in([item]) & _needed_at_once(other.node)
                ]
                user = min(users, key=lambda one: one.start, default=None)
                if user is not None and (place is None or user.start <= place.start):
                    self._before(old, new, user, item, inside)
                elif place is None:
                    waiting.append(item)
                else:
                    self._after(old, new, place, item, inside)
                continue
            if match.start not in done:
                done.add(match.start)
                self._replace(old, new, match, item, inside)
            for one in waiting:
                self._before(old, new, match, one, inside)
            place, waiting = match, []
        for one in waiting:
            near = _near(old, one)
            if near is None:
                raise CannotMerge("the file holds nothing beside which its definitions could stand")
            self._after(old, new, near, one, inside)

    def _before(self, old: _Body, new: _Body, near: Item, item: Item, inside: str) -> None:
        at = old.above(near)
        indent = indent_at(old.script, at)
        blank = "\n" if _is_apart(near, item) else ""
        self.edits.insert(at, f"{self._text(new, item, indent, inside)}\n{blank}{indent}")

    def _after(self, old: _Body, new: _Body, near: Item, item: Item, inside: str) -> None:
        indent = indent_at(old.script, near.start)
        blank = "\n" if _is_apart(near, item) else ""
        at = end_of_line(old.script, near.end)
        self.edits.insert(at, f"\n{blank}{indent}{self._text(new, item, indent, inside)}")

    def _text(self, new: _Body, item: Item, indent: str, inside: str) -> str:
        root = self.edits.was.root
        if not inside and item.inner[0] > item.start and _is_common(root) and not is_module(root):
            raise CannotMerge(f"it exports {item.names[0][0]} by `export`, and the file exports by `module.exports`")
        return shifted(new.script, new.above(item), item.end, new.node, indent)

    def _replace(self, old: _Body, new: _Body, was: Item, item: Item, inside: str) -> None:
        if was.sort == "loose" or same(was.node, item.node):
            return
        there, given = _block(was, self.tests), _block(item, self.tests)
        below = items_of(there, tests=self.tests) if there is not None else []
        if below and there is not None and given is not None and _by_member(was, there, item, given):
            inner = _Body(new.script, given, items_of(given, tests=self.tests))
            self.body(_Body(old.script, there, below), inner, f"{inside}{item.names[0][0]}.")
            return
        if lost := _members(was, self.tests) - _members(item, self.tests):
            raise CannotMerge(f"{inside}{item.names[0][0]} lacks {', '.join(sorted(lost))}")
        if _shares_line(was, old.items):
            raise CannotMerge(f"{inside}{item.names[0][0]} shares its line with other code")
        # The block's own comments replace those above the old definition; without any, the old ones stay.
        commented = new.above(item) < item.start
        start, end = was.start, was.end
        first, last = item.start, item.end
        if self._keeps_export(was, item):
            (start, end), (first, last) = was.inner, item.inner
            commented = False
        if commented:
            start, first = old.above(was), new.above(item)
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
    merge, there = _Merge(path, edits, tests), _Body(was, was.root, items_of(was.root, tests=tests))
    new = read(path, part)
    if new is None:
        owner, new = _owner(path, there, part)
        below, given = body_of(owner.node), new.root.named_children[0].child_by_field_name("body")
        if below is None or given is None:
            raise CannotMerge("it does not parse")
        members = _Body(was, below, items_of(below))
        merge.body(members, _Body(new, given, items_of(given)), f"{owner.names[0][0]}.")
    else:
        body = _Body(new, new.root, items_of(new.root, tests=tests))
        if taken := names_in(body.items) & {one.local for one in bindings_of(was.root)}:
            raise CannotMerge(f"it defines {min(taken)}, which the file imports")
        merge.body(there, body, "")
        add_imports(path, was, new, names_in(there.items), edits)
        add_exports(was, new, there.items, body.items, edits)
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


def _owner(path: str, there: _Body, part: str) -> tuple[Item, ScriptTree]:
    """Methods without the line of their class, and the one class of the file that has such methods."""
    new = read(path, f"{_SHELL}{part}\n}}\n")
    body = new.root.named_children[0].child_by_field_name("body") if new is not None else None
    if new is None or body is None or len(new.root.named_children) != 1:
        raise CannotMerge("it does not parse")
    items = items_of(body)
    classes = [one for one in there.items if (inner := body_of(one.node)) is not None and inner.type == "class_body"]
    names = names_in(items) - {"constructor"}
    owners = [one for one in classes if names & _members(one, tests=False)] if names else classes
    if len(owners) != 1 or not items or any(one.node.type not in _METHODS for one in items):
        raise CannotMerge("it holds methods, and it is not clear of which class")
    return owners[0], new


def _check(old: _Body, new: _Body, inside: str) -> None:
    """Raise CannotMerge where the part may mean more than one thing."""
    conditional = {name for one in old.items if is_compound(one.node) for name in below_names(one.node)}
    for one in {key[:3] for key in new.keyed}:
        full = f"{inside}{one[0]}"
        in_file, in_part = (sum(key[:3] == one for key in body.keyed) for body in (old, new))
        if one[0] in conditional:
            raise CannotMerge(f"{full} is defined under a condition in the file")
        if in_file and in_file != in_part:
            raise CannotMerge(f"{full} is defined {in_file} times in the file and {in_part} times in the block")
        others = [key for key in old.keyed if key[0] == one[0]]
        if not in_file and not one[2] and others:
            raise CannotMerge(f"{full} is not a {one[1]} in the file")
        in_file, in_part = (sum(key[0] == one[0] and key[2] == "overload" for key in body.keyed) for body in (old, new))
        if in_file != in_part and others:
            body = one[0], "function", "", 0
            both = [one.keyed[body].node for one in (old, new) if body in one.keyed]
            if not in_part and len(both) == 2 and _signature(both[0]) == _signature(both[1]):
                continue  # what is overloaded has the signature that the overloads were written for
            raise CannotMerge(f"{full} has {in_file} overloads in the file and {in_part} in the block")


def _counterpart(item: Item, old: _Body, new: _Body) -> Item | None:
    """The item of the old body that this one stands for; None for a new one. Raises CannotMerge."""
    keys = new.keys(item)
    if keys:
        found = {old.keyed[key].start: old.keyed[key] for key in keys if key in old.keyed}
        if len(found) > 1 or (found and any(key not in old.keyed for key in keys)):
            raise CannotMerge(f"{keys[0][0]} and others are declared together")
        match = next(iter(found.values()), None)
        if match is not None and len(match.names) > len(item.names):
            raise CannotMerge(f"{keys[0][0]} is declared together with others in the file")
        return match
    equal = next((one for one in old.items if one.sort == "loose" and same(one.node, item.node)), None)
    if equal is None:
        raise CannotMerge("it holds code outside of definitions that the file has not, or has otherwise")
    return equal


def _near(old: _Body, item: Item) -> Item | None:
    """The item after which a new one stands when the part speaks of no other: the last of its kind."""
    call = item.names[0][0].partition(".")[0] if "." in item.names[0][0] and " " in item.names[0][0] else ""
    alike = [one for one in old.items if call and one.names and one.names[0][0].startswith(f"{call}.")]
    defined = [one for one in old.items if one.sort == "definition" and not _is_last(one)]
    return next(iter([*alike[-1:], *defined[-1:], *old.items[-1:]]), None)


def _is_last(item: Item) -> bool:
    """`app.listen(…)`, `module.exports = …`: what stands below the definitions."""
    return item.node.type == "expression_statement"


def _needed_at_once(node: Node) -> set[str]:
    """Names that a statement reads when it is run; the body of a function runs later."""
    found, waiting = set(), [node]
    while waiting:
        one = waiting.pop()
        if one.type in ("identifier", "shorthand_property_identifier"):
            found.add(text_of(one))
        if one.type not in FUNCTIONS:
            waiting.extend(one.named_children)
    return found


def _signature(node: Node) -> list[str]:
    parts = (node.child_by_field_name("parameters"), node.child_by_field_name("return_type"))
    return [word for part in parts if part is not None for word in (*tokens(part), "|")]


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
