"""Planning for the team that writes Streamlit apps: the architect's blueprint takes the place of a list of tasks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agents.context import said_once
from agents.engine.planner_context import PlanContext, say
from agents.engine.structured_output import ask_structured
from agents.fragments.blueprint import BLUEPRINT_SCHEMA, MOST_LOGIC, MOST_UI, read_blueprint
from agents.fragments.planned import plan_of
from agents.llm.base import Message
from agents.personas import ARCHITECT
from agents.prompts.provenance import Source, as_turn, label, render


def opening(ctx: PlanContext) -> tuple[list[Message], str]:
    """The architect's conversation as it begins: its rules, and the question."""
    asked, passages = said_once(ctx.task_store.requirements(), ctx.task_store.passages())
    rules = render("system.architect", house_rules=ctx.house_rules, most_logic=MOST_LOGIC, most_ui=MOST_UI)
    prompt = render(
        "plan.blueprint",
        project=ctx.project,
        requirements=label(asked, Source.DOCUMENT),
        passages=label(passages, Source.DOCUMENT),
        recipe=ctx.recipe,
        background=label(ctx.background, Source.DOCUMENT) if ctx.background else "",
        comment=ctx.comment,
        last_plan=label(ctx.last_plan, Source.MODEL, "json") if ctx.last_plan else "",
    )
    return [as_turn("system", rules, persona=ARCHITECT.name)], prompt


def blueprint(ctx: PlanContext, state: Mapping[str, Any], rounds: int) -> dict[str, Any]:
    """One question for the blueprint, with what was wrong with the last one; the changed parts of the state.

    A blueprint that cannot be used goes back `rounds` times, each time with its mistakes in words.
    """
    number, messages = state["rounds"], state["messages"]
    prompt = state["opening"]
    if number:
        wrong = [" ".join(problem.split())[:400] for problem in state["problems"][:20]]
        prompt = render("plan.blueprint-again", problems=wrong)
    question = as_turn("user", prompt, step="blueprint")
    key = f"plan/blueprint/{number}"
    output = ask_structured(
        lambda turns, given: say(ctx, turns, step="blueprint", key=key, schema=given, persona=ARCHITECT),
        messages,
        question,
        BLUEPRINT_SCHEMA,
    )
    found, problems = read_blueprint(output.value) if output.value is not None else (None, output.problems)
    plan: dict[str, Any] = {"tasks": []}
    if found is not None:
        plan = plan_of(found, ctx.task_store.requirements())
        problems = ctx.task_store.problems_of(plan)
    return {
        "step": 4 + number,
        "messages": output.messages,
        "plan": plan | ({"notes": " ".join(problems)[:2_000]} if found is None else {}),
        "problems": problems,
        "extra": [],
        "rounds": number + 1,
        "verdict": "again" if problems and number < rounds else "propose",
    }
