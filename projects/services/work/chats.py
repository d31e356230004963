"""Verbs on chats in the dashboard: say something, answer what is asked, go on; and what a chat stands at."""

from __future__ import annotations

import re
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q, QuerySet

from agents.conversation.state import ChatState, chat_state_from
from agents.events.effects import ErrorRaised
from agents.secrets.redaction import redact
from projects.errors import BadInput, IllegalMove, ProjectsError
from projects.models import Approval, Chat, Run
from projects.services.accounts.rights import require
from projects.services.audit.canonical import clean_text
from projects.services.audit.events import emit
from projects.services.work.approval_requests import close_questions
from projects.services.work.leases import run_out
from projects.services.work.locks import lock_run
from projects.services.work.moves import move_run
from projects.workers.owners import is_alive
from projects.workers.queue import enqueue

JOB = "projects.chat_jobs.chat_turn"
MODES = ("chat", "todo", "review")
COMMANDS = (*MODES, "plan", "check", "merge", "clear")  # with a stroke before them, at the beginning of what is said
MOST_WORDS = 20_000  # characters of a message
AT_WORK = Q(status=Run.Status.RUNNING, chat__place=Chat.DASHBOARD)
# Said here in the moment in which it was opened elsewhere: its turn comes when it is closed there.
LEFT = Q(status=Run.Status.PAUSED) & ~Q(chat__words="") & ~Q(chat__place=Chat.DASHBOARD)


@dataclass(frozen=True)
class ChatStanding:
    """What may be done with a chat here: say something, go on with an unfinished turn; `why` not, or why it stopped."""

    takes_words: bool
    why: str = ""
    unfinished: bool = False
    busy: bool = False  # a turn of the dashboard is at work


def state_of(chat: Chat) -> ChatState:
    """What the chat remembers."""
    return chat_state_from(chat.state)


def standing(run: Run, chat: Chat, state: ChatState | None = None) -> ChatStanding:
    """What a chat stands at now."""
    if run.status in Run.OVER:
        return ChatStanding(False, "This chat is over. Its record and its branch stay.")
    if chat.folder:
        return ChatStanding(False, f"This chat works on the files of an editor, in {chat.folder}: go on with it there.")
    if chat.place != Chat.DASHBOARD and is_held(run):
        return ChatStanding(False, f"This chat is open in {chat.place}: go on there, or close it there first.")
    if run.status == Run.Status.NEEDS_YOU:
        return ChatStanding(False, "The model waits for your answer.")
    if run.status == Run.Status.RUNNING and chat.place == Chat.DASHBOARD:
        return ChatStanding(False, "The model is at work.", busy=True)
    if not is_unfinished(chat, state):
        return ChatStanding(True)
    found = state or chat_state_from(chat.state)
    what = "The last turn did not come to its end." if chat.words or found.turn else "The plan is not done yet."
    return ChatStanding(True, f"{what} Go on with it, or say something else.", unfinished=True)


def is_held(run: Run) -> bool:
    """Whether a process that lives holds the chat."""
    owner = Run.objects.filter(pk=run.pk).exclude(run_out()).values_list("lease_owner", flat=True).first()
    return bool(owner) and is_alive(str(owner))


def is_unfinished(chat: Chat, state: ChatState | None = None) -> bool:
    """Whether there is something to go on with: a turn, a plan, or words that no turn has taken up."""
    found = state or chat_state_from(chat.state)
    return bool(chat.words) or found.turn is not None or (found.plan is not None and not found.plan.over)


def command_in(words: str) -> tuple[str, str]:
    """The command at the beginning of what a person said, "" without one, and the rest. Raises BadInput."""
    found = re.match(r"/([a-z]+)(?:\s+|$)(.*)", words, re.DOTALL)
    if found is None:
        return "", words
    if found[1] not in COMMANDS:
        raise BadInput(f"There is no command /{found[1]} here. There are: /{', /'.join(COMMANDS)}.")
    if not found[2].strip() and found[1] in (*MODES, "plan"):
        raise BadInput(f"Say what is to be done after /{found[1]}.")
    return found[1], found[2].strip()


def send(run: Run, *, by: User, text: str, mode: str = "") -> None:
    """Say something in a chat that nobody holds; a turn of the dashboard takes it up. An unfinished turn is given up.

    `mode` is how it is to be worked on from now on, one of MODES. Raises NotAllowed, BadInput (nothing said, or too
    much) and IllegalMove (it is over, busy, or open elsewhere).
    """
    require(by, run.project, "run.control")
    words = clean_text(str(redact(text)).strip(), MOST_WORDS + 1)
    if not words:
        raise BadInput("Write a message.")
    if len(words) > MOST_WORDS:
        raise BadInput(f"The message has more than {MOST_WORDS:,} characters: say it in parts.")
    word, _ = command_in(words)
    with transaction.atomic():
        current = lock_run(run.pk)
        chat = _chat_of(current)
        found = standing(current, chat)
        if not found.takes_words:
            raise IllegalMove(found.why)
        if not word and mode in MODES and mode != state_of(chat).mode:
            words = f"/{mode} {words}"
        close_questions("the person wrote something else", run=current, kind=Approval.Kind.CHAT)
        _take_turn(current, by, words=words)
    run.refresh_from_db()


def go_on(run: Run, *, by: User) -> None:
    """Go on with a turn that stopped. Raises NotAllowed and IllegalMove (there is none, or it is open elsewhere)."""
    require(by, run.project, "run.control")
    with transaction.atomic():
        current = lock_run(run.pk)
        found = standing(current, _chat_of(current))
        if not found.takes_words:
            raise IllegalMove(found.why)
        if not found.unfinished:
            raise IllegalMove("There is nothing to go on with: write a message.")
        _take_turn(current, by)
    run.refresh_from_db()


def _take_turn(run: Run, by: User, **changes: str) -> None:
    Chat.objects.filter(run=run).update(place=Chat.DASHBOARD, speaker=by, **changes)
    if run.status != Run.Status.RUNNING:
        move_run(run, Run.Status.RUNNING, actor=by.get_username())
    enqueue(JOB, run.pk)


def check_pause(run: Run) -> None:
    """Refuse to stop a turn from here that another place takes. Raises IllegalMove."""
    chat = _chat_of(run)
    if chat.place != Chat.DASHBOARD and is_held(run):
        raise IllegalMove(f"Chat {run.pk} is open in {chat.place}: stop its turn there.")


def _chat_of(run: Run) -> Chat:
    chat = Chat.objects.filter(run=run).first()
    if chat is None or run.kind != Run.Kind.CHAT:
        raise BadInput(f"Run {run.pk} is not a chat.")
    return chat


def wants_turn(run: Run, chat: Chat) -> bool:
    """Whether a job is to go on with it."""
    return not chat.folder and Run.objects.filter(AT_WORK | LEFT, pk=run.pk).exists()


def waiting_turns() -> QuerySet[Run]:
    """Chats that a job is to go on with; what a terminal or an editor left as it was is not among them."""
    return Run.objects.filter(AT_WORK | LEFT, kind=Run.Kind.CHAT)


def not_opened(run: Run, why: str) -> None:
    """A job could not open the chat: say so, and let people see to it."""
    with transaction.atomic():
        current = lock_run(run.pk)
        if current.status in Run.OVER:
            return
        emit(run.pk, ErrorRaised(summary=why, message=why, tool="chat", next_steps=["retry"]))
        try:
            move_run(current, Run.Status.PAUSED, reason=why)
        except ProjectsError:
            return  # it rests already
