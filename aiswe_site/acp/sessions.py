"""Sessions of an editor: chats on record whose files are a folder of the person's own."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from acp import helpers
from acp.schema import SessionInfo
from django.contrib.auth.models import User

from agents.conversation.state import ChatState, Mode, chat_state_from
from agents.events.reasoning import DecisionMade
from aiswe_site.acp import shapes
from aiswe_site.acp.editor import Editor
from aiswe_site.acp.files import EditorFiles
from projects.engine.chat import OpenChat, new_chat
from projects.errors import BadInput, NotFound
from projects.models import Chat, Project, Run
from projects.services.accounts.rights import projects_where
from projects.services.planning.projects import create_project
from projects.services.work.transcripts import transcript
from projects.storage.paths import home
from sandbox.base import Backend, Sandbox

PREFIX = "chat-"
A_PAGE = 50  # sessions
MOST_REPLAYED = 50  # turns of a chat that is loaded


@dataclass
class EditorSession:
    """A session that this process knows; while a turn runs, its chat and the sandboxes that it has open."""

    run: Run
    editor: Editor
    files: EditorFiles
    mode: Mode = "chat"
    busy: bool = False
    opened_before: bool = False
    asked_for_words: bool = False  # the next prompt says what is to be different about the plan
    chat: OpenChat | None = None
    boxes: list[Sandbox] = field(default_factory=list)

    def stop(self) -> None:
        """End the turn, also one that waits for a sandbox."""
        for box in list(self.boxes):
            box.close()


def folder_of(cwd: str) -> Path:
    """The folder that an editor works in. Raises BadInput."""
    given = Path(cwd)
    if not given.is_absolute() or not given.is_dir():
        raise BadInput(f"{cwd[:200]!r} is not the absolute path of a folder on this machine.")
    return given.resolve()


def workplace_of(cwd: str) -> Path:
    """A folder to begin a session in: its files are read, and copied for sandboxes. Raises BadInput."""
    folder, own = folder_of(cwd), home().resolve()
    if folder in (Path(folder.anchor), Path.home().resolve()) or folder.is_relative_to(own):
        raise BadInput(f"{cwd[:200]!r} is not a folder to work in: open a project's folder.")
    return folder


def project_of(folder: Path, by: User) -> Project:
    """The project that was imported from this folder, the one of its earlier sessions, or a new one by its name."""
    mine = projects_where(by, "run.start").filter(archived_at=None)
    found = mine.filter(source=str(folder)).first()
    if found is None:
        earlier = Chat.objects.filter(folder=str(folder), run__project__in=mine).order_by("-pk").first()
        found = earlier.run.project if earlier is not None else None
    return found or create_project(folder.name[:120].strip() or "folder", by=by)


def begin(cwd: str, by: User) -> Run:
    """A new chat in the folder."""
    folder = workplace_of(cwd)
    return new_chat(project_of(folder, by), by=by, folder=str(folder))


def named(session: str, cwd: str, by: User) -> tuple[Run, ChatState]:
    """A chat that is loaded again, with what it remembers. Raises NotFound and BadInput."""
    number = session.removeprefix(PREFIX)
    rows = Chat.objects.filter(run__project__in=projects_where(by, "run.control")).select_related("run__project")
    chat = rows.filter(run=int(number)).first() if number.isdecimal() and session.startswith(PREFIX) else None
    if chat is None:
        raise NotFound(f"There is no session {session[:80]!r}.")
    if not chat.folder:
        raise BadInput(f"Session {session} works on a branch of the product, not in a folder: go on with it there.")
    if chat.folder != str(folder_of(cwd)):
        raise BadInput(f"Session {session} belongs to the folder {chat.folder}.")
    return chat.run, chat_state_from(chat.state)


def session_of(run: Run, mode: Mode, editor: Editor, cwd: str) -> EditorSession:
    """The session of a chat, in its folder as the editor calls it."""
    copy = home() / "worktrees" / run.project.slug / f"{PREFIX}{run.pk}"
    return EditorSession(run, editor, EditorFiles(editor, Path(cwd), copy, home().resolve()), mode)


def listed(cwd: str | None, cursor: str | None, by: User) -> tuple[list[SessionInfo], str | None]:
    """The newest sessions in which something was said, of one folder or of all, and where the next page begins."""
    rows = Chat.objects.exclude(folder="").exclude(title="").exclude(run__status__in=Run.OVER)
    rows = rows.filter(run__project__in=projects_where(by, "run.control")).order_by("-updated_at", "-pk")
    if cwd:
        rows = rows.filter(folder=str(folder_of(cwd)))
    start = int(cursor) if cursor and cursor.isdecimal() else 0
    found = list(rows[start : start + A_PAGE + 1])
    infos = [
        SessionInfo(
            session_id=f"{PREFIX}{chat.run_id}",
            cwd=chat.folder,
            title=chat.title or None,
            updated_at=chat.updated_at.isoformat(),
        )
        for chat in found[:A_PAGE]
    ]
    return infos, str(start + A_PAGE) if len(found) > A_PAGE else None


def replay(session: EditorSession, state: ChatState) -> None:
    """Show what was said and done, from the record, and where it stands."""
    tell = session.editor.tell
    for turn in transcript(session.run, most=MOST_REPLAYED).turns:
        tell(helpers.update_user_message_text(str(turn.event.payload.get("text") or turn.event.summary)))
        spoke = False
        for number, entry in enumerate(turn.entries):
            decided = entry.event.summary if entry.event is not None and entry.event.type == DecisionMade.type else ""
            if words := entry.words or decided:
                tell(helpers.update_agent_message_text(f"\n\n{words}" if spoke else words))
                spoke = True
            elif entry.step is not None and entry.step.state != "skipped":
                tell(shapes.past(f"event-{turn.event.seq}-{number}", entry.step, session.files))
    if state.plan is not None:
        tell(shapes.plan(state.plan))
    if state.turn is not None:
        tell(helpers.update_agent_message_text("The last turn was interrupted: /continue goes on with it."))


class StoppableBackend:
    """Implements sandbox.base.Backend: another's sandboxes, which a session can end while a command runs in one."""

    def __init__(self, backend: Backend, session: EditorSession) -> None:
        self._backend, self._session, self.name = backend, session, backend.name

    def availability(self) -> Any:
        return self._backend.availability()

    def open(self, **wanted: Any) -> Sandbox:
        box = self._backend.open(**wanted)
        self._session.boxes.append(box)
        if self._session.editor.stopped:  # meanwhile: nobody closes it any more
            box.close()
            self._session.editor.stop_if_told()
        return box

    def reap(self) -> int:
        return self._backend.reap()
