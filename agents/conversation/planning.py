"""A goal becomes a plan first: nothing is written or run before a person's yes, then its steps are followed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from agents.conversation.contracts import TalkContext
from agents.conversation.display import MARKS
from agents.conversation.memory import tree
from agents.conversation.state import ChatPlan, Exchange, PlanStep, StepState
from agents.conversation.turn import TurnTooLong, begin_turn, give_up, messages_of, take_turn
from agents.engine.ask import ask, question_of
from agents.events.reasoning import DecisionMade
from agents.personas import CHAT
from agents.prompts.provenance import Material, Source, as_turn, label, render

MOST_STEPS = 12
ASKED_AGAIN = 2  # when a reply holds no plan
MOST_PLANS = 5  # that a person sends back with words
STEP_TRIES = 3
STEP_ROUNDS = 8
_STEP = re.compile(r"^\s{0,3}(?:\*\*)?(?:step\s+)?(\d{1,2})(?:[.):]|\s*[-–])(?:\*\*)?\s+(\S.*)$", re.IGNORECASE)
_BULLET = re.compile(r"^\s{0,3}[-*+]\s+(?:\[[ x]\]\s+)?(\S.*)$")


class NoPlan(Exception):
    """The model made no plan of the goal; the text says what is to be done."""


def plan_goal(ctx: TalkContext, goal: str) -> ChatPlan | None:
    """Have a plan made, show it, and return it once a person approved it; None when it was turned down.

    A plan of this goal that waits for its answer is shown again. Raises NoPlan, LLMError, OverBudget, Stopped and
    Waiting.
    """
    _not_in_todo_mode(ctx)
    give_up(ctx, "a plan is to be made")
    comment, asked = "", ctx.conversation.plan
    if asked is not None and (asked.approved or asked.goal != goal):
        asked = None
    for number in range(MOST_PLANS):
        plan, asked = asked or ChatPlan(goal, _steps_for(ctx, goal, comment, number)), None
        ctx.conversation.plan = plan
        ctx.save()
        yes, comment = ctx.surface.approve(plan)
        said = "approved" if yes else "to be made differently" if comment.strip() else "turned down"
        decided = DecisionMade(
            summary=f"plan of {len(plan.steps)} steps: {said}",
            role="user",
            choice=said,
            rejected="",
            reason=comment,
            requirements=[],
        )
        ctx.event_log.emit(decided)
        if yes:
            plan.approved = True
            ctx.save()
            return plan
        if not comment.strip():
            break
    ctx.conversation.plan = None
    ctx.save()
    return None


def _not_in_todo_mode(ctx: TalkContext) -> None:
    turn = ctx.conversation.turn
    if turn is not None and turn.todo is not None:
        raise NoPlan("A task in TODO mode is under way: go on with it, or give it up first.")


def _steps_for(ctx: TalkContext, goal: str, comment: str, number: int) -> list[PlanStep]:
    problem, last = "", ctx.conversation.plan if comment else None
    for again in range(ASKED_AGAIN + 1):
        asked = render(
            "chat.plan",
            goal=Material(goal, {Source.PERSON}),
            files=label(tree(ctx.files.paths()), Source.REPOSITORY),
            last=Material("\n".join(f"{one.number}. {one.description}" for one in last.steps), {Source.MODEL})
            if last
            else "",
            comment=comment,
            problem=problem,
            most=MOST_STEPS,
        )
        messages = [*messages_of(ctx), as_turn("user", asked, step="plan")]
        key = f"plan/{ctx.conversation.number}/{ctx.event_log.head().seq}/{number}/{again}"
        answer = ask(question_of(ctx, CHAT, messages, step="plan", key=key))
        if steps := read_steps(answer.text):
            return steps
        problem = "Your last answer held no numbered list."
    raise NoPlan("The model made no plan of it: say the goal in other words, or ask for it without /plan.")


def read_steps(text: str) -> list[PlanStep]:
    """The steps of a numbered list, or of a plain list where there is no numbered one."""
    lines = [line for line in text.splitlines() if not line.strip().startswith(("```", "~~~", "<<"))]
    found = [match[2] for line in lines if (match := _STEP.match(line))]
    if len(found) < 1:
        found = [match[1] for line in lines if (match := _BULLET.match(line))]
    texts = [re.sub(r"\*\*|__", "", text).strip().rstrip(":") for text in found]
    return [PlanStep(number, text[:400]) for number, text in enumerate(filter(None, texts[:MOST_STEPS]), 1)]


def follow_plan(ctx: TalkContext, after: Callable[[str], object] = lambda _: None) -> list[Exchange]:
    """Do the steps that are left of the approved plan; stops at one that fails, which is tried again the next time.

    `after` is called with what each step was.

    Raises LLMError, OverBudget, Stopped and Waiting: then `follow_plan` goes on where it was.
    """
    _not_in_todo_mode(ctx)
    plan, exchanges = ctx.conversation.plan, list[Exchange]()
    for failed in [one for one in plan.steps if one.state == "failed"] if plan is not None else []:
        failed.state = "pending"
    if plan is None or not plan.approved:
        raise NoPlan("There is no approved plan: /plan GOAL makes one.")
    with following(ctx):
        while (step := plan.current) is not None:
            exchange = _do_step(ctx, plan, step)
            exchanges.append(exchange)
            after(step.description)
            if step.state == "failed":
                break
    plan.over = plan.current is None
    ctx.save()
    return exchanges


@contextmanager
def following(ctx: TalkContext) -> Iterator[None]:
    """While an approved plan is followed, what it writes and runs needs no further leave."""
    ctx.following = True
    try:
        yield
    finally:
        ctx.following = False


def _do_step(ctx: TalkContext, plan: ChatPlan, step: PlanStep) -> Exchange:
    _move(ctx, plan, step, "in_progress")
    trouble, exchange = "", Exchange("", "")
    for again in range(STEP_TRIES):
        if (turn := ctx.conversation.turn) is not None and turn.step != step.number:
            give_up(ctx, "the plan goes on")  # a prompt that broke off is no step of it
        if ctx.conversation.turn is None:
            turn = begin_turn(ctx, _prompt(plan, step, trouble), shown=f"Step {step.number}: {step.description}")
            turn.step = step.number
            ctx.save()
        try:
            exchange = take_turn(ctx, rounds=STEP_ROUNDS)
        except TurnTooLong as problem:
            exchange = give_up(ctx, str(problem)) or exchange
            exchange.failed = True
        if not exchange.failed:
            _move(ctx, plan, step, "done")
            return exchange
        trouble = "\n".join([*exchange.done[-3:], exchange.trouble])
        if again + 1 < STEP_TRIES:
            ctx.surface.notice(f"Step {step.number} failed; the model tries it again.")
    step.note = trouble[:500]
    _move(ctx, plan, step, "failed")
    return exchange


def _prompt(plan: ChatPlan, step: PlanStep, trouble: str) -> Material:
    return render(
        "chat.step",
        goal=Material(plan.goal, {Source.PERSON}),
        steps=Material("\n".join(step_lines(plan)), {Source.MODEL}),
        number=step.number,
        description=Material(step.description, {Source.MODEL}),
        trouble=label(trouble, Source.TESTS),
    )


def step_lines(plan: ChatPlan) -> list[str]:
    """The plan as lines of text, with a mark for the state of each step."""
    return [f"{MARKS[step.state][0]} {step.number}. {step.description}" for step in plan.steps]


def _move(ctx: TalkContext, plan: ChatPlan, step: PlanStep, state: StepState) -> None:
    step.state = state
    ctx.save()
    ctx.surface.progress(plan)
