"""Lists of what a script exports, and what a part of it adds to them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from agents.languages.definitions import CannotMerge
from agents.languages.node.definitions import exports_of, object_keys
from agents.languages.node.edits import Edits, end_of_line
from agents.languages.node.imports import is_module
from agents.languages.node.items import Item, names_in
from agents.languages.node.tree import ScriptTree, bare, dotted, field, same
from agents.languages.symbols import text_of

if TYPE_CHECKING:
    from tree_sitter import Node


def add_exports(was: ScriptTree, new: ScriptTree, old: Sequence[Item], part: Sequence[Item], edits: Edits) -> None:
    """Add what the part exports and the script does not. Raises CannotMerge where that is not clear."""
    there = [one for one in old if one.sort == "export"]
    for item in (one for one in part if one.sort == "export"):
        if any(same(one.node, item.node) for one in there):
            continue
        if item.node.type == "export_statement":
            _module_export(was, new, item, there, edits)
        else:
            _common_export(was, new, item, there, [*old, *part], edits)


def _module_export(was: ScriptTree, new: ScriptTree, item: Item, there: Sequence[Item], edits: Edits) -> None:
    if any(child.type == "default" for child in item.node.children):
        if "default" in exports_of(was.root):
            raise CannotMerge("it has another default export than the file")
        if not is_module(was.root):
            raise CannotMerge("it exports by `export`, and the file does not")
        _append(was, text_of(item.node), edits)
        return
    clause = _clause(item.node)
    if clause is None or field(item.node, "source") is not None:
        _append(was, text_of(item.node), edits)
        return
    known = exports_of(was.root)
    added = [
        one for one in clause.named_children if text_of(field(one, "alias") or field(one, "name") or one) not in known
    ]
    if not added:
        return
    if not is_module(was.root):
        raise CannotMerge("it exports by `export`, and the file does not")
    lists = [one for one in there if field(one.node, "source") is None and _clause(one.node) is not None]
    list_ = _clause(lists[-1].node) if lists else None
    if list_ is not None and list_.named_children:
        edits.insert(list_.named_children[-1].end_byte, "".join(f", {text_of(one)}" for one in added))
    else:
        _append(was, f"export {{ {', '.join(map(text_of, added))} }};", edits)


def _clause(node: Node) -> Node | None:
    return next((child for child in node.named_children if child.type == "export_clause"), None)


def _common_export(
    was: ScriptTree, new: ScriptTree, item: Item, there: Sequence[Item], items: Sequence[Item], edits: Edits
) -> None:
    target, value = _assigned(item.node)
    if is_module(was.root):
        raise CannotMerge(f"it exports by `{target}`, and the file by `export`")
    if target != "module.exports":
        if target.rpartition(".")[2] not in exports_of(was.root):
            _append(was, text_of(item.node), edits)
        return
    old = next((_assigned(one.node)[1] for one in there if _assigned(one.node)[0] == target), None)
    if old is None:
        if exports_of(was.root):
            raise CannotMerge("it assigns `module.exports`, and the file exports otherwise")
        _append(was, text_of(item.node), edits)
    elif value.type == "identifier" and old.type == "object" and text_of(value) in object_keys(old):
        return  # the whole list stays
    elif value.type == "object" and old.type == "object":
        _union(new, value, old, names_in(items), edits)
    else:
        raise CannotMerge("it assigns something else to `module.exports` than the file")


def _union(new: ScriptTree, value: Node, old: Node, defined: set[str], edits: Edits) -> None:
    known = {_key(one): one for one in old.named_children if one.type != "comment"}
    added = []
    for one in value.named_children:
        if one.type == "comment":
            continue
        if _key(one) not in known:
            added.append(text_of(one))
        elif not same(one, known[_key(one)]):
            if one.type == "shorthand_property_identifier" and text_of(one) not in defined:
                continue
            edits.replace(known[_key(one)].start_byte, known[_key(one)].end_byte, text_of(one))
    if not added:
        return
    if not known:
        edits.replace(old.start_byte, old.end_byte, f"{{ {', '.join(added)} }}")
        return
    last = list(known.values())[-1]
    lines = old.start_point[0] != old.end_point[0] and last.start_point[0] != old.start_point[0]
    apart = f",\n{' ' * last.start_point[1]}" if lines else ", "
    edits.insert(last.end_byte, "".join(f"{apart}{one}" for one in added))


def _key(node: Node) -> str:
    name = field(node, "key") or field(node, "name")
    return text_of(name if name is not None else node).strip("\"'")


def _assigned(node: Node) -> tuple[str, Node]:
    inner = node.named_children[0] if node.named_children else node
    return dotted(field(inner, "left")), bare(field(inner, "right")) or node


def _append(was: ScriptTree, text: str, edits: Edits) -> None:
    """As the last line of the file."""
    end = len(was.content.rstrip())
    edits.insert(end_of_line(was, end), f"\n{text}")
