"""What the libraries of a task offer: signatures and first lines of docstrings, read in the sandbox where they are installed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence

from agents.context.apis import look_up
from agents.context.retrieval import Chunk, Near, Piece, fused, nearest, terms
from agents.context.uses import uses_of
from agents.imports import imported_modules, plain_name
from agents.llm.tokens import count_tokens
from sandbox.base import Sandbox
from sandbox.import_names import DISTRIBUTIONS

TOKENS = 500
MODULES = 6
PER_MODULE = 8
KEPT = 500
_TOOLS = frozenset({"pytest", "hypothesis", "coverage"})  # what tests are written with; code is not
_LEAST = 2  # words that a name must share with the task before it is shown unasked

Row = tuple[str, str, str]  # name, signature, first line of the docstring


def modules_of(files: Mapping[str, str], packages: Iterable[str], local: Iterable[str]) -> list[str]:
    """Libraries beside the standard one that the files import or the task names, in order."""
    own = set(local)
    named = {name for package in packages for name in _import_names(plain_name(package))}
    found = (imported_modules(files) | named) - own - _TOOLS - sys.stdlib_module_names
    return sorted(name for name in found if name.isidentifier())[:MODULES]


def _import_names(package: str) -> list[str]:
    known = [module for module, distribution in DISTRIBUTIONS.items() if distribution == package and "." not in module]
    return known or [package.replace("-", "_")]


class Libraries:
    """Asks a sandbox for what modules offer, each once for the same packages."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], tuple[Row, ...]] = {}

    def signatures(
        self,
        modules: Sequence[str],
        about: str,
        files: Mapping[str, str],
        *,
        sandbox: Callable[[], Sandbox],
        scope: str,
        near: Near | None = None,
    ) -> str:
        """Lines "module.name(parameters): words", at most TOKENS: what the files use first, then what fits the task.

        A module that is not installed says nothing. With `near` also what stands out by meaning fits. Raises SandboxError
        when the sandbox broke.
        """
        new = [module for module in modules if (scope, module) not in self._known]
        if new:
            if len(self._known) > KEPT:
                self._known.clear()
            for module, answer in zip(new, look_up(sandbox(), {"modules": new}, len(new)), strict=True):
                self._known[(scope, module)] = _rows(answer)
        used = {use.name for text in files.values() for use in uses_of(text)}
        rows = {module: self._known.get((scope, module), ()) for module in modules}
        fitting = _fitting(rows, about, near)
        lines: list[str] = []
        left = TOKENS
        for module in modules:
            for line in _chosen(module, rows[module], used, fitting):
                cost = count_tokens(line) + 1
                if cost <= left:
                    lines.append(line)
                    left -= cost
        return "\n".join(lines)


def _rows(answer: object) -> tuple[Row, ...]:
    rows = answer if isinstance(answer, list) else []
    return tuple((row[0], row[1], row[2]) for row in rows if _is_row(row))


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


def _chosen(module: str, rows: Sequence[Row], used: set[str], fitting: Mapping[str, int]) -> list[str]:
    def is_used(name: str) -> bool:
        return any(use == name or use.startswith(f"{name}.") for use in used)

    named = [(f"{module}.{row[0]}", row) for row in rows]
    kept = [(name, row) for name, row in named if is_used(name) or name in fitting]
    kept.sort(key=lambda one: (not is_used(one[0]), fitting.get(one[0], len(fitting)), one[0]))
    return [
        f"{name}{signature}" + (f": {' '.join(words.split())}" if words else "")
        for name, (_, signature, words) in kept[:PER_MODULE]
    ]


shared = Libraries()
