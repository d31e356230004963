"""How much of what upstream changed stands in the prompts: its files, its definitions, and what calls them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from agents.languages.registry import grammar_of, is_test
from agents.languages.symbols import Definition, read_symbols
from agents.rehearsal.upstream import PastCommit

Text = Callable[[str], str]  # of a file, by path
SHARED = 3  # definitions that may have a name before it no longer tells which one a call means
FEWEST_CALLED = 4  # letters of a name: shorter ones are everywhere


@dataclass(frozen=True)
class Sight:
    """How many were shown and how many there are: files to the planner, definitions and their callers to the coder."""

    files: tuple[int, int]
    definitions: tuple[int, int]
    callers: tuple[int, int]

    def to_json(self) -> dict[str, list[int]]:
        """Each as [shown, all]."""
        return {"files": [*self.files], "definitions": [*self.definitions], "callers": [*self.callers]}


def sight(change: PastCommit, before: Mapping[str, str], after: Mapping[str, str], planner: str, coder: str) -> Sight:
    """What the prompts of planner and coder show of a change; `before` are the code files of the tree below it.

    A file is shown where its path is named. A definition is shown where the lines are that upstream changed in it, or
    beside which it put new ones; a caller, where a line is that calls it. Files that upstream added are not looked for.
    """
    there = [path for path in change.code if path in before]
    lines = {line.strip() for line in coder.splitlines()}
    known = {path: _definitions(path, text) for path, text in before.items() if not is_test(path)}
    changed = dict[tuple[str, Definition], list[str]]()
    for path in there:
        old = before[path].splitlines()
        rows = _touched(old, after.get(path, "").splitlines())
        for definition, touched in _by_definition(rows, known[path]).items():
            changed[path, definition] = [old[row - 1].strip() for row in touched]
    calling = list(_callers(changed, known, before))
    return Sight(
        (sum(path in planner for path in there), len(there)),
        (sum(lines.issuperset(filter(None, touched)) for touched in changed.values()), len(changed)),
        (sum(not lines.isdisjoint(calls) for calls in calling), len(calling)),
    )


def _definitions(path: str, text: str) -> Sequence[Definition]:
    grammar = grammar_of(path)
    return read_symbols(text.encode("utf-8", "replace"), grammar).definitions if grammar else ()


def _touched(old: Sequence[str], new: Sequence[str]) -> list[int]:
    """The old lines, from 1, that are not in the new text; of lines that were put in, the one before them."""
    rows = list[int]()
    for tag, start, end, *_ in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag != "equal" and old:
            rows += range(start + 1, end + 1) if end > start else [max(start, 1)]
    return rows


def _by_definition(rows: Iterable[int], definitions: Sequence[Definition]) -> dict[Definition, list[int]]:
    """The innermost definitions that hold these lines, each with its lines."""
    found = dict[Definition, list[int]]()
    for row in rows:
        holding = [each for each in definitions if each.line <= row <= each.end]
        if holding:
            found.setdefault(min(holding, key=lambda each: each.end - each.line), []).append(row)
    return found


def _callers(
    changed: Collection[tuple[str, Definition]],
    known: Mapping[str, Sequence[Definition]],
    before: Mapping[str, str],
) -> Iterator[set[str]]:
    """For each definition that calls a changed one, the lines in which it does."""
    times = Counter(each.name for definitions in known.values() for each in definitions)
    names = {one.name for _, one in changed if times[one.name] <= SHARED and len(one.name) >= FEWEST_CALLED}
    if not names:
        return
    call = re.compile(rf"\b(?:{'|'.join(map(re.escape, sorted(names)))})\(")
    for path, definitions in known.items():
        if not call.search(before[path]):
            continue
        lines = before[path].splitlines()
        rows = [number for number, line in enumerate(lines, 1) if call.search(line)]
        for definition, inside in _by_definition(rows, definitions).items():
            calls = {lines[row - 1].strip() for row in inside if row != definition.line}
            if calls and (path, definition) not in changed:
                yield calls
