"""The Bash grammar: its parser, what it lacks, and walking its trees."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

from agents.firewall.shell.tables import rules

if TYPE_CHECKING:
    from tree_sitter import Language, Node, Tree


@cache
def repairs() -> list[tuple[re.Pattern[str], str]]:
    """Expressions that make what the grammar lacks into what it covers, and what to put instead."""
    return [(re.compile(text), instead) for text, instead in rules()["grammar"]["repairs"]]


@cache
def _language() -> Language:
    import tree_sitter_bash
    from tree_sitter import Language

    return Language(tree_sitter_bash.language())


def tree_of(source: bytes) -> Tree:
    from tree_sitter import Parser

    return Parser(_language()).parse(source)  # a parser is not safe to share between threads; making one is cheap


def without_backquotes(text: str) -> str:
    """Write `…` as $(…): the grammar takes neighbouring backquotes for one, and leaves them out of here-documents."""
    done, index, quote = [], 0, ""
    while index < len(text):
        char = text[index]
        if char == "\\" and quote != "'":
            done.append(text[index : index + 2])
            index += 2
            continue
        end = re.compile(r"`((?:[^`\\]|\\.)*)`", re.DOTALL).match(text, index) if char == "`" and quote != "'" else None
        if end is not None:
            escapes = r"\\([`\\$\"])" if quote else r"\\([`\\$])"
            inside = re.sub(escapes, r"\1", end[1])
            done.append(f"$({without_backquotes(inside)})")
            index = end.end()
            continue
        if char in "'\"" and quote in ("", char):
            quote = "" if quote else char
        done.append(char)
        index += 1
    return "".join(done)


def descendants(node: Node, stop: frozenset[str] = frozenset()) -> Iterator[Node]:
    """A node and all below it, without looking into kinds in `stop` (those are given themselves)."""
    yield node
    for part in node.children:
        if part.type in stop:
            yield part
        else:
            yield from descendants(part, stop)


def in_background(node: Node) -> bool:
    return any(part.type == "&" for part in descendants(node))
