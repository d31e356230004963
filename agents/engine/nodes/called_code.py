"""What a change builds on: unchanged definitions beside it that the task names, or that it calls."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from agents.context.brief import LONG_LINES, SHORT_CHARS, without_docstring
from agents.context.calls import HIDES, SHARED, named
from agents.context.excerpt import spoken
from agents.context.retrieval import Chunk, Piece, pieces_of, terms
from agents.context.view import in_classes
from agents.engine.contracts import TaskContext
from agents.engine.nodes.opening import about_of
from agents.engine.nodes.removals import base_files
from agents.engine.state import TaskState
from agents.languages.registry import grammar_of
from agents.languages.symbols import Grammar, Symbols, read_symbols
from agents.prompts.provenance import Material, Source, joined, label
from agents.workspace.worktree import Change

CHARS = 3_500  # of all that is shown
LONG = 1_000  # of one definition; of a longer one the beginning
HELPER = 400  # of what is called: as short as this it comes first
WRAPS = 200  # of a function that does little but call another
SHOWN_BELOW = "… in the change …"
_ADDED = re.compile(r"^\+(?!\+\+ )(.*)", re.MULTILINE)
_HUNK = re.compile(r"^@@ -\S+ \+(\d+)(?:,(\d+))? @@", re.MULTILINE)
_CALLED = re.compile(r"\b([A-Za-z_]\w+)\(")
_WORD = re.compile(r"[A-Za-z_]\w+")


def code_called(state: TaskState, ctx: TaskContext, changes: Sequence[Change]) -> Material:
    """Of the files that a change alters what it leaves and builds on: of short definitions that it changes the lines
    that the diff leaves out, what the task names, what the code calls, and what that calls.
    """
    before = base_files(state, ctx, [one.path for one in changes])[0]
    code = [one for one in changes if one.path not in state["candidate"]["tests"]]
    called = {name for one in code for line in _ADDED.findall(one.diff) for name in _CALLED.findall(line)}
    diffs = {one.path: one.diff for one in code}
    about, left, shown = about_of(state["task"]), CHARS, list[Material]()
    for path, text in state["candidate"]["files"].items():
        grammar = grammar_of(path)
        if grammar is not None and path in before:
            made = _of_file(path, text, before[path], grammar, (about, called), diffs.get(path, ""), left)
            left -= len(made)
            shown.append(label(made, Source.REPOSITORY, f"path={path}"))
    return joined(shown)


def _of_file(
    path: str, text: str, before: str, grammar: Grammar, wanted: tuple[str, set[str]], diff: str, room: int
) -> str:
    """What is named or called, and the short values that this mentions, in at most so many characters."""
    symbols, lines, kept = read_symbols(text.encode(), grammar), text.split("\n"), list[Piece]()
    bodies = {one: "\n".join(lines[one.line - 1 : one.end]) for one in pieces_of(text, symbols)}
    chunks = [Chunk(path, piece) for piece, body in bodies.items() if body in before]
    for piece, body in bodies.items():
        if body not in before and (rest := _left_out(body, piece.line, diff)) and len(rest) <= min(LONG, room):
            kept.append(replace(piece, text=rest))
            room -= len(rest)
    for chunk in dict.fromkeys([*named(wanted[0], chunks), *_called(chunks, bodies, wanted)]):
        body = without_docstring(bodies[chunk.piece])
        body = body if len(body) <= LONG else f"{body[:LONG].rpartition(chr(10))[0]}\n…"
        if len(body) <= room:
            kept.append(replace(chunk.piece, text=body))
            room -= len(body)
    values = _values(symbols, lines, kept, before, room)
    pieces = sorted(kept, key=lambda piece: piece.line)
    return "\n".join([*values, in_classes(pieces)]) if pieces else ""


def _called(chunks: Sequence[Chunk], bodies: Mapping[Piece, str], wanted: tuple[str, set[str]]) -> list[Chunk]:
    """Definitions that the code calls, what the short ones of them wrap first, and then what all of these call."""
    names = [one.name.rpartition(".")[2] for one in chunks]
    telling = {
        one: name for one, name in zip(chunks, names, strict=True) if names.count(name) <= SHARED and name not in HIDES
    }
    stems = set(terms(wanted[0]))
    calls = [one for one, name in telling.items() if name in wanted[1]]
    wrapped = {name for one in calls if len(one.text) <= WRAPS for name in _CALLED.findall(bodies[one.piece])}
    inner = [one for one in telling if telling[one] in wrapped - wanted[1]]
    short = [one for one in calls if len(without_docstring(bodies[one.piece])) <= HELPER]
    calls = list(dict.fromkeys([*short, *inner, *sorted(calls, key=lambda one: not spoken(one, stems))]))
    deeper = {name for one in calls for name in _CALLED.findall(bodies[one.piece])}
    return [*calls, *(one for one in telling if telling[one] in deeper)]


def _values(symbols: Symbols, lines: Sequence[str], kept: Sequence[Piece], before: str, room: int) -> list[str]:
    """The short values at the top of the file that these pieces mention, and those that these mention."""
    mentioned = set(_WORD.findall("\n".join(one.text for one in kept)))
    texts = {
        one: value
        for one in reversed(symbols.definitions)
        if one.kind == "value" and not one.inside
        if len(value := "\n".join(lines[one.line - 1 : one.end])) <= min(SHORT_CHARS, room) and value in before
    }
    values = list[str]()
    for one, value in texts.items():  # from the end: a value mentions those above it
        if one.name in mentioned:
            values.insert(0, value)
            mentioned |= set(_WORD.findall(value))
    return values


def _left_out(body: str, first: int, diff: str) -> str:
    """A changed definition that begins on line `first` without what the diff shows; "" where that is all of it."""
    seen = {line for start, count in _HUNK.findall(diff) for line in range(int(start), int(start) + int(count or 1))}
    lines, made = body.split("\n"), list[str]()
    hidden = [line for number, line in enumerate(lines[1:], first + 1) if number not in seen and line.strip()]
    if not hidden or len(lines) > LONG_LINES:
        return ""
    for number, line in enumerate(lines, first):
        if number == first or number not in seen:
            made.append(line)
        elif made[-1].strip() != SHOWN_BELOW:
            made.append(f"{line[: len(line) - len(line.lstrip())] or '    '}{SHOWN_BELOW}")
    return "\n".join(made)
