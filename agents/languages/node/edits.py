"""Changes to a script by offsets in bytes: what no change speaks of stays byte for byte."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from agents.languages.node.items import Item
from agents.languages.node.tree import ScriptTree, walk

if TYPE_CHECKING:
    from tree_sitter import Node

_REST = re.compile(rb"[ \t]*(?://[^\r\n]*|/\*[^\r\n]*?\*/[ \t]*)?(?=\r?\n|\Z)")
_BLANK = re.compile(rb"[ \t]*")


@dataclass
class Edits:
    """Replacements and insertions in a script; applied from the end, so that offsets stay as they are."""

    was: ScriptTree
    changes: list[tuple[int, int, int, str]] = field(default_factory=list)  # start, end, order, text

    def replace(self, start: int, end: int, text: str) -> None:
        """Put the text in the place of what stands there."""
        self.changes.append((start, end, len(self.changes), text))

    def insert(self, at: int, text: str) -> None:
        """Put the text there."""
        self.replace(at, at, text)

    def applied(self) -> str:
        """The new text, with the line ends of the old one."""
        out = self.was.content
        # What is inserted before a part comes before what replaces it; several insertions keep their order.
        for start, end, _, text in sorted(self.changes, key=lambda one: (one[0], one[1], one[2]), reverse=True):
            new = text.replace("\r\n", "\n").replace("\n", self.was.newline).encode("utf-8", "replace")
            out = out[:start] + new + out[end:]
        return out.decode("utf-8", "replace")


def above(script: ScriptTree, item: Item, body: Node) -> int:
    """Where the comments begin that stand directly above an item, else where it begins itself."""
    start = item.start
    for comment in reversed([one for one in body.children if one.type == "comment" and one.end_byte <= item.start]):
        between = script.content[comment.end_byte : start]
        if between.strip() or between.count(b"\n") != 1 or not is_first(script, comment.start_byte):
            break
        start = comment.start_byte
    return start


def is_first(script: ScriptTree, at: int) -> bool:
    """True when nothing but blanks stands before this place on its line."""
    return not script.content[script.content.rfind(b"\n", 0, at) + 1 : at].strip()


def indent_at(script: ScriptTree, at: int) -> str:
    """The blanks at the beginning of the line."""
    found = _BLANK.match(script.content, script.content.rfind(b"\n", 0, at) + 1)
    return found[0].decode() if found else ""


def end_of_line(script: ScriptTree, end: int) -> int:
    """After a comment that ends the line, when nothing else follows there; else `end` itself."""
    found = _REST.match(script.content, end)
    return found.end() if found else end


def shifted(script: ScriptTree, start: int, end: int, node: Node, indent: str) -> str:
    """A part of the text with another indentation; lines within templates stay."""
    own, out, at = indent_at(script, start), list[bytes](), start
    fixed = [(one.start_byte, one.end_byte) for one in walk(node) if one.type == "template_string"]
    for line in script.content[start:end].splitlines(keepends=True) if own != indent else [script.content[start:end]]:
        inside = any(first < at <= last for first, last in fixed)
        if at != start and not inside and line.strip() and line.startswith(own.encode()):
            out.append(indent.encode() + line[len(own.encode()) :])
        else:
            out.append(line)
        at += len(line)
    return b"".join(out).decode("utf-8", "replace")
