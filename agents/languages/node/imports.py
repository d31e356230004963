"""Imports that a part of a script needs and the script has not."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace
from typing import TYPE_CHECKING

from agents.languages.definitions import CannotMerge
from agents.languages.node.bindings import Binding, bindings_of, is_own, line_of, specifier
from agents.languages.node.edits import Edits, end_of_line
from agents.languages.node.items import items_of
from agents.languages.node.tree import ScriptTree

if TYPE_CHECKING:
    from tree_sitter import Node


def is_module(root: Node) -> bool:
    """True for a file with `import` or `export`, which is an ECMAScript module."""
    return any(one.type in ("import_statement", "export_statement") for one in root.named_children)


def add_imports(path: str, was: ScriptTree, new: ScriptTree, defined: Set[str], edits: Edits) -> None:
    """Insert what `new` imports and `was` does not. Raises CannotMerge where a name would change."""
    there = list(bindings_of(was.root))
    known = {one.local: one for one in there if one.local}
    bare = {one.module for one in there if not one.local}
    added: dict[int, list[Binding]] = {}
    lines = []
    for one in bindings_of(new.root):
        if is_own(one.module, path):
            continue  # a model that takes its own file for another one
        if not one.local:
            lines += [] if one.module in bare else [one]
            continue
        if one.local in known and known[one.local].source == one.source:
            continue
        if one.local in defined or one.local in known:
            raise CannotMerge(f"it imports {one.local} from elsewhere than the file does")
        beside = _beside(there, one)
        if beside is not None and beside.braces is not None:
            added.setdefault(beside.braces.id, []).append(_typed_alone(one, beside))
            continue
        lines.append(one)
    _check_style(lines, {one.style for one in there}, module=is_module(was.root))
    for braces in {one.braces.id: one.braces for one in there if one.braces is not None}.values():
        if braces.id in added:
            words = "".join(f", {specifier(one)}" for one in added[braces.id])
            edits.insert(braces.named_children[-1].end_byte, words)
    _insert(was, list(dict.fromkeys(lines)), edits)


def _check_style(lines: list[Binding], styles: set[str], *, module: bool) -> None:
    """Raise CannotMerge where the file loads by other ways, or would by its kind."""
    wrong = [one for one in lines if styles and one.style not in styles]
    if lines and not styles and (lines[0].style == "require") is module:
        wrong = lines
    if wrong:
        raise CannotMerge(f"it loads {wrong[0].module} by {wrong[0].style}, and the file does not")


def _beside(there: list[Binding], one: Binding) -> Binding | None:
    """An import of the same module whose braces may hold one more name."""
    if one.braces is None:
        return None
    return next(
        (
            other
            for other in there
            if other.braces is not None
            and other.module == one.module
            and other.style == one.style
            and (other.typing == one.typing or (one.typing and not _is_typing(other)))
        ),
        None,
    )


def _is_typing(one: Binding) -> bool:
    return any(child.type == "type" for child in one.node.children)


def _typed_alone(one: Binding, beside: Binding) -> Binding:
    return (
        replace(one, name=f"type {one.name}", local=f"type {one.local}" if one.name == one.local else one.local)
        if (one.typing and not _is_typing(beside))
        else one
    )


def _insert(was: ScriptTree, lines: list[Binding], edits: Edits) -> None:
    """Whole lines after the imports that the file begins with, else at its top."""
    if not lines:
        return
    items = items_of(was.root)
    head = [one for one in items if one.sort == "import"]
    semicolon = ";" if b";" in was.content or not was.content.strip() else ""
    text = "".join(line_of(one, "\n", semicolon) for one in lines)
    if head:
        edits.insert(end_of_line(was, head[-1].end), "\n" + text.removesuffix("\n"))
        return
    first = [one for one in was.root.children if one.type in ("hash_bang_line", "comment", "expression_statement")]
    at = 0
    for node in was.root.children:
        directive = node.type == "expression_statement" and [one.type for one in node.named_children] == ["string"]
        if node not in first or not (node.type == "hash_bang_line" or directive):
            break
        at = end_of_line(was, node.end_byte)
    edits.insert(at, f"\n{text}".removesuffix("\n") if at else f"{text}\n")
