"""Which files matter for a task: personalised PageRank over "this file mentions what that file defines".

Page et al., "The PageRank Citation Ranking" (1998); walks start again at the task's own files and at the files that
define words of the task.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping

from agents.languages.registry import language_of
from agents.languages.symbols import Symbols

DAMPING = 0.85
ROUNDS = 40
DEFINED_TOO_OFTEN = 12  # a name that so many files define (main, run, get) says nothing
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]{2,60}")

Edges = dict[str, dict[str, float]]


def words_of(text: str) -> set[str]:
    """Identifiers in a text, whole and by their parts, in lower case."""
    found: set[str] = set()
    for word in _WORD.findall(text[:50_000]):
        found.add(word.lower())
        found.update(parts_of(word))
    return found


def parts_of(identifier: str) -> list[str]:
    """snake_case and camelCase taken apart, in lower case; pieces of fewer than three letters are dropped."""
    spread = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", identifier)
    return [part.lower() for part in spread.split("_") if len(part) > 2]


def mentions_graph(symbols: Mapping[str, Symbols]) -> Edges:
    """Edges from a file that mentions a name to the files that define it, heavier for telling names.

    A name comes from a module that the file mentions too; one whose module it does not mention is probably another's.
    Methods are met without their class being named, so they count little.
    """
    definers: dict[str, dict[str, float]] = defaultdict(dict)
    for path in sorted(symbols):
        for definition in symbols[path].definitions:
            known = definers[definition.name]
            known[path] = max(known.get(path, 0.0), 0.1 if definition.inside else 1.0)
    written = {path: language_of(path) for path in symbols}
    modules = {path: one.import_word(path) if one else "" for path, one in written.items()}
    edges: Edges = {path: {} for path in sorted(symbols)}
    for path in edges:
        mentions = symbols[path].mentions
        for name, count in mentions.items():
            targets = definers.get(name)
            if not targets or len(targets) > DEFINED_TOO_OFTEN or path in targets:
                continue
            telling = (0.2 if name.startswith("_") else 1.0) * (2.0 if len(parts_of(name)) > 1 else 1.0)
            for target, weight in targets.items():
                if written[path] is not written[target]:
                    continue  # files of two languages do not import each other
                near = 1.0 if not modules[target] or modules[target] in mentions else 0.1
                worth = math.sqrt(count) / len(targets) * telling * weight * near
                edges[path][target] = edges[path].get(target, 0.0) + worth
    return edges


def ranked(
    symbols: Mapping[str, Symbols], own: Iterable[str] = (), words: Iterable[str] = ()
) -> list[tuple[str, float]]:
    """Paths with their rank, best first; the same input gives the same order, to the byte."""
    paths = sorted(symbols)
    if not paths:
        return []
    start = _start(symbols, set(own), set(words))
    edges = mentions_graph(symbols)
    sums = {path: sum(targets.values()) for path, targets in edges.items()}
    rank = dict(start)
    for _ in range(ROUNDS):
        lost = sum(rank[path] for path in paths if not edges[path])
        after = {path: (1 - DAMPING + DAMPING * lost) * start[path] for path in paths}
        for path in paths:
            for target, weight in edges[path].items():
                after[target] += DAMPING * rank[path] * weight / sums[path]
        rank = after
    return sorted(((path, round(value, 9)) for path, value in rank.items()), key=lambda row: (-row[1], row[0]))


def _start(symbols: Mapping[str, Symbols], own: set[str], words: set[str]) -> dict[str, float]:
    weights = {}
    for path in sorted(symbols):
        names = {definition.name.lower() for definition in symbols[path].definitions}
        pieces = {part for definition in symbols[path].definitions for part in parts_of(definition.name)}
        place = words_of(path)
        weights[path] = (
            0.05
            + (20.0 if path in own else 0.0)
            + 2.0 * len(names & words)
            + 0.5 * len((pieces - names) & words)
            + 1.0 * len(place & words)
        )
    total = sum(weights.values())
    return {path: weight / total for path, weight in weights.items()}
