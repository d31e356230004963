"""One prompt of an editor, worked on in a thread: the engine's own turn, with sentences for all that can go wrong."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

from acp import RequestError
from acp.schema import SessionInfoUpdate, StopReason
from django.contrib.auth.models import User

from agents.conversation.planning import NoPlan, plan_goal
from agents.conversation.state import ChatPlan, Mode
from agents.conversation.turn import TurnTooLong
from agents.engine.contracts import OverBudget, Stopped
from agents.engine.waiting import Waiting, WaitReason
from agents.llm.base import LLMError
from aiswe_site.acp.doubts import gate_doubts
from aiswe_site.acp.prompting import read_prompt
from aiswe_site.acp.sessions import EditorSession, StoppableBackend
from aiswe_site.acp.shapes import COMMANDS
from aiswe_site.acp.surface import EditorSurface
from aiswe_site.terminal.problems import problem_from
from projects.engine.chat import OpenChat, open_chat
from projects.engine.chat_merge import check

GO_ON = "/continue goes on with it."
ENDS: dict[type[Exception], StopReason] = {TurnTooLong: "max_turn_requests", OverBudget: "max_tokens"}
log = logging.getLogger(__name__)


def take(session: EditorSession, blocks: Sequence[Any], by: User) -> StopReason:
    """Work on a prompt to its end; why it ended. The turn can be gone on with unless it came to its end."""
    surface = EditorSurface(session.editor, session.files)
    try:
        with open_chat(session.run, by=by, surface=surface, files=session.files) as chat:
            _prepare(session, chat, surface)
            words, given = read_prompt(blocks, session.files)
            _work(session, chat, surface, words, given)
            if chat.chat.title and chat.conversation.number <= 1:
                title = SessionInfoUpdate(session_update="session_info_update", title=chat.chat.title)
                session.editor.tell(title)
            return "end_turn"
    except RequestError:
        raise  # the prompt makes no sense
    except Stopped as stop:
        if not session.editor.stopped:
            surface.notice(f"The chat was stopped elsewhere: {stop or 'paused'}. {GO_ON}")
        return "cancelled" if session.editor.stopped else "end_turn"
    except Exception as error:  # noqa: BLE001  whatever it is becomes a sentence, and the session stays usable
        if session.editor.stopped:
            return "cancelled"
        if isinstance(error, Waiting) and error.reason == WaitReason.ANSWER:
            session.asked_for_words = True
            surface.notice("Write what is to be different; /continue asks again.")
            return "end_turn"
        problem = problem_from(error)
        way_out = GO_ON if isinstance(error, (LLMError, OverBudget, Waiting, TurnTooLong)) else ""
        log.info("The turn ended: %s", problem)
        surface.notice(" ".join(part for part in (str(problem), problem.hint, way_out) if part))
        return next((reason for kind, reason in ENDS.items() if isinstance(error, kind)), "end_turn")
    finally:
        session.chat = None
        session.boxes.clear()


def _prepare(session: EditorSession, chat: OpenChat, surface: EditorSurface) -> None:
    """What a turn in an editor has that others have not. Leave for a session ends with the editor's."""
    context, backend = chat.context, chat.context.backend
    context.backend = lambda: StoppableBackend(backend(), session)
    context.elsewhere, context.doubts = surface.in_terminal, gate_doubts
    if not session.opened_before:
        chat.grant()
    session.chat, session.opened_before = chat, True
    if chat.conversation.mode != session.mode:
        chat.set_mode(session.mode)


def choose(session: EditorSession, mode: Mode, by: User) -> None:
    """Keep the mode with the chat; a turn that runs has it from its next command on."""
    session.mode = mode
    if session.busy:
        if (running := session.chat) is not None:
            running.conversation.mode = mode
        return
    surface = EditorSurface(session.editor, session.files)
    with open_chat(session.run, by=by, surface=surface, files=session.files) as chat:
        chat.set_mode(mode)


def _work(session: EditorSession, chat: OpenChat, surface: EditorSurface, words: str, given: Any) -> None:
    name, _, rest = words.partition(" ")
    answers, session.asked_for_words = session.asked_for_words, False
    if name.startswith("/") and name[1:] in COMMANDS:
        _COMMANDS[name[1:]](chat, surface, rest.strip())
        return
    if answers:
        surface.answer = words
        return _continue(chat, surface, "")
    chat.set_aside("another prompt came")
    chat.say(words, given=given)


def _plan(chat: OpenChat, surface: EditorSurface, goal: str) -> None:
    if not goal:
        raise NoPlan("Say what is to be planned: /plan GOAL.")
    chat.drop("a plan is to be made")
    chat.conversation.plan = None
    _follow(chat, surface, chat.plan(goal))


def _follow(chat: OpenChat, surface: EditorSurface, plan: ChatPlan | None) -> None:
    if plan is None:
        return surface.notice("The plan is not followed.")
    chat.follow()
    failed = any(step.state == "failed" for step in plan.steps)
    surface.notice("A step failed: /continue tries it again." if failed else "The plan is done.")


def _continue(chat: OpenChat, surface: EditorSurface, _: str) -> None:
    turn, plan = chat.conversation.turn, chat.conversation.plan
    following = plan is not None and any(step.state == "in_progress" for step in plan.steps)
    if turn is not None and (turn.todo is not None or not following):
        chat.go_on()
    elif plan is not None and not plan.over:
        _follow(chat, surface, plan if plan.approved else plan_goal(chat.context, plan.goal))
    else:
        surface.notice("There is nothing to go on with.")


def _check(chat: OpenChat, surface: EditorSurface, _: str) -> None:
    found = check(chat)
    tests = f"Tests: {found.tests}."
    held = "\n".join(f"- {reason}" for reason in found.gates.reasons)
    surface.notice(f"{tests} Gates: {found.gates.verdict}." + (f"\n{held}" if held else ""))


def _clear(chat: OpenChat, surface: EditorSurface, _: str) -> None:
    chat.drop("the history was cleared")
    chat.clear()
    surface.notice("History cleared.")


_COMMANDS: dict[str, Callable[[OpenChat, EditorSurface, str], None]] = {
    "plan": _plan,
    "continue": _continue,
    "check": _check,
    "clear": _clear,
}
