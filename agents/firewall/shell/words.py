"""Written words of the shell, evaluated as far as that is possible without running anything."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agents.firewall.shell.expansion import Variables, braces, output, unescape
from agents.firewall.shell.grammar import descendants
from agents.firewall.shell.script import Script, SimpleCommand, Word

if TYPE_CHECKING:
    from tree_sitter import Node

SUBSTITUTIONS = frozenset({"command_substitution", "process_substitution"})
_ESCAPED_SPACE = re.compile(r"(\\\s)*")


@dataclass(frozen=True, slots=True)
class _Piece:
    """Part of a word; `splits` when the shell divides its value at blanks, `quoted` when braces in it are text."""

    text: str
    literal: bool = True
    splits: bool = False
    quoted: bool = False


class WordReader:
    """Makes words of tree nodes; the commands inside them are read by `node`, which a subclass provides."""

    def __init__(self, script: Script, variables: Variables) -> None:
        """Add to `script`, using and keeping what is known of `variables`."""
        self.script, self.variables = script, variables
        self.source, self.word = b"", ""

    def node(self, node: Node, piped_from: SimpleCommand | None) -> SimpleCommand | None:
        """Read one statement inside a word; its last command is returned."""
        raise NotImplementedError

    def raw(self, node: Node) -> str:
        return self.between(node.start_byte, node.end_byte)

    def between(self, start: int, end: int) -> str:
        return self.source[start:end].decode("utf-8", "surrogatepass")

    def groups(self, nodes: Sequence[Node]) -> list[list[Node]]:
        """Nodes with nothing between them are one word of the shell."""
        found: list[list[Node]] = []
        for node in nodes:
            gap = self.between(found[-1][-1].end_byte, node.start_byte) if found else " "
            if found and _ESCAPED_SPACE.fullmatch(gap):
                found[-1].append(node)
            else:
                found.append([node])
        return found

    def words(self, group: Sequence[Node]) -> list[Word]:
        """The words that the shell makes of one written word; the commands inside are added to the script."""
        pieces: list[_Piece] = []
        before = self.source[max(0, group[0].start_byte - 20) : group[0].start_byte]
        if re.search(rb"(?<!\\)(?:\\\\)*\\ $", before):
            pieces.append(_Piece(" "))  # an escaped blank, which the grammar drops at the start of a word
        around, self.word = self.word, self.between(group[0].start_byte, group[-1].end_byte)
        for index, node in enumerate(group):
            if index:
                gap = self.between(group[index - 1].end_byte, node.start_byte)
                pieces.append(_Piece(gap.replace("\\\n", "").replace("\\", "")))
            pieces += self.pieces(node, False)
        self.word = around
        kept = [(text, literal) for text, literal in self._fields(pieces) if text]
        if not kept:
            return [Word("", all(piece.literal for piece in pieces))] if any(p.quoted for p in pieces) else []
        if all(any(mark in piece.text and piece.literal and not piece.quoted for piece in pieces) for mark in "{,}"):
            return [Word(one, literal) for text, literal in kept for one in braces(text)]
        return [Word(text, literal) for text, literal in kept]

    def _fields(self, pieces: Sequence[_Piece]) -> list[tuple[str, bool]]:
        """The texts between the blanks that expansion gives, and whether each is literal."""
        fields: list[tuple[str, bool]] = [("", True)]
        for piece in pieces:
            parts = re.split(r"\s+", self.variables.separated(piece.text)) if piece.splits else [piece.text]
            fields[-1] = (fields[-1][0] + parts[0], fields[-1][1] and piece.literal)
            fields += [(part, piece.literal) for part in parts[1:]]
        return fields

    def pieces(self, node: Node, quoted: bool) -> Iterator[_Piece]:
        kind, raw = node.type, self.raw(node)
        if kind == "raw_string":
            yield _Piece(raw[1:-1], quoted=True)
        elif kind == "ansi_c_string":
            yield _Piece(unescape(raw[2:-1]), quoted=True)
        elif kind in ("simple_expansion", "expansion"):
            yield from self.parameter(node, raw, quoted)
        elif kind in SUBSTITUTIONS:
            yield self.substitution(node, raw, quoted)
        elif kind == "arithmetic_expansion":
            for part in descendants(node, stop=SUBSTITUTIONS):
                if part.type in SUBSTITUTIONS:
                    self.substitution(part, self.raw(part), quoted)
            yield _Piece("0", quoted=quoted)
        elif kind == "string":
            yield _Piece("", quoted=True)
            yield from self.inside(node, node.children[1:-1], node.start_byte + 1, node.end_byte - 1, True)
        elif node.child_count and kind not in ("brace_expression", "extglob_pattern", "regex"):
            yield from self.inside(node, node.children, node.start_byte, node.end_byte, quoted)
        elif kind == "$" and node.next_sibling is not None and node.next_sibling.start_byte == node.end_byte:
            yield _Piece("" if node.next_sibling.type == "string" and not quoted else "$", quoted=quoted)
        else:
            yield _Piece(_unquote(raw, quoted), quoted=quoted)

    def inside(self, node: Node, children: Sequence[Node], start: int, end: int, quoted: bool) -> Iterator[_Piece]:
        """The parts of a word and the text between them."""
        for child in children:
            if child.start_byte > start:
                yield _Piece(_unquote(self.between(start, child.start_byte), quoted), quoted=quoted)
            yield from self.pieces(child, quoted)
            start = max(start, child.end_byte)
        if start < end:
            yield _Piece(_unquote(self.between(start, end), quoted), quoted=quoted)

    def parameter(self, node: Node, raw: str, quoted: bool) -> Iterator[_Piece]:
        for part in descendants(node, stop=SUBSTITUTIONS):
            if part.type in SUBSTITUTIONS:
                self.substitution(part, self.raw(part), quoted)
        written = raw.lstrip()  # within a string the grammar gives the blanks before a parameter to it
        if len(written) < len(raw):
            yield _Piece(raw[: len(raw) - len(written)], quoted=quoted)
        if re.match(r"\$\s", written):
            yield _Piece("$" + written[1:], splits=not quoted, quoted=quoted)  # a dollar sign before a blank is text
            return
        expression = written[2:-1] if written.startswith("${") else written[1:]
        value = self.variables.value(expression, self.word)
        yield _Piece(written if value is None else value, value is not None, value is not None and not quoted, quoted)

    def substitution(self, node: Node, raw: str, quoted: bool) -> _Piece:
        inside = [part for part in node.named_children if part.type != "comment"]
        self.script.opaque |= raw.startswith("`")  # one that was not rewritten: the grammar joins neighbours
        last = None
        for part in inside:
            last = self.node(part, None) or last
        plain = node.type == "command_substitution" and len(inside) == 1
        plain = plain and inside[0].type in ("command", "pipeline", "redirected_statement")
        value = output(last) if plain and last is not None else None
        if value is None:
            return _Piece(raw, False, False, quoted)
        return _Piece(value.rstrip("\n"), True, not quoted, quoted)


def _unquote(text: str, quoted: bool) -> str:
    if "\\" not in text:
        return text
    if quoted:
        return re.sub(r"\\([\"\\$`\n])", lambda match: match[1].strip("\n"), text)
    return re.sub(r"\\(.)", lambda match: match[1].strip("\n"), text, flags=re.DOTALL)
