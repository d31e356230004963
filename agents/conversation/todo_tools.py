"""What a model may do to its own TODOs: add some, say that one is done; changing or skipping one asks a person."""

from __future__ import annotations

import json

from agents.conversation.contracts import TalkContext
from agents.conversation.results import done, failed
from agents.conversation.state import ChatPlan, Command, PlanStep, StepState, TodoWork, ToolResult, Turn
from agents.conversation.todo_json import NO_DESCRIPTION, NO_EXPECTED, TodoItem
from agents.conversation.tools import person_says
from agents.events.lifecycle import TodoChanged

MOST_TODOS = 20


def move(ctx: TalkContext, step: PlanStep, state: StepState, reason: str = "") -> None:
    """Change a TODO's state; it is shown and on record."""
    step.state, step.note = state, reason
    told(ctx, step)
    if (plan := ctx.conversation.plan) is not None:
        ctx.surface.progress(plan)


def told(ctx: TalkContext, step: PlanStep) -> None:
    """Put a TODO as it stands on record."""
    event = TodoChanged(
        summary=f"TODO {step.number} {step.state.replace('_', ' ')}: {step.description}"[:300],
        number=step.number,
        description=step.description,
        expected=step.expected,
        state=step.state,
        reason=step.note,
    )
    ctx.event_log.emit(event)


def close(ctx: TalkContext, turn: Turn, work: TodoWork, step: PlanStep, state: StepState, reason: str = "") -> None:
    """A TODO is over; what is remembered of its tries goes with it."""
    if step is current(ctx):
        work.rounds = work.tries = work.same = work.retries = 0
        work.claimed, work.newest, work.seen = False, "", []
    turn.done.append(f"TODO {step.number} {state}: {step.description}")
    move(ctx, step, state, reason)


def current(ctx: TalkContext) -> PlanStep | None:
    """The TODO that is worked on."""
    plan = ctx.conversation.plan
    return plan.current if plan is not None else None


def add(plan: ChatPlan, items: list[TodoItem]) -> list[PlanStep]:
    """Add TODOs at the end, as far as there is room; returns them."""
    added = []
    for item in items[: MOST_TODOS - len(plan.steps)]:
        added.append(PlanStep(len(plan.steps) + 1, item.description, item.expected))
        plan.steps.append(added[-1])
    return added


def do_todo(ctx: TalkContext, command: Command, turn: Turn, work: TodoWork) -> ToolResult:
    """Do one TODO operation. Raises Waiting while a person has not answered."""
    plan, given = ctx.conversation.plan, json.loads(command.body or "{}")
    if plan is None or not plan.approved:
        return failed(command, "There is no plan yet.", "adjust: give the TODOs in todos")
    if command.tool == "todo_add":
        added = add(plan, [TodoItem(command.argument or NO_DESCRIPTION, given.get("expected") or NO_EXPECTED)])
        if not added:
            return failed(command, f"There are {MOST_TODOS} TODOs, which are the most.", "skip")
        move(ctx, added[0], "pending")
        return done(command, f"OK: TODO {added[0].number} is added.")
    number = command.argument.strip().removeprefix("TODO").strip(" #:")
    step = next((one for one in plan.steps if str(one.number) == number), None if number else plan.current)
    if step is None or step.state in ("done", "skipped"):
        return failed(command, f"There is no open TODO {number}.", "adjust: name the number of an open TODO", "skip")
    title = f"TODO {step.number} ({step.description})"
    if command.tool == "todo_done":
        if step is not plan.current:
            return failed(command, f"{title} is not the one that is worked on.", "adjust: work on the first open TODO")
        work.claimed = True
        return done(command, f"{title} is judged now.")
    if command.tool == "todo_skip":
        reason = given.get("reason") or "no reason given"
        if not person_says(ctx, f"Skip {title}? {reason}"):
            return failed(command, "The person said no: work on it.", "retry", "adjust")
        close(ctx, turn, work, step, "skipped", reason)
        return done(command, f"OK: {title} is skipped.")
    new = given.get("description") or step.description, given.get("expected") or step.expected
    if not person_says(ctx, f"Change {title} to: {new[0]}? Expected: {new[1]}"):
        return failed(command, "The person said no: the TODO stays as it is.", "retry", "skip")
    step.description, step.expected = new
    move(ctx, step, step.state, step.note)
    return done(command, f"OK: TODO {step.number} is changed.")
