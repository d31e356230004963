"""From a document to a proposed plan: extract → infer → wait for the architect → reason → structure → propose.

Extraction by rules comes first, so that what is written is never lost; the model adds what stands between the lines.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import count
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypedDict

from agents.context import requirements_text
from agents.engine.ask import ask, question_of
from agents.engine.contracts import ModelContext, Runtime
from agents.engine.structured_output import ask_structured
from agents.engine.waiting import Waiting, WaitReason
from agents.events.effects import ErrorRaised, SystemNotice
from agents.events.lifecycle import RequirementsExtracted
from agents.events.reasoning import DecisionMade
from agents.llm.base import LLMError, Message
from agents.personas import PLANNER
from agents.planning.model import PLAN_SCHEMA
from agents.prompts.provenance import Source, as_turn, label, render
from agents.repair.feedback import clip
from agents.replies.parse import parse_reply
from agents.requirements.extract import extract
from agents.requirements.implicit import imply
from agents.requirements.injection_hints import passages
from agents.requirements.model import KINDS

if TYPE_CHECKING:
    from langgraph.graph import StateGraph

PLAN_ROUNDS = 2  # times an invalid plan goes back to the model with the exact errors, then a human decides
DOCUMENT_CHARS = 36_000  # about 12,000 tokens: the rest of a longer document is covered by its extracted requirements
INFERRED_MOST = 20
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


class PlanStore(Protocol):
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


@dataclass(kw_only=True)
class PlanContext(ModelContext):
    """Clients and doors of the planning steps."""

    text: str
    comment: str
    code: str = ""  # of the repository that the plan builds on; a Material
    background: str = ""  # what the document says beside its requirements
    task_store: PlanStore


def _say(
    ctx: PlanContext, messages: list[Message], *, step: str, key: str, schema: dict[str, Any] | None = None
) -> str:
    return ask(question_of(ctx, PLANNER, messages, step=step, key=key, schema=schema)).text


def _system(ctx: PlanContext) -> Message:
    return as_turn("system", render("system.planner", house_rules=ctx.house_rules), persona=PLANNER.name)


def read_requirements(state: PlanState, runtime: Runtime[PlanContext]) -> dict[str, Any]:
    """Rules first, then what the rules say is implied, then the model's reading between the lines."""
    ctx = runtime.context
    if ctx.task_store.confirmed():  # planning again over confirmed requirements
        return {"step": 1}
    found = extract(ctx.text)
    rows = [requirement.to_json() | {"origin": "explicit", "reason": ""} for requirement in found.requirements]
    rows += [implied.to_row() for implied in imply(found.requirements)]
    rows += _inferred(ctx, rows)
    if ctx.task_store.confirmed():  # by a person who did not wait for the model's additions
        return {"step": 1}
    ctx.task_store.record(rows, [paragraph.to_json() for paragraph in found.unmapped])
    explicit = len(found.requirements)
    implied, unmapped = len(rows) - explicit, len(found.unmapped)
    extracted = RequirementsExtracted(
        summary=f"{explicit} requirements found, {implied} implied, {unmapped} paragraphs left over",
        counts={"explicit": explicit, "implied": implied, "unmapped": unmapped},
    )
    ctx.event_log.emit(extracted, key="plan/extracted")
    strange = passages([*rows, *(paragraph.to_json() for paragraph in found.unmapped)])
    if strange:
        first = f"{strange[0]['where']} {strange[0]['why']}"
        notice = SystemNotice(
            summary=f"{len(strange)} passages look like instructions to the agents: {first}",
            text="Treated as text, like the rest of the document.",
            details={"odd": strange},
        )
        ctx.event_log.emit(notice, key="plan/odd")
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
        output = ask_structured(
            lambda asked, schema: _say(ctx, asked, step="infer", key="plan/infer", schema=schema),
            [_system(ctx)],
            as_turn("user", prompt, step="infer"),
            INFER_SCHEMA,
            fill=True,
        )
    except LLMError as error:
        failed = ErrorRaised(
            summary=f"The model could not be asked for implied requirements: {error}",
            role="planner",
            message=str(error),
            tool="model",
            next_steps=["retry", "skip"],
        )
        ctx.event_log.emit(failed, key="plan/infer-failed")
        return []
    items = (output.value or {}).get("requirements", [])
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
                "key": next(numbers),
                "text": text,
                "kind": kind,
                "lines": [0, 0],
                "acceptance": [],
                "origin": "inferred",
                "reason": f"{reason} (because of {because})" if because else reason,
            }
        )
    return added


def wait_for_architect(state: PlanState, runtime: Runtime[PlanContext]) -> dict[str, Any]:
    """Nothing is planned on requirements that nobody confirmed."""
    ctx = runtime.context
    ctx.task_store.confirm_if_waived()
    if not ctx.task_store.confirmed():
        raise Waiting(WaitReason.CONFIRMATION if ctx.task_store.any_found() else WaitReason.NO_REQUIREMENTS)
    return {"step": 2}


def reason(state: PlanState, runtime: Runtime[PlanContext]) -> dict[str, Any]:
    """Think freely about the split; the constrained answer comes in a call of its own."""
    ctx = runtime.context
    prompt = render(
        "plan.reason",
        project=ctx.project,
        requirements=label(requirements_text(ctx.task_store.requirements()), Source.DOCUMENT),
        code=ctx.code,
        background=label(ctx.background, Source.DOCUMENT) if ctx.background else "",
        comment=ctx.comment,
    )
    messages: list[Message] = [_system(ctx), as_turn("user", prompt, step="plan")]
    text = _say(ctx, messages, step="plan", key="plan/reason")
    for number, decision in enumerate(parse_reply(text).decisions[:12]):
        made = DecisionMade(
            summary=f"chose {decision.choice} → {', '.join(decision.requirements)}", role="planner", **asdict(decision)
        )
        ctx.event_log.emit(made, key=f"plan/decision{number}")
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
    output = ask_structured(
        lambda asked, schema: _say(ctx, asked, step="structure", key=f"plan/structure/{rounds}", schema=schema),
        state["messages"],
        as_turn("user", prompt, step="structure"),
        PLAN_SCHEMA,
    )
    plan, problems = output.value, output.problems
    if plan is None:
        plan, problems = {"tasks": []}, [*problems, "the answer is not a JSON object with tasks"]
    else:
        problems = ctx.task_store.problems_of(plan)
    return {
        "step": 4 + rounds,
        "messages": output.messages,
        "plan": plan,
        "problems": problems,
        "rounds": rounds + 1,
        "verdict": "again" if problems and rounds < PLAN_ROUNDS else "propose",
    }


def propose(state: PlanState, runtime: Runtime[PlanContext]) -> dict[str, Any]:
    """To a human, with what there is."""
    runtime.context.task_store.propose(state["plan"])
    return {"verdict": "proposed"}


def after_structure(state: PlanState) -> Literal["structure", "propose"]:
    """An invalid plan goes back to the model, twice at most."""
    return "structure" if state["verdict"] == "again" else "propose"


def build_plan_graph() -> StateGraph[PlanState, PlanContext, Any, Any]:
    """The planning graph, uncompiled."""
    from langgraph.graph import END, START, StateGraph  # imported on use, as in agents.engine.graph

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
