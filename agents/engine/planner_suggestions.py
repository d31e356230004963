"""A model's reading of a document beside that of the rules: what it takes for asked, excluded or open."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import count
from typing import Any

from agents.engine.planner_context import PlanContext, say
from agents.engine.structured_output import ask_structured
from agents.events.effects import ErrorRaised
from agents.llm.base import LLMError, Message
from agents.personas import PLANNER
from agents.prompts.provenance import Source, as_turn, label, render
from agents.repair.feedback import clip
from agents.requirements.extract import lines_of
from agents.requirements.model import Extraction
from agents.requirements.pieces import DocumentPiece, pieces_of
from agents.requirements.second_reading import VERDICTS, SecondReading, is_certain, read_again

PIECES = 70  # in one question: about 2,000 tokens
MOST_QUESTIONS = 12  # about 840 pieces, 30 pages; the rest is read by the rules alone
PIECE_CHARS = 500
BESIDE = 2  # pieces of the parts before and after that are shown too
MOST = 20
Ask = Callable[[int, list[Message], dict[str, Any]], str]  # the reply to a question, by its number


def inferred(ctx: PlanContext, found: Extraction) -> SecondReading:
    """What the model and the rules read together, and what the model finds missing: suggestions, never more.

    Of a document that its author numbered throughout the model is not asked. A model that is down or answers nonsense
    costs only its own part, and the event log says so.
    """
    if is_certain(found):
        return read_again(found, [])

    def asked(number: int, messages: list[Message], schema: dict[str, Any]) -> str:
        return say(ctx, messages, step="infer", key=f"plan/infer{number if number > 1 else ''}", schema=schema)

    return read_by_model(ctx.project, ctx.text, found, asked, lambda problem: _failed(ctx, problem))


def read_by_model(project: str, text: str, found: Extraction, ask: Ask, failed: Callable[[str], None]) -> SecondReading:
    """As `inferred`, with any way to ask and to tell what failed."""
    judged: list[tuple[DocumentPiece, str]] = []
    added: list[Any] = []
    pieces = pieces_of(lines_of(text))
    parts = list(_parts(pieces))
    for number, part in enumerate(parts[:MOST_QUESTIONS], start=1):
        named = {index: piece for index, piece in part if piece.kind != "heading"}
        prompt = render(
            "plan.infer",
            project=project,
            pieces=label(_with_beside(pieces, part), Source.DOCUMENT),
            part=number,
            parts=len(parts),
            first=min(named),
            last=max(named),
        )
        try:
            output = ask_structured(
                partial(ask, number),
                [as_turn("system", render("system.infer"), persona=PLANNER.name)],
                as_turn("user", prompt, step="infer"),
                _schema(named),
                fill=True,
            )
        except LLMError as error:
            failed(f"The model could not be asked to read the document: {error}")
            break
        value = output.value or {}
        if not value:
            failed("The model's reading could not be understood.")
        said = value["pieces"] if isinstance(value.get("pieces"), dict) else {}
        judged += [(piece, str(said.get(str(index), "")).strip().lower()) for index, piece in part]
        added += value["requirements"] if isinstance(value.get("requirements"), list) else []
    if len(parts) > MOST_QUESTIONS:
        failed(
            f"The model read {MOST_QUESTIONS} of {len(parts)} parts of the document; the rest is read by rules alone."
        )
    reading = read_again(found, judged)
    reading.rows += _suggestions(added, reading.rows)
    return reading


def _parts(pieces: Sequence[DocumentPiece]) -> Iterator[list[tuple[int, DocumentPiece]]]:
    """The numbered pieces in portions for one question."""
    numbered = list(enumerate(pieces, start=1))
    for first in range(0, len(numbered), PIECES):
        part = numbered[first : first + PIECES]
        if any(piece.kind != "heading" for _, piece in part):
            yield part


def _with_beside(pieces: Sequence[DocumentPiece], part: Sequence[tuple[int, DocumentPiece]]) -> str:
    """A part as the model reads it: below the heading that it stands under, and between the pieces beside it."""
    first, last = part[0][0] - 1, part[-1][0]
    heading = [f"# {clip(piece.text, PIECE_CHARS)}" for piece in pieces[:first] if piece.kind == "heading"][-1:]
    before, after = (
        [f"… {clip(piece.text, PIECE_CHARS)}" for piece in beside if piece.kind != "heading"]
        for beside in (pieces[max(0, first - BESIDE) : first], pieces[last : last + BESIDE])
    )
    return "\n".join([*heading, *before, *(_shown(*one) for one in part), *after])


def _shown(number: int, piece: DocumentPiece) -> str:
    text = clip(piece.text, PIECE_CHARS)
    if piece.kind == "heading":
        return f"# {text}"
    mark = {"item": "- ", "table": "| ", "header": "| "}.get(piece.kind, "> " if piece.quoted else "")
    return f"{number}. {' ' * min(piece.indent, 12)}{mark}{f'{piece.box} ' if piece.box else ''}{text}"


def _schema(named: dict[int, DocumentPiece]) -> dict[str, Any]:
    verdict = {"type": "string", "enum": list(VERDICTS)}
    suggestion = {
        "type": "object",
        "properties": {
            "text": {"type": "string"},
            "reason": {"type": "string"},
        },
        "required": ["text", "reason"],
    }
    pieces = {
        "type": "object",
        "properties": {str(number): verdict for number in named},
        "required": [*map(str, named)],
    }
    return {
        "type": "object",
        "properties": {"pieces": pieces, "requirements": {"type": "array", "items": suggestion}},
        "required": ["pieces", "requirements"],
    }


def _suggestions(items: Sequence[Any], rows: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """What the model finds missing and no row says yet."""
    known = {" ".join(row["text"].lower().split()) for row in rows}
    keys = {row["key"] for row in rows}
    numbers = (key for number in count(1) if (key := f"INF-{number:02d}") not in keys)
    for item in items[:MOST]:
        text = " ".join(str(item.get("text", "")).split())[:1_000] if isinstance(item, dict) else ""
        if not text or text.lower() in known:
            continue
        known.add(text.lower())
        yield {
            "key": next(numbers),
            "text": text,
            "kind": "functional",
            "lines": [0, 0],
            "acceptance": [],
            "origin": "inferred",
            "reason": " ".join(str(item.get("reason", "")).split())[:500] or "The model gave no reason.",
        }


def _failed(ctx: PlanContext, problem: str) -> None:
    failed = ErrorRaised(summary=problem, role="planner", message=problem, tool="model", next_steps=["retry", "skip"])
    ctx.event_log.emit(failed, key="plan/infer-failed")
