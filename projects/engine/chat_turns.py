"""A turn of a chat that the dashboard takes: begun with a person's words, gone on with where it stopped."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress

from agents.conversation.planning import NoPlan, plan_goal
from agents.conversation.turn import TurnTooLong
from agents.engine.contracts import OverBudget, Stopped
from agents.engine.waiting import Waiting, WaitReason
from agents.events.effects import ErrorRaised, SystemNotice
from agents.events.lifecycle import HumanMessage
from agents.llm.base import LLMError
from agents.llm.scripted_server.scenario import ScenarioError
from agents.workspace.git import GitError
from projects.engine.chat import OpenChat, open_chat
from projects.engine.chat_merge import check, merge
from projects.engine.chat_surface import DashboardSurface
from projects.errors import ProjectsError
from projects.models import Approval, Chat, Run
from projects.services.work import chats
from projects.services.work.moves import move_run
from projects.storage.disk_space import NoRoom
from sandbox.base import SandboxError

log = logging.getLogger("aiswe.jobs")
# What ends a turn in a sentence: the chat stays as it is and can be gone on with.
EXPECTED = (LLMError, OverBudget, NoPlan, ScenarioError, SandboxError, GitError, NoRoom, ProjectsError)


def take(run: Run, chat: Chat) -> None:
    """Hold the chat and take its turn as far as it goes without a person.

    Raises IllegalMove and NotAllowed when it cannot be held.
    """
    by = chat.speaker or run.started_by
    if by is None:
        return
    surface = DashboardSurface()
    with open_chat(run, by=by, surface=surface) as opened:
        surface.chat = opened
        try:
            _take(opened)
        except Stopped:
            opened.settled = True  # by who stopped it
            _keep(opened)
        except Waiting as waiting:
            _keep(opened)
            _ask(opened, waiting)
        except EXPECTED as error:
            _end(opened, str(error))
        except Exception as error:
            log.exception("the turn of chat %s failed", run.pk)
            _end(opened, f"An unexpected {type(error).__name__} stopped the turn; see the log for details.")
        else:
            _rest(opened, "")


def _take(opened: OpenChat) -> None:
    conversation = opened.conversation
    words = Chat.objects.values_list("words", flat=True).get(pk=opened.chat.pk).strip()
    turn, plan = conversation.turn, conversation.plan
    word, said = chats.command_in(words)
    if words and not (turn is not None and turn.prompt == said and not turn.said):  # else it was begun with before
        opened.set_aside("the person wrote something else")
        if plan is not None and not plan.approved:
            conversation.plan = None
        if word in OWN:
            _taken_up(opened)
            OWN[word](opened, said)
            return
        if word:
            opened.set_mode(word)  # type: ignore[arg-type]  # the other commands are modes
        opened.begin(said)
    _taken_up(opened)
    turn, plan = conversation.turn, conversation.plan
    if turn is not None and not turn.step:
        try:
            opened.go_on()
        except TurnTooLong as problem:
            opened.drop(str(problem))
            _tell(opened, f"{problem} Say what it is to do next.")
    elif plan is not None and not plan.over:
        _follow(opened, plan.approved or plan_goal(opened.context, plan.goal) is not None)


def _follow(opened: OpenChat, approved: bool) -> None:
    if approved:
        opened.follow()


def _plan(opened: OpenChat, goal: str) -> None:
    opened.conversation.plan = None
    _follow(opened, opened.plan(goal) is not None)


def _clear(opened: OpenChat, _: str) -> None:
    _own_words(opened, "/clear")
    opened.clear()
    _notice(opened, "What was said before is forgotten; the files stay.")


def _check(opened: OpenChat, _: str) -> None:
    _own_words(opened, "/check")
    found = check(opened)
    why = "; ".join([*found.reasons, *found.failures][:10])
    _notice(opened, f"Not ready to be merged: {why}" if why else f"Tests: {found.tests}. Review gates: passed.")


def _merge(opened: OpenChat, _: str) -> None:
    _own_words(opened, "/merge")
    merge(opened)


OWN: dict[str, Callable[[OpenChat, str], None]] = {"plan": _plan, "clear": _clear, "check": _check, "merge": _merge}


def _own_words(opened: OpenChat, text: str) -> None:
    opened.context.event_log.emit(HumanMessage(summary=text, text=text))


def _notice(opened: OpenChat, text: str) -> None:
    opened.context.event_log.emit(SystemNotice(summary=text, text=text))


def _keep(opened: OpenChat) -> None:
    """What was written so far is on the branch, however the chat goes on, or does not."""
    turn = opened.conversation.turn
    with suppress(Stopped, GitError):
        opened.commit(turn.prompt if turn is not None else "Changes of a chat")


def _taken_up(opened: OpenChat) -> None:
    Chat.objects.filter(pk=opened.chat.pk).update(words="")


def _ask(opened: OpenChat, waiting: Waiting) -> None:
    """The run waits for an answer; or, where it came in this moment, goes on."""
    if waiting.reason != WaitReason.ANSWER:
        _end(opened, str(waiting.detail or waiting))
        return
    run = opened.run
    run.refresh_from_db()
    opened.settled = True
    move_run(run, Run.Status.NEEDS_YOU, wait=waiting.reason, reason=waiting.detail)
    if not run.approvals.filter(status=Approval.Status.PENDING).exists():
        move_run(run, Run.Status.RUNNING)


def _tell(opened: OpenChat, text: str) -> None:
    failed = ErrorRaised(summary=text, message=text, tool="chat", next_steps=["retry", "adjust"])
    opened.context.event_log.emit(failed)


def _end(opened: OpenChat, text: str) -> None:
    _keep(opened)
    _tell(opened, text)
    _rest(opened, text)


def _rest(opened: OpenChat, why: str) -> None:
    """The turn is over, or stopped: it is a person's turn."""
    opened.run.refresh_from_db()
    opened.settled = True
    if opened.run.status == Run.Status.RUNNING:
        move_run(opened.run, Run.Status.PAUSED, reason=why, actor=opened.by.get_username())
