"""What the libraries of a task offer.

Signatures and first lines of docstrings, read in the sandbox where they are installed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from agents.context.retrieval import Chunk, Near, Piece, fused, nearest, terms
from agents.languages.base import Language
from agents.llm.tokens import count_tokens
from sandbox.base import Sandbox

TOKENS = 500
MODULES = 6
PER_MODULE = 8
KEPT = 500
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")  # of a default without a notation: it differs from run to run
_LEAST = 2  # words that a name must share with the task before it is shown unasked

Row = tuple[str, str, str]  # name, signature, first line of the docstring


class Libraries:
    """Asks a sandbox for what modules offer, each once for the same packages."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], tuple[Row, ...]] = {}

    def signatures(
        self,
        language: Language,
        modules: Sequence[str],
        about: str,
        files: Mapping[str, str],
        *,
        sandbox: Callable[[], Sandbox],
        scope: str,
        near: Near | None = None,
    ) -> str:
        """Lines "module.name(parameters): words", at most TOKENS: what the files use first, then what fits the task.

        A module that is not installed says nothing. With `near` also what stands out by meaning fits. Raises
        SandboxError when the sandbox broke.
        """
        new = [module for module in modules if (scope, module) not in self._known]
        if new:
            if len(self._known) > KEPT:
                self._known.clear()
            for module, answer in zip(new, language.public_names(sandbox(), new), strict=True):
                self._known[(scope, module)] = _rows(answer)
        used = {name for text in files.values() for name in language.names_used(text)}
        rows = {module: self._known.get((scope, module), ()) for module in modules}
        fitting = _fitting(rows, about, near)
        chosen = [(first, line) for module in modules for first, line in _chosen(module, rows[module], used, fitting)]
        kept: set[str] = set()
        left = TOKENS
        for _, line in sorted(chosen, key=lambda one: not one[0]):  # else one module's guesses displace another's uses
            cost = count_tokens(line) + 1
            if cost <= left:
                kept.add(line)
                left -= cost
        return "\n".join(line for _, line in chosen if line in kept)


def _rows(answer: object) -> tuple[Row, ...]:
    rows = answer if isinstance(answer, list) else []
    return tuple((row[0], _ADDRESS.sub("", row[1]), row[2]) for row in rows if _is_row(row))


def _is_row(row: object) -> bool:
    return (
        isinstance(row, list) and len(row) == 3 and all(isinstance(part, str) for part in row) and row[0].isidentifier()
    )


def _fitting(rows: Mapping[str, Sequence[Row]], about: str, near: Near | None) -> dict[str, int]:
    """Full names of what fits the task, with their place in the order."""
    wanted = set(terms(about))
    known = [
        (
            f"{module}.{row[0]}",
            len(set(terms(f"{row[0]} {row[2]}")) & wanted),
            Chunk(module, Piece(row[0], 1, 1, " ".join(row), {})),
        )
        for module, those in rows.items()
        for row in those
    ]
    by_words = sorted(range(len(known)), key=lambda number: (-known[number][1], known[number][0]))
    orders = [[number for number in by_words if known[number][1] >= _LEAST]]
    if near is not None:
        orders.append(nearest(about, [chunk for _, _, chunk in known], by_words, near))
    return {known[number][0]: place for place, number in enumerate(fused(*orders))}


def _chosen(module: str, rows: Sequence[Row], used: set[str], fitting: Mapping[str, int]) -> list[tuple[bool, str]]:
    """A module's lines, and of each whether the files use it."""

    def is_used(name: str) -> bool:
        return any(use == name or use.startswith(f"{name}.") for use in used)

    named = [(f"{module}.{row[0]}", row) for row in rows]
    kept = [(name, row) for name, row in named if is_used(name) or name in fitting]
    kept.sort(key=lambda one: (not is_used(one[0]), fitting.get(one[0], len(fitting)), one[0]))
    return [
        (is_used(name), f"{name}{signature}" + (f": {' '.join(words.split())}" if words else ""))
        for name, (_, signature, words) in kept[:PER_MODULE]
    ]


shared = Libraries()
