"""What a second reader, a model, says of each piece of a document, brought together with what the rules found.

Nothing is lost and nothing is added: texts stay the document's own. What both read alike stays as it is. Where they
differ about what to build it becomes a suggestion, which a person accepts or not; what the reader takes for excluded is
not built, and says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Literal, get_args

from agents.requirements.model import Extraction
from agents.requirements.pieces import DocumentPiece

Verdict = Literal["asks", "detail", "excluded", "open", "other"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
Judged = Sequence[tuple[DocumentPiece, str]]
_DECIDES = frozenset(("asks", "excluded", "open"))
_LEFT_OUT = {
    "asks": "The model reads it as asked for; the rules left it out.",
    "excluded": "The model reads that it is not wanted; the rules left it out.",
}
_TAKEN = {
    "excluded": "The rules read it as asked for; the model reads that it is not wanted.",
    "open": "The rules read it as asked for; to the model it is an open question.",
    "other": "The rules read it as asked for; to the model it is background.",
    "asks": "The rules read it as not wanted; the model reads it as asked for.",
}
DOUBTS = (_TAKEN["open"], _TAKEN["other"])  # reasons of what the rules take for a requirement, and the model does not


@dataclass
class SecondReading:
    """The rows of requirements as `record_extraction` takes them, and the open questions ({text, lines})."""

    rows: list[dict[str, Any]]
    questions: list[dict[str, Any]] = field(default_factory=list)


def is_certain(found: Extraction) -> bool:
    """Whether the author numbered all that the document says: a second reading would tell nothing."""
    return all(paragraph.kind == "heading" for paragraph in found.unmapped) and all(
        requirement.author_key or requirement.kind in ("goal", "non_goal") for requirement in found.requirements
    )


def read_again(found: Extraction, judged: Judged) -> SecondReading:
    """What the rules found, as far as the second reader agrees; `judged` are pieces in their order with a verdict each.

    A word that is no verdict counts as none. Requirements that the rules joined are separated where the reader sees
    several.
    """
    reading = SecondReading([], list(found.to_json()["questions"]))
    places = [*found.requirements, *found.unmapped]
    standing = list(_standing(judged))
    owners = [_owner(piece, places) for piece, _ in judged]
    numbers = count(len(found.requirements) + 1)
    for index, requirement in enumerate(found.requirements):
        at = [number for number, owner in enumerate(owners) if owner == index]
        mine = [judged[number] for number in at]
        if mine and all(verdict == "detail" for _, verdict in mine):
            mine = [(piece, standing[at[0]]) for piece, _ in mine]
        row = requirement.to_json() | {"origin": "explicit", "reason": ""}
        if requirement.kind == "goal" or not mine:
            reading.rows.append(row)
            continue
        parts = [mine] if requirement.author_key else list(_parts(mine))
        for number, part in enumerate(parts):
            said = row if len(parts) == 1 else _part(row, part)
            if number:
                said["key"] = f"R{next(numbers)}"
            _correct(said, _verdict(part), reading)
            reading.rows.append(said)
    free = ((*one, owner) for one, owner in zip(judged, owners, strict=True))
    reading.rows += _left_out(free, len(found.requirements), reading)
    reading.rows.sort(key=lambda row: row["lines"][0])
    return reading


def _correct(row: dict[str, Any], verdict: str, reading: SecondReading) -> None:
    """Change what the rules made of a requirement where the second reader disagrees."""
    excluded = row["kind"] == "non_goal"
    if excluded and verdict == "asks":
        row |= {"kind": "functional", "origin": "inferred", "reason": _TAKEN["asks"]}
    elif not excluded and verdict == "excluded":
        row |= {"kind": "non_goal", "reason": _TAKEN["excluded"]}
    elif not excluded and verdict in ("open", "other") and not row["author_key"]:
        row |= {"origin": "inferred", "reason": _TAKEN[verdict]}
        if verdict == "open":
            _ask(row["text"], row["lines"], reading)


def _left_out(
    free: Iterable[tuple[DocumentPiece, str, int]], taken: int, reading: SecondReading
) -> Iterator[dict[str, Any]]:
    """Suggestions from what the rules left out, each with the details that follow it."""
    numbers = count(1)
    last: dict[str, Any] | None = None
    for piece, verdict, owner in free:
        taken_already = 0 <= owner < taken or piece.kind == "heading"
        if verdict == "detail" and last and not taken_already:
            last["text"] += f" {piece.text}"
            last["lines"][1] = max(last["lines"][1], piece.lines[1])
            continue
        if last:
            yield last
        last = None
        if taken_already:
            continue
        if verdict == "open":
            _ask(piece.text, list(piece.lines), reading)
        elif verdict in _LEFT_OUT:
            last = {
                "key": f"INF-{next(numbers):02d}",
                "text": piece.text,
                "kind": "functional" if verdict == "asks" else "non_goal",
                "lines": list(piece.lines),
                "acceptance": [],
                "origin": "inferred",
                "reason": _LEFT_OUT[verdict],
            }
    if last:
        yield last


def _ask(text: str, lines: Sequence[int], reading: SecondReading) -> None:
    if not any(question["lines"][0] <= lines[1] and lines[0] <= question["lines"][1] for question in reading.questions):
        reading.questions.append({"text": text, "lines": list(lines)})


def _parts(mine: Judged) -> Iterator[Judged]:
    """The pieces of one requirement as statements: each begins where the reader sees a further one.

    The sentences of a list item or of a row stay together, as its author put them.
    """
    part: list[tuple[DocumentPiece, str]] = []
    for piece, verdict in mine:
        apart = piece.kind != "sentence" or (part[:1] and part[0][0].kind in ("para", "sentence"))
        if part and apart and verdict in _DECIDES and _DECIDES & {one for _, one in part}:
            yield part
            part = []
        part.append((piece, verdict))
    yield part


def _standing(judged: Judged) -> Iterator[str]:
    """For each piece the word for what it belongs to: its own, or that of the piece that a detail comes after."""
    last = ""
    for piece, verdict in judged:
        last = "" if piece.kind == "heading" else last if verdict == "detail" else verdict
        yield last


def _verdict(part: Judged) -> str:
    """What the reader says of a statement: its first decisive word, "other" if all of it is, else nothing."""
    words = [verdict for _, verdict in part]
    return next((word for word in words if word in _DECIDES), "other" if set(words) == {"other"} else "")


def _part(row: Mapping[str, Any], part: Judged) -> dict[str, Any]:
    """One of several statements that the rules took for one, with the criteria that belong to it."""
    text = " ".join(piece.text for piece, _ in part)
    kept = [criterion for criterion in row["acceptance"] if _shared(criterion, text) > _ALIKE]
    lines = [min(piece.lines[0] for piece, _ in part), max(piece.lines[1] for piece, _ in part)]
    words = " ".join(piece.text for piece, _ in part if not any(_shared(piece.text, one) > _ALIKE for one in kept))
    return {**row, "text": words or text, "lines": lines, "acceptance": kept if words else []}


_ALIKE = 0.6


def _owner(piece: DocumentPiece, places: Sequence[Any]) -> int:
    """Which of the places, that have text and lines, the piece stands in; -1 for none."""
    beside = [
        (_shared(piece.text, _said(place)), -at)
        for at, place in enumerate(places)
        if place.lines[0] <= piece.lines[1] and piece.lines[0] <= place.lines[1]
    ]
    return -max(beside)[1] if beside else -1


def _said(place: Any) -> str:
    return " ".join((getattr(place, "title", ""), place.text, *getattr(place, "acceptance", ())))


def _shared(text: str, other: str) -> float:
    """Which share of a text's runs of three characters the other one has."""
    runs = {text[at : at + 3] for at in range(max(1, len(text) - 2))}
    return sum(run in other for run in runs) / len(runs)
