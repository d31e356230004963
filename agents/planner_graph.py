"""From a document to a proposed plan: extract → infer → wait for the architect → reason → structure → propose.

Extraction by rules comes first, so that what is written is never lost; the model adds what stands between the lines.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, Literal, Protocol, TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime

from agents.asking import ask
from agents.context import requirements_text
from agents.extraction import KINDS, extract
from agents.extraction.implicit import imply
from agents.llm.base import LLMError, Message, Provider
from agents.llm.runner import ModelRunner
from agents.oddities import passages
from agents.personas import PLANNER
from agents.planning.plan import PLAN_SCHEMA
from agents.ports import Limits, Spine, Waiting
from agents.provenance import Source, as_turn, label, render
from agents.repair.feedback import clip
from agents.replies import parse_reply
from agents.settling import settle

PLAN_ROUNDS = 2  # times an invalid plan goes back to the model with the exact errors, then a human decides
DOCUMENT_CHARS = 36_000  # about 12,000 tokens: the rest of a longer document is covered by its extracted requirements
INFERRED_MOST = 20
NOTHING_FOUND = "no requirement was found in the document; add them by hand, then confirm the requirements"
INFER_SCHEMA: dict[str, Any] = {
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
                },
                "required": ["text", "kind", "reason"],
            },
        }
    },
    "required": ["requirements"],
}


class PlanState(TypedDict, total=False):
    """What the planning steps hand on; plain data."""

    step: int
    messages: list[Message]
    plan: dict[str, Any]
    problems: list[str]
    rounds: int
    verdict: str


class PlanBook(Protocol):
    """The rows that planning writes and reads."""

    def record(self, requirements: Sequence[Mapping[str, Any]], unmapped: Sequence[Mapping[str, Any]]) -> None:
        """Keep what was found; a second call replaces the first."""
        ...

    def confirmed(self) -> bool:
        """True once the architect confirmed the requirements."""
        ...

    def any_found(self) -> bool:
        """True when the document has at least one requirement that was not rejected."""
        ...

    def confirm_if_waived(self) -> None:
        """Confirm in the engine's name where the project asks for no approval."""
        ...

    def requirements(self) -> list[dict[str, Any]]:
        """The accepted requirements: key, text, kind, acceptance."""
        ...

    def problems_of(self, plan: Mapping[str, Any]) -> list[str]:
        """What is wrong with a plan; empty when it can be proposed."""
        ...

    def propose(self, plan: Mapping[str, Any]) -> None:
        """Put the plan before a person, with whatever problems it still has."""
        ...


@dataclass
class PlanContext:
    """Clients and doors of the planning steps."""

    project: str
    text: str
    house_rules: str
    comment: str
    spine: Spine
    book: PlanBook
    limits: Limits
    provider: Callable[[], Provider]
    runner: ModelRunner
    canary: str = ""  # planted in every prompt; a reply that holds it in any disguise is withheld


def _say(
    ctx: PlanContext, messages: list[Message], *, step: str, key: str, schema: dict[str, Any] | None = None
) -> str:
    answer = ask(
        canary=ctx.canary, spine=ctx.spine, limits=ctx.limits, runner=ctx.runner, provider=ctx.provider(), persona=PLANNER,
        messages=messages, step=step, key=key, schema=schema,
    )  # fmt: skip
    return answer.text


def _system(ctx: PlanContext) -> Message:
    return as_turn("system", render("system.planner", house_rules=ctx.house_rules))


def read_requirements(state: PlanState, runtime: Runtime[PlanContext]) -> dict[str, Any]:
    """Rules first, then what the rules say is implied, then the model's reading between the lines."""
    ctx = runtime.context
    if ctx.book.confirmed():  # planning again over confirmed requirements
        return {"step": 1}
    found = extract(ctx.text)
    rows = [requirement.to_json() | {"origin": "explicit", "reason": ""} for requirement in found.requirements]
    rows += [implied.to_row() for implied in imply(found.requirements)]
    rows += _inferred(ctx, rows)
    ctx.book.record(rows, [paragraph.to_json() for paragraph in found.unmapped])
    explicit = len(found.requirements)
    ctx.spine.emit(
        "requirement.extracted", role="planner", key="plan/extracted",
        summary=f"{explicit} requirements found, {len(rows) - explicit} implied, {len(found.unmapped)} paragraphs left over",
        payload={"counts": {"explicit": explicit, "implied": len(rows) - explicit, "unmapped": len(found.unmapped)}},
    )  # fmt: skip
    strange = passages([*rows, *(paragraph.to_json() for paragraph in found.unmapped)])
    if strange:
        ctx.spine.emit(
            "system", key="plan/odd", payload={"text": "Treated as text, like the rest of the document.", "odd": strange},
            summary=f"{len(strange)} passages look like instructions to the agents: {strange[0]['where']} {strange[0]['why']}",
        )  # fmt: skip
    return {"step": 1}


def _inferred(ctx: PlanContext, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The model's additions; a model that is down or answers nonsense costs only these."""
    prompt = render(
        "plan.infer",
        project=ctx.project,
        requirements=label(requirements_text(rows), Source.DOCUMENT),
        document=label(clip(ctx.text, DOCUMENT_CHARS), Source.DOCUMENT, "markdown"),
    )
    try:
        settled = settle(
            lambda asked, schema: _say(ctx, asked, step="infer", key="plan/infer", schema=schema),
            [_system(ctx)], prompt, INFER_SCHEMA, fill=True,
        )  # fmt: skip
    except LLMError as error:
        ctx.spine.emit(
            "error", role="planner", outcome="fail", key="plan/infer-failed",
            summary=f"The model could not be asked for implied requirements: {error}"[:400],
            payload={"message": str(error), "tool": "model", "next_steps": ["retry", "skip"]},
        )  # fmt: skip
        return []
    items = (settled.value or {}).get("requirements", [])
    known = {" ".join(row["text"].lower().split()) for row in rows}
    keys = {row["key"] for row in rows}
    numbers = (key for number in count(1) if (key := f"INF-{number:02d}") not in keys)
    added: list[dict[str, Any]] = []
    for item in items[:INFERRED_MOST] if isinstance(items, list) else []:
        if not isinstance(item, dict) or not str(item.get("text", "")).strip():
            continue
        text = " ".join(str(item["text"]).split())[:1_000]
        if text.lower() in known:
            continue
        known.add(text.lower())
        kind = item.get("kind") if item.get("kind") in KINDS else "functional"
        because = str(item.get("because_of", "")).strip()[:60]
        reason = " ".join(str(item.get("reason", "")).split())[:500] or "The model gave no reason."
        added.append(
            {
                "key": next(numbers), "text": text, "kind": kind, "lines": [0, 0], "acceptance": [],
                "origin": "inferred", "reason": f"{reason} (because of {because})" if because else reason,
            }
        )  # fmt: skip
    return added


def wait_for_architect(state: PlanState, runtime: Runtime[PlanContext]) -> dict[str, Any]:
    """Nothing is planned on requirements that nobody confirmed."""
    ctx = runtime.context
    ctx.book.confirm_if_waived()
    if not ctx.book.confirmed():
        found = "confirm the requirements" if ctx.book.any_found() else NOTHING_FOUND
        raise Waiting(f"needs you: {found}")
    return {"step": 2}


def reason(state: PlanState, runtime: Runtime[PlanContext]) -> dict[str, Any]:
    """Think freely about the split; the constrained answer comes in a call of its own."""
    ctx = runtime.context
    prompt = render(
        "plan.reason",
        project=ctx.project,
        requirements=label(requirements_text(ctx.book.requirements()), Source.DOCUMENT),
        comment=ctx.comment,
    )
    messages: list[Message] = [_system(ctx), as_turn("user", prompt)]
    text = _say(ctx, messages, step="plan", key="plan/reason")
    for number, decision in enumerate(parse_reply(text).decisions[:12]):
        ctx.spine.emit(
            "decision", role="planner", key=f"plan/decision{number}",
            summary=f"chose {decision.choice} → {', '.join(decision.requirements)}"[:400],
            payload={
                "choice": decision.choice, "rejected": decision.rejected, "reason": decision.reason,
                "requirements": list(decision.requirements),
            },
        )  # fmt: skip
    return {"step": 3, "messages": [*messages, as_turn("assistant", text)], "rounds": 0, "problems": []}


def structure(state: PlanState, runtime: Runtime[PlanContext]) -> dict[str, Any]:
    """The plan as JSON by schema, validated in code."""
    ctx = runtime.context
    rounds = state["rounds"]
    prompt = (
        render("plan.again", problems=[" ".join(problem.split())[:400] for problem in state["problems"][:20]])
        if rounds
        else render("plan.structure")
    )
    settled = settle(
        lambda asked, schema: _say(ctx, asked, step="structure", key=f"plan/structure/{rounds}", schema=schema),
        state["messages"], prompt, PLAN_SCHEMA,
    )  # fmt: skip
    plan, problems = settled.value, settled.problems
    if plan is None:
        plan, problems = {"tasks": []}, [*problems, "the answer is not a JSON object with tasks"]
    else:
        problems = ctx.book.problems_of(plan)
    return {
        "step": 4 + rounds,
        "messages": settled.messages,
        "plan": plan,
        "problems": problems,
        "rounds": rounds + 1,
        "verdict": "again" if problems and rounds < PLAN_ROUNDS else "propose",
    }


def propose(state: PlanState, runtime: Runtime[PlanContext]) -> dict[str, Any]:
    """To a human, with what there is."""
    runtime.context.book.propose(state["plan"])
    return {"verdict": "proposed"}


def after_structure(state: PlanState) -> Literal["structure", "propose"]:
    """An invalid plan goes back to the model, twice at most."""
    return "structure" if state["verdict"] == "again" else "propose"


def build_plan_graph() -> StateGraph[PlanState, PlanContext, Any, Any]:
    """The planning graph, uncompiled."""
    graph: StateGraph[PlanState, PlanContext, Any, Any] = StateGraph(PlanState, context_schema=PlanContext)
    graph.add_node("read_requirements", read_requirements)
    graph.add_node("wait_for_architect", wait_for_architect)
    graph.add_node("reason", reason)
    graph.add_node("structure", structure)
    graph.add_node("propose", propose)
    graph.add_edge(START, "read_requirements")
    graph.add_edge("read_requirements", "wait_for_architect")
    graph.add_edge("wait_for_architect", "reason")
    graph.add_edge("reason", "structure")
    graph.add_conditional_edges("structure", after_structure)
    graph.add_edge("propose", END)
    return graph
