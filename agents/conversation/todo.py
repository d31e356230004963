"""TODO mode: a task becomes TODOs, each is worked on until its result is judged good, until the task is complete.

A phase does one step and is stored; after a crash, or while a person has not answered, it is entered again.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

from agents.conversation.contracts import TalkContext
from agents.conversation.display import summary_lines, summary_markdown, todo_lines
from agents.conversation.memory import remember
from agents.conversation.planning import following
from agents.conversation.results import failed
from agents.conversation.state import (
    ChatPlan,
    Command,
    Exchange,
    FileChange,
    PlanStep,
    TodoPhase,
    TodoWork,
    ToolResult,
    Turn,
)
from agents.conversation.todo_calls import TODO_TOOLS
from agents.conversation.todo_json import SCHEMA, TodoReply, read_todo_reply, schema_with
from agents.conversation.todo_prompts import files_shown, todo_messages
from agents.conversation.todo_tools import MOST_TODOS, add, close, do_todo, move, told
from agents.conversation.tools import do, do_with
from agents.engine.ask import ask, question_of
from agents.events.lifecycle import HumanMessage
from agents.events.reasoning import DecisionMade
from agents.personas import CHAT
from agents.prompts.provenance import Material, render

LOOKS = 6  # rounds of looking at files before there must be a plan
ROUNDS = 12  # questions to the model in one try of a TODO
TRIES = 3  # results of a TODO that are not accepted, before a person is asked
ASKED_AGAIN = 2  # for a reply that cannot be used
MOST_SAME = 3  # replies in a row that ask for the same
MOST_RETRIES = 3  # without another word
MOST_MORE = 2  # times that TODOs are added at the end
KEPT_RESULTS, KEPT_CHARS = 30, 40_000
LOOKING = ("find", "read", "search", "confirm")
CHANGING = ("write", "edit", "delete")
CHOICES = ["retry", "adjust with these words, then retry", "skip"]
Check = Callable[[TodoReply], str]  # what a reply lacks, in words for the model


def take_todos(ctx: TalkContext) -> Exchange:
    """Go on with a turn in TODO mode to its end. What was done before a crash is not done again.

    Raises LLMError, OverBudget, Stopped and Waiting; then it can be gone on with, or given up with `give_up`.
    """
    turn = ctx.conversation.turn
    if turn is None or (work := turn.todo) is None:
        raise ValueError("there is no turn in TODO mode to go on with")
    while work.phase != "over":
        plan = ctx.conversation.plan
        if plan is None or work.phase == "plan":
            _plan(ctx, turn, work)
        else:
            _PHASES[work.phase](ctx, turn, work, plan)
        ctx.save()
    exchange = remember(ctx.conversation, turn)
    ctx.conversation.time_taken(turn.model_seconds)
    ctx.conversation.turn = None
    ctx.save()
    return exchange


def _plan(ctx: TalkContext, turn: Turn, work: TodoWork) -> None:
    """Have the task broken into TODOs; files may be looked at before."""
    _do_pending(ctx, turn, work, LOOKING)

    def check(reply: TodoReply) -> str:
        looks = reply.commands and work.rounds < LOOKS
        return "" if reply.todos or looks else "it has no todos, each with description, expected and status."

    reply = _ask(ctx, turn, work, render("todo.plan", most=MOST_TODOS), check, schema=SCHEMA)
    if reply is None:
        if work.unusable > ASKED_AGAIN:
            ctx.conversation.plan = ChatPlan(turn.prompt)
            _offer(work, ctx.conversation.plan, f"The model made no TODOs. It says: {work.message}", "plan")
        return
    if not reply.todos:
        turn.pending, work.rounds = reply.commands, work.rounds + 1
        return
    plan = ChatPlan(turn.prompt)
    for step in add(plan, reply.todos):
        told(ctx, step)
    if len(reply.todos) > MOST_TODOS:
        ctx.surface.notice(f"The model named {len(reply.todos)} TODOs; the first {MOST_TODOS} are kept.")
    ctx.conversation.plan, work.rounds, work.phase = plan, 0, "approve"


def _approve(ctx: TalkContext, turn: Turn, work: TodoWork, plan: ChatPlan) -> None:
    yes, words = _person(ctx, work, plan)
    if yes:
        plan.approved, work.phase = True, "work"
    elif words:
        work.phase = "plan"
    else:
        turn.said, plan.over, work.phase = ["Nothing was done: the plan was not approved."], True, "over"
        ctx.surface.notice(turn.said[0])


def _work(ctx: TalkContext, turn: Turn, work: TodoWork, plan: ChatPlan) -> None:
    """One round of work on the first open TODO."""
    step = plan.current
    if step is None:
        work.phase = "confirm"
        return
    if step.state == "pending":
        move(ctx, step, "in_progress")
        ctx.save()
    unseen = any(command.tool not in TODO_TOOLS for command in turn.pending)
    with following(ctx):
        _do_pending(ctx, turn, work)
    if plan.current is not step:
        return  # skipped
    if work.claimed and unseen and (against := stands_against(work.seen)):
        work.claimed = False  # it was said before the outcome was known: that is no result to judge
        turn.done.append(f"TODO {step.number} is not judged yet: {against}")
    if work.claimed:
        work.phase = "judge"
        return
    if work.rounds >= ROUNDS or work.same >= MOST_SAME:
        again = "asks for the same again and again" if work.same >= MOST_SAME else f"came to no end in {ROUNDS} rounds"
        _stuck(ctx, work, plan, step, f"The model {again}.")
        return

    def says_done(reply: TodoReply) -> bool:
        return reply.complete is True or any(one.done and one.description == step.description for one in reply.todos)

    def check(reply: TodoReply) -> str:
        return "" if reply.commands or says_done(reply) else 'it names no tool, and does not say "complete": true.'

    request = render(
        "todo.work",
        number=step.number,
        description=step.description,
        expected=step.expected,
        feedback=step.note,
    )
    # No schema: it would forbid the text commands below the object, where a file needs no escaping.
    reply = _ask(ctx, turn, work, request, check, files_shown(ctx, [], changed_in(work.seen)))
    if reply is None:
        if work.unusable > ASKED_AGAIN:
            _stuck(ctx, work, plan, step, f"The model's replies cannot be used. It says: {work.message}")
        return
    wanted = json.dumps([[one.tool, one.argument, one.body] for one in reply.commands])
    work.same = work.same + 1 if reply.commands and wanted == work.newest else 1
    work.newest, work.rounds = wanted, work.rounds + 1
    turn.pending, work.claimed = reply.commands, says_done(reply)


def _judge(ctx: TalkContext, turn: Turn, work: TodoWork, plan: ChatPlan) -> None:
    """Have the result judged; a failed command speaks against it whatever the model says."""
    step = plan.current
    if step is None:
        work.phase = "work"
        return
    against = stands_against(work.seen)
    request = render(
        "todo.judge",
        number=step.number,
        description=step.description,
        expected=step.expected,
        against=against,
    )
    files = files_shown(ctx, [step.description, step.expected], changed_in(work.seen))

    def check(reply: TodoReply) -> str:
        return "" if reply.judgement else "it has no judgement."

    reply = _ask(ctx, turn, work, request, check, files, schema=schema_with("judgement"))
    if reply is None or reply.judgement is None:
        if work.unusable > ASKED_AGAIN:
            _stuck(ctx, work, plan, step, f"The result was not judged. The model says: {work.message}", "judge")
        return
    accepted = reply.judgement.accepted and not against
    praise = against and reply.judgement.accepted  # would speak against the refusal that it stands in
    feedback = against if praise else " ".join(filter(None, [against, reply.judgement.feedback]))
    choice = "accepted" if accepted else "not accepted"
    _decided(ctx, f"TODO {step.number} {choice}: {feedback}", choice, feedback, role="reviewer")
    work.claimed, work.phase = False, "work"
    if accepted:
        close(ctx, turn, work, step, "done", feedback)
        ctx.surface.notice("\n".join(todo_lines(step)))
        return
    work.tries, work.rounds, work.same, work.newest = work.tries + 1, 0, 0, ""
    turn.done.append(f"TODO {step.number} not accepted: {' '.join(feedback.split())[:300]}")
    move(ctx, step, "in_progress", feedback)
    ctx.surface.notice("\n".join(["Not accepted:", *todo_lines(step)]))
    if work.tries >= TRIES:
        _stuck(ctx, work, plan, step, f"Its result was not accepted {TRIES} times: {feedback}")


def changed_in(seen: list[ToolResult]) -> list[str]:
    """The files that these results changed, the newest last."""
    return [change.path for result in seen for change in result.changes]


def stands_against(seen: list[ToolResult]) -> str:
    """What forbids to accept a result: the newest command failed, or the newest change of a file; "" for nothing."""
    for tools in (("exec",), CHANGING):
        newest = next((one for one in reversed(seen) if one.tool in tools), None)
        if newest is not None and not newest.ok:
            said = newest.output.strip().splitlines()[0][:200].rstrip(".")
            return f"The newest command failed ({newest.title}): {said}."
    return ""


def _choose(ctx: TalkContext, turn: Turn, work: TodoWork, plan: ChatPlan) -> None:
    """Retry, adjust or skip, as a person chooses."""
    yes, words = _person(ctx, work, plan)
    work.retries = work.retries + 1 if yes else 0
    if work.retries > MOST_RETRIES:  # whoever answers may be a program
        ctx.surface.notice(f"It was tried again {MOST_RETRIES} times; it is left now.")
        yes = False
    work.unusable = work.tries = work.rounds = work.same = 0
    work.problem, work.newest, work.phase = "", "", work.back
    step = next((one for one in plan.steps if one.state == "failed"), None)
    if yes or words:
        if step is not None:
            move(ctx, step, "in_progress", "; ".join(filter(None, [step.note, words])))
    elif step is not None:
        move(ctx, step, "in_progress")
        close(ctx, turn, work, step, "skipped", "skipped by the person")
        work.phase = "work"
    else:
        _finish(ctx, turn, work, plan, complete=False, words=work.message)


def _confirm(ctx: TalkContext, turn: Turn, work: TodoWork, plan: ChatPlan) -> None:
    """Ask whether the whole task is complete."""
    known = {step.description for step in plan.steps}

    def check(reply: TodoReply) -> str:
        missing = [one for one in reply.todos if not one.done and one.description not in known]
        lacks = reply.complete is not True and not missing
        return 'it says neither "complete": true nor which todos are missing.' if lacks else ""

    skipped = ", ".join(str(step.number) for step in plan.steps if step.state == "skipped")
    files = files_shown(ctx, [turn.prompt, *known], [change.path for change in turn.changes])
    reply = _ask(ctx, turn, work, render("todo.confirm", skipped=skipped), check, files, schema=schema_with("complete"))
    if reply is None:
        if work.unusable > ASKED_AGAIN:
            _offer(work, plan, f"The model does not say whether the task is complete: {work.message}", "confirm")
        return
    missing = [one for one in reply.todos if not one.done and one.description not in known]
    if reply.complete is True or work.more >= MOST_MORE or len(plan.steps) >= MOST_TODOS:
        _finish(ctx, turn, work, plan, complete=reply.complete is True, words=reply.message)
        return
    work.more += 1
    added = add(plan, missing)
    for step in added:
        told(ctx, step)
    plan.question = f"The model says that {len(added)} more TODO(s) are needed: {reply.message}"
    plan.choices = ["do them", "ask it again with these words", "end here"]
    work.phase = "more"


def _more(ctx: TalkContext, turn: Turn, work: TodoWork, plan: ChatPlan) -> None:
    yes, words = _person(ctx, work, plan)
    work.phase = "work" if yes else "confirm"
    if not yes:
        for step in [one for one in plan.steps if one.state == "pending"]:
            move(ctx, step, "skipped", "not wanted by the person")
        if not words:
            _finish(ctx, turn, work, plan, complete=False, words=work.message)


_PHASES: dict[TodoPhase, Callable[[TalkContext, Turn, TodoWork, ChatPlan], None]] = {
    "approve": _approve,
    "work": _work,
    "judge": _judge,
    "choose": _choose,
    "confirm": _confirm,
    "more": _more,
}


def _ask(
    ctx: TalkContext,
    turn: Turn,
    work: TodoWork,
    request: Material,
    check: Check,
    files: str = "",
    *,
    schema: dict[str, Any] | None = None,
) -> TodoReply | None:
    """Ask and read the reply; None for one that lacks something: then the next call says what."""
    messages, key = todo_messages(ctx, turn, work, request, files), f"todo/{turn.number}/{work.asked}"
    began = time.monotonic()
    answer = ask(question_of(ctx, CHAT, messages, step=f"todo.{work.phase}", key=key, schema=schema))
    turn.model_seconds += time.monotonic() - began
    reply = read_todo_reply(answer.text, truncated=answer.truncated)
    work.asked, work.message = work.asked + 1, reply.message
    if words := getattr(ctx.surface, "words", None):
        words(f"{reply.message}\n")  # in place of the JSON
    ctx.surface.replied(reply.message)
    work.problem = check(reply) if reply.found else "it holds no JSON object of the shape, and no text command."
    work.unusable = work.unusable + 1 if work.problem else 0
    return None if work.problem else reply


def _do_pending(ctx: TalkContext, turn: Turn, work: TodoWork, allowed: tuple[str, ...] = ()) -> None:
    def own(ctx: TalkContext, command: Command) -> ToolResult:
        if command.tool in TODO_TOOLS:
            return do_todo(ctx, command, turn, work)
        return failed(
            command, "Nothing is written or run before the plan is approved.", "adjust: give the TODOs", "skip"
        )

    while turn.pending:
        command = turn.pending[0]
        known = command.tool not in TODO_TOOLS and (not allowed or command.tool in allowed)
        result = do(ctx, command) if known else do_with(ctx, command, own)
        turn.pending.pop(0)
        turn.done.append(result.line)
        result.changes = [FileChange(one.path, None, None) for one in result.changes]  # their texts are in git
        work.seen = [*work.seen, result][-KEPT_RESULTS:]
        room = KEPT_CHARS
        for one in reversed(work.seen):
            room -= len(one.output)
            one.output = one.output if room > 0 or one is result else one.output[:200]
        ctx.save()


def _stuck(
    ctx: TalkContext, work: TodoWork, plan: ChatPlan, step: PlanStep, why: str, back: TodoPhase = "work"
) -> None:
    move(ctx, step, "failed", why)
    _offer(work, plan, f"TODO {step.number} ({step.description}): {why}", back)


def _offer(work: TodoWork, plan: ChatPlan, question: str, back: TodoPhase) -> None:
    plan.question, plan.choices, work.back, work.phase = question, list(CHOICES), back, "choose"


def _person(ctx: TalkContext, work: TodoWork, plan: ChatPlan) -> tuple[bool, str]:
    """A person's answer to what is asked about the plan. Raises Waiting."""
    yes, said = ctx.surface.approve(plan)
    words = "" if yes else said.strip()[:4_000]
    about = plan.question or f"plan of {len(plan.steps)} TODOs"
    choice = (plan.choices or ["approved", "to be made differently", "turned down"])[0 if yes else 1 if words else 2]
    if words:
        work.wishes.append(words)
        ctx.event_log.emit(HumanMessage(summary=words[:300], text=words))
    _decided(ctx, f"{about}: {choice}", choice, words, role="user")
    plan.question, plan.choices = "", []
    return yes, words


def _decided(ctx: TalkContext, summary: str, choice: str, reason: str, *, role: str) -> None:
    made = DecisionMade(summary=summary[:300], role=role, choice=choice, rejected="", reason=reason, requirements=[])
    ctx.event_log.emit(made)


def _finish(ctx: TalkContext, turn: Turn, work: TodoWork, plan: ChatPlan, *, complete: bool, words: str) -> None:
    plan.over, work.phase = True, "over"
    turn.said = [summary_markdown(plan, complete, words)]
    ctx.surface.progress(plan)
    ctx.surface.notice("\n".join(summary_lines(plan, complete)))  # the words were shown as they came
