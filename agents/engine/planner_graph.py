"""From a document to a proposed plan: extract → infer → wait for the architect → reason → structure → propose.

Extraction by rules comes first, so that what is written is never lost; the model adds what stands between the lines.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from agents.context import said_once
from agents.engine import planner_blueprint
from agents.engine.contracts import Runtime
from agents.engine.planner_context import PlanContext, say, system_turn
from agents.engine.planner_lookups import documents_named, lessons_for, looked_up, offered
from agents.engine.planner_suggestions import inferred
from agents.engine.structured_output import StructuredOutput, ask_structured
from agents.engine.waiting import Waiting, WaitReason
from agents.events.base import counted
from agents.events.effects import SystemNotice
from agents.events.lifecycle import RequirementsExtracted
from agents.events.reasoning import DecisionMade
from agents.fragments.planned import TEAM
from agents.llm.base import LLMError, Message
from agents.planning.lookups import lookups_in
from agents.planning.model import ASKING_SCHEMA, PLAN_SCHEMA
from agents.prompts.provenance import Material, Source, as_turn, joined, label, render
from agents.replies.parse import parse_reply
from agents.requirements.extract import extract
from agents.requirements.implicit import imply
from agents.requirements.injection_hints import passages
from agents.requirements.second_reading import read_again

if TYPE_CHECKING:
    from langgraph.graph import StateGraph

PLAN_ROUNDS = 2  # times an invalid plan goes back to the model with the exact errors, then a human decides
SMALL_CHARS = 1_500  # a document of one requirement that is no longer takes the short way


class PlanState(TypedDict, total=False):
    """What the planning steps hand on; plain data."""

    step: int
    small: bool
    messages: list[Message]
    opening: str
    plan: dict[str, Any]
    problems: list[str]
    rounds: int
    extra: list[str]  # what the plan, valid as it is, adds that nobody asked for; told once
    verdict: str


def read_requirements(state: PlanState, runtime: Runtime[PlanContext]) -> dict[str, Any]:
    """Rules first, then what the rules say is implied, then the model's reading between the lines."""
    ctx = runtime.context
    found = extract(ctx.text)
    small = len(found.requirements) == 1 and len(ctx.text) <= SMALL_CHARS
    if ctx.task_store.confirmed():  # planning again over confirmed requirements
        return {"step": 1, "small": small}
    reading = read_again(found, []) if small else inferred(ctx, found)
    rows = reading.rows + [implied.to_row() for implied in imply(found.requirements)]
    if ctx.task_store.confirmed():  # by a person who did not wait for the model's additions
        return {"step": 1, "small": small}
    ctx.task_store.record(rows, [paragraph.to_json() for paragraph in found.unmapped], reading.questions)
    explicit = sum(row["origin"] == "explicit" for row in rows)
    suggested, unmapped = len(rows) - explicit, len(found.unmapped)
    extracted = RequirementsExtracted(
        summary=f"{counted(explicit, 'requirement')} found, {suggested} suggested, "
        f"{counted(unmapped, 'paragraph')} left over",
        counts={"explicit": explicit, "implied": suggested, "unmapped": unmapped},
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
    return {"step": 1, "small": small}


def wait_for_architect(state: PlanState, runtime: Runtime[PlanContext]) -> dict[str, Any]:
    """Nothing is planned on requirements that nobody confirmed."""
    ctx = runtime.context
    ctx.task_store.confirm_if_waived(small=state.get("small", False))
    if not ctx.task_store.confirmed():
        raise Waiting(WaitReason.CONFIRMATION if ctx.task_store.any_found() else WaitReason.NO_REQUIREMENTS)
    if open_build := ctx.task_store.waits_for():  # only then it is known what is built, and what is to be removed
        raise Waiting(WaitReason.DEPENDENCY, open_build)
    return {"step": 2}


def reason(state: PlanState, runtime: Runtime[PlanContext]) -> dict[str, Any]:
    """Think freely about the split; the constrained answer comes in a call of its own. Small work needs no thought."""
    ctx = runtime.context
    if ctx.team == TEAM:
        turns, question = planner_blueprint.opening(ctx)
        return {"step": 3, "rounds": 0, "problems": [], "messages": turns, "opening": question}
    requirements, beside = ctx.task_store.requirements(), ctx.task_store.background()
    asked, passages = said_once(requirements, ctx.task_store.passages())
    small = state.get("small", False) and len(requirements) == 1 and not ctx.starts
    prompt = render(
        "plan.reason",
        project=ctx.project,
        requirements=label(asked, Source.DOCUMENT),
        passages=label(passages, Source.DOCUMENT),
        recipe=ctx.recipe,
        code=ctx.code,
        tests=ctx.tests,
        lessons=lessons_for(ctx, "\n".join(str(row["text"]) for row in requirements)),
        documents=documents_named(ctx),
        may_look=offered(ctx),
        beside=label("\n".join(f"- {line}" for line in beside), Source.DOCUMENT) if beside else "",
        background=label(ctx.background, Source.DOCUMENT) if ctx.background else "",
        comment=ctx.comment,
        last_plan=label(ctx.last_plan, Source.MODEL, "json") if ctx.last_plan else "",
        small=small,
    )
    begun = {"step": 3, "rounds": 0, "problems": []}
    if small:
        return begun | {"messages": [system_turn(ctx)], "opening": prompt}
    messages: list[Message] = [system_turn(ctx), as_turn("user", prompt, step="plan")]
    text = say(ctx, messages, step="plan", key="plan/reason")
    for number, decision in enumerate(parse_reply(text).decisions[:12]):
        made = DecisionMade(
            summary=f"chose {decision.choice} → {', '.join(decision.requirements)}", role="planner", **asdict(decision)
        )
        ctx.event_log.emit(made, key=ctx.key(f"plan/decision{number}"))
    seen = looked_up(ctx, wanted) if offered(ctx) and (wanted := lookups_in(text)) else Material("", ())
    opening = render("plan.looked_up", seen=seen) if seen else ""
    return begun | {"messages": [*messages, as_turn("assistant", text)], "opening": opening}


def structure(state: PlanState, runtime: Runtime[PlanContext]) -> dict[str, Any]:
    """The plan as JSON by schema, validated in code."""
    ctx = runtime.context
    rounds = state["rounds"]
    if ctx.team == TEAM:
        return planner_blueprint.blueprint(ctx, state, PLAN_ROUNDS)
    extra = state.get("extra", [])
    prompt = f"{state['opening'].rstrip()}\n\n{render('plan.structure')}".lstrip()
    if extra or rounds:
        wrong = [" ".join(problem.split())[:400] for problem in (extra or state["problems"])[:20]]
        prompt = render("plan.again", problems=wrong, valid=bool(extra))
    # Small work was not thought about in a call of its own: it may ask here.
    may_ask, looked = not rounds and len(state["messages"]) == 1 and offered(ctx), False

    def asked(messages: list[Message], prompt: str, name: object, schema: dict[str, Any]) -> StructuredOutput:
        key, question = f"plan/structure/{name}", as_turn("user", prompt, step="structure")
        return ask_structured(
            lambda turns, given: say(ctx, turns, step="structure", key=key, schema=given), messages, question, schema
        )

    try:
        output = asked(state["messages"], prompt, rounds, ASKING_SCHEMA if may_ask else PLAN_SCHEMA)
    except LLMError:
        if not extra:
            raise
        return {"step": 4 + rounds, "verdict": "propose"}  # the plan is valid as it is
    if may_ask and not (output.value or {}).get("tasks") and (wanted := lookups_in(output.messages[-1]["content"])):
        shown = joined([render("plan.looked_up", seen=looked_up(ctx, wanted)), render("plan.structure")])
        output, looked = asked(output.messages, shown, "seen", PLAN_SCHEMA), True
    plan, problems = output.value, output.problems
    if plan is None:
        plan, problems = {"tasks": []}, [*problems, "the answer is not a JSON object with tasks"]
    else:
        problems = ctx.task_store.problems_of(plan)
    if extra and problems:
        plan, problems = state["plan"], []  # a worse answer does not take the place of a valid plan
    extra = [] if rounds or problems or looked else ctx.task_store.additions_of(plan)
    return {
        "step": 4 + rounds,
        "messages": output.messages,
        "plan": plan,
        "problems": problems,
        "extra": extra,
        "rounds": rounds + 1,
        "verdict": "again" if extra or (problems and rounds < PLAN_ROUNDS) else "propose",
    }


def propose(state: PlanState, runtime: Runtime[PlanContext]) -> dict[str, Any]:
    """To a human, with what there is."""
    runtime.context.task_store.propose(state["plan"])
    return {"verdict": "proposed"}


def after_structure(state: PlanState) -> Literal["structure", "propose"]:
    """An invalid plan goes back to the model, twice at most, and one with additions once."""
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
