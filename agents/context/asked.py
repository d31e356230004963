"""What is asked for, each word once: requirements, below them the tables and examples that they tell in one line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from textwrap import dedent, indent
from typing import Any

_GAP = "…"
_FORM = re.compile(r"\s*\||(?: {4}|\t)\s*\S|\s*(?:`{3,}|~{3,}|>>>\s)")  # a line of a table, an example, a fence
_RULE = re.compile(r"[\s|:=+-]*")  # lines of a table that only draw it
_TOKEN = re.compile(r"[^\s|]+")
_LEAST = 3  # words of an example that is taken out of a sentence


def requirement_name(requirement: Mapping[str, Any]) -> str:
    """The key, with the author's own id beside it: `R9 (FR-03)`."""
    key, author_key = requirement["key"], requirement.get("author_key", "")
    return f"{key} ({author_key})" if author_key else str(key)


def said_once(requirements: Iterable[Mapping[str, Any]], passages: str) -> tuple[str, str]:
    """The requirements as lines, and what the document says of them besides.

    A table or example that a requirement's text tells in one line stands below it in its own lines instead; one that it
    has in lines already stays where it is. What the texts say is left out of the passages.
    """
    rows = list(requirements)
    texts, examples = [str(row["text"]) for row in rows], [list[str]() for _ in rows]
    own = [f"\n{text}\n" for text in texts if "\n" in text]  # in lines as they were written: an incident, a ticket
    rest = list[list[str]]()
    for run in _runs(passages):
        block, taken = "\n".join(run), False
        if block.strip() and any(f"\n{block}\n" in text for text in own):
            rest.append([_GAP])
            continue
        for number, text in enumerate(texts):
            if (cut := _without(text, run)) is not None:
                texts[number], taken = cut, True
                examples[number].append(indent(dedent("\n".join(run)), "    "))
                break
        if not taken:
            rest.append(run)
    lines = [line for each in zip(rows, texts, examples, strict=True) for line in _lines(*each)]
    said = [_flat(str(one)) for row in rows for one in (row["text"], *(row.get("acceptance") or ()))]
    return "\n".join(lines) or "- (none)", _left(rest, said)


def _lines(row: Mapping[str, Any], text: str, below: Sequence[str]) -> Iterator[str]:
    """A requirement with its examples, its earlier wording and its criteria."""
    excluded = " (exclusion)" if row.get("kind") == "non_goal" else ""
    yield f"- {requirement_name(row)}{excluded}: {text}"
    yield from below
    if row.get("before"):
        yield f"  Built so far is its earlier wording: {row['before']}"
    yield from (f"  - {entry}" for entry in row.get("acceptance") or [])


def _runs(passages: str) -> list[list[str]]:
    """The lines of the passages: those of one table or example together, each other line alone."""
    runs: list[list[str]] = []
    form, fence = False, ""
    for line in passages.split("\n") if passages else ():
        if fence or (form and _FORM.match(line)):
            runs[-1].append(line)
        else:
            runs.append([line])
        form, marks = bool(_FORM.match(line)), line.strip()[:3]
        if marks in ("```", "~~~") and fence in ("", marks):
            fence = "" if fence else marks
    return runs


def _without(text: str, run: Sequence[str]) -> str | None:
    """The text with a mark in place of the words of this table or example; None where it does not have them."""
    words = [word for line in run if not _RULE.fullmatch(line) for word in _TOKEN.findall(line)]
    if not _FORM.match(run[0]) or len(words) < _LEAST:
        return None
    found = list(_TOKEN.finditer(text))
    there = [one[0] for one in found]
    at = next((at for at in range(len(there)) if there[at : at + len(words)] == words), None)
    if at is None or len(words) == len(there):
        return None
    before, after = text[: found[at].start()].rstrip(" |"), text[found[at + len(words) - 1].end() :].strip(" |")
    return f"{before} {_GAP} {after}".strip() if after else before


def _flat(text: str) -> str:
    return f" {' '.join(_TOKEN.findall(text))} "


def _left(runs: Sequence[Sequence[str]], said: Sequence[str]) -> str:
    """The lines that no text has, with one mark for what is left out between them."""
    made: list[str] = []
    for run in runs:
        is_said = len(run) == 1 and _is_said(run[0], said, least=1 if made[-1:] == [_GAP] else _LEAST)
        made += [_GAP] if is_said else run
    while made and made[0] in ("", _GAP):
        made.pop(0)
    while made and made[-1] in ("", _GAP):
        made.pop()
    return re.sub(rf"(?:\n*^{_GAP}$\n*)+", f"\n{_GAP}\n", "\n".join(made), flags=re.MULTILINE)


def _is_said(line: str, said: Sequence[str], least: int) -> bool:
    """Whether the texts have the words of a line, of which one sentence may end and the next begin."""
    words = _TOKEN.findall(line.strip().lstrip("-*").strip())
    if len(words) < least or _FORM.match(line):
        return False
    return any(
        all(not part or any(f" {' '.join(part)} " in text for text in said) for part in (words[:cut], words[cut:]))
        for cut in range(len(words) + 1)
    )
