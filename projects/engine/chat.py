"""A chat: a conversation on record, on a branch of its own, held by one process at a time."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from math import inf
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from agents.conversation.contracts import Files, Surface, TalkContext
from agents.conversation.memory import forget
from agents.conversation.planning import follow_plan, plan_goal
from agents.conversation.state import ChatPlan, ChatState, Exchange, Mode, chat_state_from
from agents.conversation.todo import take_todos
from agents.conversation.turn import NOTHING, SAID_CHARS, begin_turn, give_up, take_turn
from agents.conversation.worktree_files import WorktreeFiles
from agents.engine.contracts import TaskLimits
from agents.engine.effects import effect
from agents.events.effects import CommitMade, EffectAnnounced
from agents.events.lifecycle import HumanMessage, RunQueued
from agents.prompts.provenance import Material
from agents.repair.feedback import clip
from agents.secrets.redaction import redact
from agents.workspace.repository import Repository
from projects.engine.budgets import limits_of
from projects.engine.event_log import DatabaseEventLog
from projects.engine.model_clients import announce, canary_of, guard, label, provider_for, runner
from projects.engine.sandboxes import fitted, name_for
from projects.engine.test_setups import packages_of, test_setup_of
from projects.engine.web_search import web_search
from projects.errors import BadInput, IllegalMove, LostRace, ProjectsError
from projects.models import Chat, Project, Run
from projects.services.accounts.rights import require
from projects.services.audit.canonical import clean_line
from projects.services.audit.events import emit
from projects.services.planning.patterns import rules_of
from projects.services.work import leases
from projects.services.work.approval_requests import close_questions
from projects.services.work.locks import lock_project_in_use
from projects.services.work.moves import move_run
from projects.storage.disk_space import need_room
from projects.storage.packages import ProjectSupply
from projects.storage.paths import ensure_repository, home
from projects.workers.heartbeat import heartbeat
from projects.workers.owners import is_alive, this_worker
from sandbox.base import Backend
from sandbox.registry import open_backend

PERSONA_FILE = "persona.txt"  # in the data folder: who the model is to be


class ChatHeld(IllegalMove):
    """Another process holds the chat."""


class ChatEventLog(DatabaseEventLog):
    """The event log of a chat; words go to its surface too, while they are written, and it can be interrupted there."""

    words: Callable[[str], None] | None = None
    interrupted: Callable[[], bool] | None = None
    quiet = False  # the model writes JSON: its message is shown when it is read

    def stopped(self) -> bool:
        return (self.interrupted is not None and self.interrupted()) or super().stopped()

    def delta(self, *, lane: str, id: str, offset: int, text: str) -> None:
        super().delta(lane=lane, id=id, offset=offset, text=text)
        if self.words is not None and not self.quiet:
            self.words(text)


class OpenChat:
    """A chat that this process holds; see `open_chat`."""

    def __init__(self, run: Run, chat: Chat, context: TalkContext, repository: Repository | None, by: User) -> None:
        self.run, self.chat, self.context, self.repository, self.by = run, chat, context, repository, by
        self.settled = False  # its holder says itself what the run is at

    @property
    def conversation(self) -> ChatState:
        """What it remembers."""
        return self.context.conversation

    @property
    def name(self) -> str:
        """Its worktree."""
        return f"chat-{self.run.pk}"

    def say(self, prompt: str, *, shown: str | None = None, given: Material = NOTHING) -> Exchange:
        """One prompt and all that follows from it. What was written is committed to the chat's branch.

        `given` is labelled material that goes with the prompt.

        Raises LLMError, OverBudget, Stopped, Waiting and TurnTooLong; `go_on` then continues, `drop` ends the turn.
        """
        self.begin(prompt, shown=shown, given=given)
        return self.go_on()

    def begin(self, prompt: str, *, shown: str | None = None, given: Material = NOTHING) -> None:
        """Start a turn with a prompt; `go_on` then takes it."""
        prompt = str(redact(prompt))  # before it is cut, kept, or sent
        begin_turn(self.context, prompt, shown=shown, given=given, todo=self.conversation.mode == "todo")
        self.name_it(shown or prompt)

    def name_it(self, words: str) -> None:
        """Give the chat its title, unless it has one."""
        if not self.chat.title:
            Chat.objects.filter(pk=self.chat.pk).update(title=clean_line(str(redact(words)), 200))
            self.chat.refresh_from_db(fields=["title"])

    def go_on(self) -> Exchange:
        """Go on with a turn that was interrupted. Raises as `say` does."""
        turn, event_log = self.conversation.turn, self.context.event_log
        todo = turn is not None and turn.todo is not None
        if isinstance(event_log, ChatEventLog):
            event_log.quiet = todo
        exchange = take_todos(self.context) if todo else take_turn(self.context)
        self.commit(exchange.prompt)
        return exchange

    def drop(self, why: str) -> Exchange | None:
        """End a turn that came to no end; what it wrote stays."""
        exchange = give_up(self.context, why)
        if exchange is not None:
            self.commit(exchange.prompt)
        return exchange

    def set_aside(self, why: str) -> None:
        """Another prompt came: the turn under way ends, and the plan's step that it was part of is open again."""
        self.drop(why)
        plan = self.conversation.plan
        for step in plan.steps if plan is not None else ():
            step.state = "pending" if step.state == "in_progress" else step.state

    def clear(self) -> None:
        """Forget what was said; files and packages stay."""
        forget(self.conversation)
        self.context.save()

    def plan(self, goal: str) -> ChatPlan | None:
        """Have a plan made of a goal; None when it was turned down. Raises as `say` does, and NoPlan."""
        goal = str(redact(goal))
        self.context.event_log.emit(HumanMessage(summary=f"/plan {goal}"[:300], text=clip(f"/plan {goal}", SAID_CHARS)))
        self.name_it(goal)
        return plan_goal(self.context, goal)

    def follow(self) -> list[Exchange]:
        """Do what is left of the approved plan, with a commit for each step. Raises as `say` does, and NoPlan."""
        return follow_plan(self.context, self.commit)

    def commit(self, title: str) -> str:
        """Commit what differs from the branch's head; returns the commit, "" when nothing does."""
        if self.repository is None:
            return ""  # an editor's checkout: its owner commits
        tree, base, event_log = self.repository.open(self.name), self.repository.head(), self.context.event_log
        if not tree.changes(base):
            return ""
        head = event_log.head()
        trailers = {"Run": str(self.run.pk), "Event": str(head.seq), "Audit-Head": head.hash}
        key = f"commit/{head.seq}"
        said = EffectAnnounced(summary="commits …", role="coder", effect="git.commit", base=base)
        with effect(event_log, said, key=key):
            sha = tree.commit(base, clean_line(str(redact(title)), 70) or "Chat", "Written in a chat.", trailers)
            self.repository.fast_forward(sha)
        made = CommitMade(
            summary=f"commit {sha[:10]} on {self.repository.line}",
            role="coder",
            sha=sha,
            base=base,
            branch=self.repository.line,
        )
        event_log.emit(made, key=key)
        Chat.objects.filter(pk=self.chat.pk).update(head=sha)
        return sha

    def diff(self) -> str:
        """What the chat changed since its branch began; "" for nothing, and in an editor's folder."""
        if self.repository is None:
            return ""
        return self.repository.open(self.name).diff(self.run.base_commit)

    def arrive(self) -> None:
        """Leave for a session ends where another person, or another place, goes on with the chat."""
        session = f"{self.by.pk} in {self.chat.place}"
        if self.conversation.granted_in != session:
            self.conversation.granted, self.conversation.granted_in = [], session
            self.context.save()

    def grant(self, *tools: str) -> None:
        """Exactly these tools are used without a question until the session ends."""
        self.conversation.granted = [*tools]
        self.context.save()

    def set_mode(self, mode: Mode) -> None:
        """Choose how the next prompts are worked on."""
        self.conversation.mode = mode
        self.context.save()

    def end(self, reason: str = "") -> None:
        """End the chat for good; its branch and record stay."""
        with suppress(ProjectsError):
            move_run(self.run, Run.Status.FINISHED, reason=reason, actor=self.by.get_username())


def new_chat(project: Project, *, by: User, folder: str = "") -> Run:
    """A chat in a project, on a branch of its own, or in the `folder` of an editor. Raises NotAllowed and NoRoom."""
    require(by, project, "run.start")
    need_room()
    with transaction.atomic():
        lock_project_in_use(project.pk)
        run = Run.objects.create(project=project, kind=Run.Kind.CHAT, started_by=by, recording=project.is_recording)
        Chat.objects.create(run=run, folder=folder)
        queued = RunQueued(summary="a chat", role="user", kind=run.kind, recording=run.recording)
        emit(run.pk, queued, actor=by.get_username())
    return run


@contextmanager
def open_chat(
    run: Run, *, by: User, surface: Surface, files: Files | None = None, persona: str = ""
) -> Iterator[OpenChat]:
    """Hold a chat until the end of the block, as it was left. With `files` it works on these instead of its branch.

    Raises NotAllowed, IllegalMove (it is over, or another process holds it) and RepositoryDamaged.
    """
    require(by, run.project, "run.control")
    chat = Chat.objects.filter(run=run).first()
    if chat is None or run.kind != Run.Kind.CHAT:
        raise BadInput(f"Run {run.pk} is not a chat.")
    if run.status in Run.OVER:
        raise IllegalMove(f"Chat {run.pk} is over ({run.get_status_display().lower()}): start a new one.")
    actor = this_worker()
    token = _claim(run, actor)
    opened: OpenChat | None = None
    try:
        _arrive(run, chat, surface)
        if run.status != Run.Status.RUNNING:
            move_run(run, Run.Status.RUNNING, actor=by.get_username())
        label(run)
        event_log = ChatEventLog(run, actor=actor, token=token)
        event_log.words = getattr(surface, "words", None)
        event_log.interrupted = getattr(surface, "interrupted", None)
        announce(run, event_log)
        with heartbeat(lambda: leases.renew(Run, run.pk, token=token, seconds=settings.LEASE_SECONDS)):
            repository = None if files is not None else _begin(run)
            context = _context(run, chat, event_log, surface, files or _files(run, repository), persona)
            opened = OpenChat(run, chat, context, repository, by)
            opened.arrive()
            yield opened
    finally:
        if opened is None or not opened.settled:
            _leave(run, by)
        leases.release(Run, run.pk, token=token)


def _claim(run: Run, actor: str) -> int:
    """Take the chat; one whose process died is free at once."""
    if run.lease_owner and not is_alive(run.lease_owner):
        leases.revoke(Run, Run.objects.filter(pk=run.pk, lease_token=run.lease_token))
    try:
        token = leases.claim(Run, run.pk, owner=actor, seconds=settings.LEASE_SECONDS)
    except LostRace:
        raise ChatHeld(f"Chat {run.pk} is open elsewhere: close it there first.") from None
    run.refresh_from_db()
    return token


def _arrive(run: Run, chat: Chat, surface: Surface) -> None:
    """Say where the chat is open now. What was asked in the dashboard is asked anew elsewhere."""
    chat.place = getattr(surface, "place", "") or ("an editor" if chat.folder else "a terminal")
    Chat.objects.filter(pk=chat.pk).update(place=chat.place)
    if chat.place != Chat.DASHBOARD:
        close_questions(f"the chat was opened in {chat.place}", run=run)


def _leave(run: Run, by: User) -> None:
    """Between two openings a chat rests."""
    run.refresh_from_db()
    if run.status == Run.Status.RUNNING:
        with suppress(ProjectsError):
            move_run(run, Run.Status.PAUSED, reason="the chat was closed", actor=by.get_username())


def _begin(run: Run) -> Repository:
    repository = ensure_repository(run.project, run)
    if not run.base_commit:
        run.base_commit = repository.begin()
        Run.objects.filter(pk=run.pk).update(base_commit=run.base_commit)
    return repository


def _files(run: Run, repository: Repository | None) -> Files:
    """The worktree as it was left, also by a process that was killed; a new one holds the branch's head."""
    if repository is None:
        raise BadInput("A chat needs files.")
    name = f"chat-{run.pk}"
    standing = (repository.worktrees / name).is_dir()
    return WorktreeFiles(repository.open(name) if standing else repository.worktree(name, repository.head()))


def _context(
    run: Run, chat: Chat, event_log: ChatEventLog, surface: Surface, files: Files, persona: str
) -> TalkContext:
    project, conversation = run.project, chat_state_from(chat.state)

    def save() -> None:
        event_log.fenced(
            lambda: Chat.objects.filter(pk=chat.pk).update(state=conversation.to_json(), updated_at=timezone.now())
        )

    def backend() -> Backend:
        return fitted(open_backend(name_for(project)), project)

    return TalkContext(
        project=project.slug,
        house_rules=rules_of(project),
        event_log=event_log,
        limits=_limits(project),
        provider=lambda role: provider_for(project, role),
        runner=runner(),
        canary=canary_of(run),
        conversation=conversation,
        files=files,
        surface=surface,
        backend=backend,
        supply=ProjectSupply(project),
        save=save,
        persona=persona or persona_text(),
        web=web_search(),
        guard=guard(),
        label=f"chat-{run.pk}",
        test_setup=test_setup_of(project),
        test_packages=tuple(packages_of(project)),
    )


def _limits(project: Project) -> TaskLimits:
    """The budget of a run in tokens; it is no task, and waits for a person most of the time."""
    return replace(limits_of(project), task_tokens=sys.maxsize, task_seconds=inf, run_seconds=inf)


def persona_text() -> str:
    """What the operator wrote into the persona file; "" without one, for the product's own."""
    with suppress(OSError, UnicodeDecodeError):
        return (home() / PERSONA_FILE).read_text(encoding="utf-8").strip()
    return ""


def chats(project: Project | None = None, *, open_only: bool = True) -> Any:
    """The chats of a project, or of all, the newest first."""
    rows = Chat.objects.select_related("run", "run__project").order_by("-updated_at")
    rows = rows.filter(run__project=project) if project is not None else rows
    return rows.exclude(run__status__in=Run.OVER) if open_only else rows
