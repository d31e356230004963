"""Requirements that the model reads in what the rules left over, and between the lines: suggestions, never more."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import Any

from agents.context import requirements_text
from agents.engine.planner_context import PlanContext, say
from agents.engine.structured_output import ask_structured
from agents.events.effects import ErrorRaised
from agents.llm.base import LLMError
from agents.personas import PLANNER
from agents.prompts.provenance import Source, as_turn, label, render
from agents.repair.feedback import clip
from agents.requirements.model import Kind, Paragraph

LEFT_CHARS = 24_000  # of paragraphs without a requirement, about 8,000 tokens
MOST = 20
KINDS: tuple[Kind, ...] = ("functional", "non_functional", "constraint")  # a goal or a non-goal is nothing to build
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "requirements": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "text": {"type": "string"},
                    "kind": {"type": "string", "enum": list(KINDS)},
                    "reason": {"type": "string"},
                    "because_of": {"type": "string"},
                    "line": {"type": "integer"},
                },
                "required": ["text", "kind", "reason"],
            },
        }
    },
    "required": ["requirements"],
}


def inferred(ctx: PlanContext, rows: list[dict[str, Any]], left: Sequence[Paragraph]) -> list[dict[str, Any]]:
    """The model's additions to `rows`; `left` are the paragraphs that no requirement was read from.

    Without such paragraphs the model is not asked: rules have named what the list implies. A model that is down or
    answers nonsense costs only these, and the event log says so.
    """
    if not left:
        return []
    explicit = [row for row in rows if row["origin"] == "explicit"]
    prompt = render(
        "plan.infer",
        project=ctx.project,
        requirements=label(requirements_text(explicit), Source.DOCUMENT) if explicit else "",
        suggested=[row["text"] for row in rows if row["origin"] != "explicit"],
        left=label(clip("\n".join(f"{one.lines[0]}: {one.text}" for one in left), LEFT_CHARS), Source.DOCUMENT),
    )
    try:
        output = ask_structured(
            lambda asked, schema: say(ctx, asked, step="infer", key="plan/infer", schema=schema),
            [as_turn("system", render("system.infer"), persona=PLANNER.name)],
            as_turn("user", prompt, step="infer"),
            SCHEMA,
            fill=True,
        )
    except LLMError as error:
        _failed(ctx, f"The model could not be asked for implied requirements: {error}", str(error))
        return []
    if output.value is None:
        _failed(ctx, "The model's suggestions could not be read.", " ".join(output.problems))
    spans = {one.lines[0]: list(one.lines) for one in left}
    items = (output.value or {}).get("requirements", [])
    known = {" ".join(row["text"].lower().split()) for row in rows}
    keys = {row["key"] for row in rows}
    named = {*keys, *(row.get("author_key") for row in rows)} - {"", None}
    numbers = (key for number in count(1) if (key := f"INF-{number:02d}") not in keys)
    added: list[dict[str, Any]] = []
    for item in items[:MOST] if isinstance(items, list) else []:
        if not isinstance(item, dict) or not str(item.get("text", "")).strip():
            continue
        text = " ".join(str(item["text"]).split())[:1_000]
        if text.lower() in known:
            continue
        known.add(text.lower())
        kind = item.get("kind") if item.get("kind") in KINDS else "functional"
        because = str(item.get("because_of", "")).strip()
        reason = " ".join(str(item.get("reason", "")).split())[:500] or "The model gave no reason."
        added.append(
            {
                "key": next(numbers),
                "text": text,
                "kind": kind,
                "lines": spans.get(item.get("line", 0), [0, 0]),
                "acceptance": [],
                "origin": "inferred",
                "reason": f"{reason} (because of {because})" if because.partition(" ")[0] in named else reason,
            }
        )
    return added


def _failed(ctx: PlanContext, summary: str, message: str) -> None:
    failed = ErrorRaised(summary=summary, role="planner", message=message, tool="model", next_steps=["retry", "skip"])
    ctx.event_log.emit(failed, key="plan/infer-failed")
