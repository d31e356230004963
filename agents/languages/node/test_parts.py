"""The tests of a script: their ids, the file without some of them, and the new ones of an answer."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agents.languages.node.edits import above, end_of_line
from agents.languages.node.items import Item, TestCall, call_of, items_of, names_in, test_call
from agents.languages.node.test_files import is_test
from agents.languages.node.tree import ScriptTree, field, read, read_any, shape, walk
from agents.languages.symbols import text_of

if TYPE_CHECKING:
    from tree_sitter import Node

_HOLE = re.compile(r"%[sdifjop#%]|\$\{?[\w.#$]+\}?")
_UNTOLD = frozenset({"each", "for"})


@dataclass(frozen=True)
class _Test:
    """A test with the suites around it; `sure` when it runs once and under this name."""

    names: tuple[str, ...]
    item: Item
    body: Node  # in which the item stands
    made: TestCall
    sure: bool


def ids_of_tests(path: str, source: str) -> list[str]:
    """`path::suite > test` of the tests that surely run under these names: not those of a table or with subtests."""
    script = read(path, source) if is_test(path) else None
    if script is None:
        return []
    return [f"{path}::{' > '.join(one.names)}" for one in _tests(script.root) if one.sure]


def _tests(body: Node, outside: tuple[str, ...] = (), sure: bool = True) -> Iterator[_Test]:
    for item in items_of(body, tests=True):
        call = call_of(item)
        made = test_call(call) if call is not None else None
        if made is None or made.kind == "hook":
            continue
        told = sure and made.title is not None and not made.marks & _UNTOLD
        names = (*outside, made.title if made.title is not None else "")
        if made.kind == "suite" and made.body is not None:
            yield from _tests(made.body, names, told)
        elif made.kind == "test":
            yield _Test(names, item, body, made, told and not _has_subtests(made))


def _has_subtests(made: TestCall) -> bool:
    """True when the body makes tests of its own: `await t.test("…", …)`."""
    if made.body is None:
        return False
    return any(
        one.type == "call_expression" and re.fullmatch(r"\w+\.(?:test|it)", text_of(field(one, "function") or one))
        for one in walk(made.body)
    )


def without(tests: Mapping[str, str], failing: Iterable[str]) -> dict[str, str]:
    """The files without the failing tests ("tests/a.test.js::suite > test") or files that have none left.

    A file goes whole that failed as a whole, or of which a failing test cannot be found.
    """
    wanted: dict[str, set[str]] = {}
    for name in failing:
        path, _, rest = name.partition("::")
        wanted.setdefault(path, set()).add(rest)
    kept = {}
    for path, text in tests.items():
        left = _cut(path, text, wanted[path]) if path in wanted else text
        if left:
            kept[path] = left
    return kept


def _cut(path: str, text: str, gone: set[str]) -> str:
    """The file without these tests; "" when none would be left, or one of them is not found."""
    script = read(path, text)
    if script is None or "" in gone:
        return ""
    found = list(_tests(script.root))
    leaving = [one for one in found if any(_is_named(one, name) for name in gone)]
    if any(not any(_is_named(one, name) for one in found) for name in gone):
        return ""
    spans = [_span(script, one.item, one.body) for one in leaving]
    spans += _emptied(script, script.root, {one.item.start for one in leaving})
    left = _without(script, spans)
    return left if len(leaving) < len(found) and read(path, left) is not None else ""


def _is_named(test: _Test, name: str) -> bool:
    """True when a run may report the test by this name: the holes of a table's title match anything."""
    if test.sure:
        return name == " > ".join(test.names)
    pattern = " > ".join(".*".join(map(re.escape, _HOLE.split(part))) if part else ".*" for part in test.names)
    return re.fullmatch(pattern, name) is not None or re.match(rf"{pattern} > ", name) is not None


def _span(script: ScriptTree, item: Item, body: Node) -> tuple[int, int]:
    """An item with its comments and the blank lines before it."""
    start, end = above(script, item, body), end_of_line(script, item.end)
    while start > 0 and script.content[start - 1 : start].isspace():
        start -= 1
    return start, end


def _emptied(script: ScriptTree, body: Node, leaving: set[int]) -> list[tuple[int, int]]:
    """Suites all of whose tests leave."""
    spans = []
    for item in items_of(body, tests=True):
        call = call_of(item)
        made = test_call(call) if call is not None else None
        if made is None or made.kind != "suite" or made.body is None:
            continue
        inside = {one.item.start for one in _tests(made.body)}
        if inside and inside <= leaving:
            spans.append(_span(script, item, body))
        else:
            spans += _emptied(script, made.body, leaving)
    return spans


def _without(script: ScriptTree, spans: Iterable[tuple[int, int]]) -> str:
    out, last = b"", 0
    for start, end in sorted(spans):
        if end > last:
            out += script.content[last : max(start, last)]
            last = end
    return (out + script.content[last:]).decode("utf-8", "replace")


def new_part(old: str, new: str, *, helpers: bool) -> str:
    """`new` without the tests that `old` has too, and without its other definitions unless `helpers`; "" for none.

    A test that has only got another name is one that `old` has.
    """
    was, text = read_any(old), read_any(new)
    if was is None or text is None:
        return ""
    there, given = list(_tests(was.root)), list(_tests(text.root))
    names, bodies = {one.names for one in there}, {_does(one) for one in there}
    known = {one.item.start for one in given if one.names in names or _does(one) in bodies}
    if len(known) == len(given):
        return ""
    spans = [_span(text, one.item, one.body) for one in given if one.item.start in known]
    spans += _emptied(text, text.root, known)
    if not helpers:
        top = names_in(items_of(was.root))
        before = {tuple(shape(one.node)) for one in items_of(was.root)}
        for item in items_of(text.root, tests=True):
            call = call_of(item)
            is_suite = call is not None and (made := test_call(call)) is not None and made.kind != "hook"
            # Loose code that the file has not, such as `vi.mock`, is what the new tests stand on.
            loose = item.sort == "loose" and tuple(shape(item.node)) in before
            if not is_suite and (loose or (item.names and names_in([item]) <= top)):
                spans.append(_span(text, item, text.root))
    return _without(text, spans).lstrip("\n") if spans else new


def _does(test: _Test) -> tuple[str, ...]:
    """What a test does, without its name."""
    return tuple(shape(test.made.body)) if test.made.body is not None else (text_of(test.item.node),)
