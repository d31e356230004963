"""The dashboard as the place of a chat: nobody sits there while a turn is at work, so what is asked waits."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from agents.conversation.contracts import Leave, PermissionRequest
from agents.conversation.display import FOLLOW, MARKS
from agents.conversation.permission import diff_of
from agents.conversation.state import ChatPlan, Command, FileChange, PlanStep, ToolResult, Turn
from agents.engine.waiting import Waiting, WaitReason
from agents.events.effects import SystemNotice
from agents.events.reasoning import DecisionMade
from projects.engine.chat import OpenChat
from projects.models import Approval, Chat, Run
from projects.services.work.approval_requests import ask, stored_subject

MOST_SHOWN = 60_000  # characters of a diff or a command that a question holds


class DashboardSurface:
    """Implements agents.conversation.contracts.Surface: a question without an answer raises Waiting."""

    place = Chat.DASHBOARD

    def __init__(self) -> None:
        self.chat: OpenChat | None = None  # once it is open

    def permit(self, wish: PermissionRequest) -> Leave:
        """A person's leave for exactly this, in this place of the conversation."""
        given = self._answer(
            wish.tool,
            wish.title,
            [wish.title, wish.detail, *_texts(wish.changes)],
            why=wish.why,
            on_yes="It is done, and the conversation goes on.",
            on_no="It is left; the model is told so.",
            payload={
                "tool": wish.tool,
                "each_time": wish.each_time,
                "diff": "".join(diff_of(change) for change in wish.changes)[:MOST_SHOWN],
                "detail": "" if wish.changes else wish.detail[:MOST_SHOWN],
            },
        )
        if given.status != Approval.Status.APPROVED:
            return "no"
        return "session" if given.payload.get("leave") == "session" else "once"

    def confirm(self, question: str) -> bool:
        """A person's answer to what the model asks."""
        told = "The model is told the answer."
        payload = {"tool": "confirm", "each_time": True}
        given = self._answer("confirm", question, [question], on_yes=told, on_no=told, payload=payload)
        return given.status == Approval.Status.APPROVED

    def approve(self, plan: ChatPlan) -> tuple[bool, str]:
        """A person's yes to a plan, or to what is asked about it; the reason of a no says what is to be different."""
        steps = [_in_words(step) for step in plan.steps]
        yes, words, no = plan.choices if len(plan.choices) == 3 else FOLLOW
        given = self._answer(
            "plan",
            plan.question or f"Follow the plan for: {plan.goal}",
            [plan.goal, *steps],
            on_yes=f"{yes.capitalize()}.",
            on_no=f"With words: {words}. Without: {no}.",
            payload={"tool": "plan", "each_time": True, "steps": steps},
        )
        return given.status == Approval.Status.APPROVED, given.reason

    def _answer(self, tool: str, title: str, about: Sequence[str], **asked: Any) -> Approval:
        """The answered question about this. Raises Waiting while there is none."""
        if self.chat is None:
            raise Waiting(WaitReason.ANSWER, title)
        run, conversation = self.chat.run, self.chat.conversation
        turn = conversation.turn
        # The place in the conversation is part of it: the same wish later on is another question.
        place = _place_in(turn) if turn is not None else self._plans(run)
        digest = hashlib.sha256("\0".join([place, tool, *about]).encode("utf-8", "replace")).hexdigest()
        subject = stored_subject(f"{place} {digest}")
        given = Approval.objects.filter(run=run, kind=Approval.Kind.CHAT, subject=subject).order_by("-pk").first()
        if given is not None and given.status in (Approval.Status.APPROVED, Approval.Status.REJECTED):
            return given
        ask(run.project, kind=Approval.Kind.CHAT, subject=subject, title=title, run=run, **asked)
        raise Waiting(WaitReason.ANSWER, title)

    def _plans(self, run: Run) -> str:
        """The place of a plan: how many were decided on before."""
        return f"plan {run.events.filter(type=DecisionMade.type).count()}"

    def started(self, command: Command) -> None:
        """What is done is on the record, which the page shows."""

    def finished(self, command: Command, result: ToolResult) -> None:
        """What was done is on the record, which the page shows."""

    def progress(self, plan: ChatPlan) -> None:
        """The page reads the plan as it is stored."""

    def replied(self, text: str) -> None:
        """The reply is on the record, which the page shows."""

    def notice(self, text: str) -> None:
        """Put it on the record."""
        if self.chat is not None:
            self.chat.context.event_log.emit(SystemNotice(summary=text, text=text))


def _place_in(turn: Turn) -> str:
    todo = turn.todo
    return f"{turn.number}.{turn.rounds}.{len(turn.done)}" + (f".{todo.asked}.{todo.tries}" if todo else "")


def _in_words(step: PlanStep) -> str:
    state = "" if step.state == "pending" else f" ({MARKS[step.state][1]})"
    expected = f" · Expected: {step.expected}" if step.expected else ""
    return f"{step.number}. {step.description}{state}{expected}"


def _texts(changes: Sequence[FileChange]) -> list[str]:
    return [f"{one.path}\0{one.old}\0{one.new}" for one in changes]
