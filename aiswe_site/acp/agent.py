"""The Agent Client Protocol's methods: each hands its work to a thread, where Django and the engine may block.

Nothing here imports Django before `initialize` was answered: an editor that starts this waits for that answer.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from acp import PROTOCOL_VERSION, RequestError
from acp.schema import (
    AgentCapabilities,
    ClientCapabilities,
    CloseSessionResponse,
    Implementation,
    InitializeResponse,
    ListSessionsResponse,
    LoadSessionResponse,
    NewSessionResponse,
    PromptCapabilities,
    PromptResponse,
    ResumeSessionResponse,
    SessionCapabilities,
    SessionCloseCapabilities,
    SessionListCapabilities,
    SessionResumeCapabilities,
    SetSessionModeResponse,
)

from aiswe_site import VERSION
from aiswe_site.acp.editor import Editor

if TYPE_CHECKING:
    from aiswe_site.acp.sessions import EditorSession

T = TypeVar("T")
LEAVE_S = 6.0  # for turns to end when the editor is gone


class ChatAgent:
    """Implements acp.Agent for one editor; `user` is whom it acts as, "" for the default of all commands."""

    def __init__(self, user: str = "") -> None:
        self._user = user
        self._client: Any = None
        self._can: ClientCapabilities | None = None
        self._sessions: dict[str, EditorSession] = {}
        self._threads: set[threading.Thread] = set()
        self._loading = threading.Lock()
        self._by: Any = None
        self._kept: set[asyncio.Task[None]] = set()

    def on_connect(self, conn: Any) -> None:
        """The way back to the editor."""
        self._client = conn

    async def initialize(
        self,
        protocol_version: int,
        client_capabilities: ClientCapabilities | None = None,
        client_info: Implementation | None = None,
        **_: Any,
    ) -> InitializeResponse:
        """What both sides can do. Of a newer protocol the editor is offered the one that is spoken here."""
        self._can, self._loop = client_capabilities, asyncio.get_running_loop()
        self._loop.call_later(0.05, self._start, self._load)
        sessions = SessionCapabilities(
            list=SessionListCapabilities(), resume=SessionResumeCapabilities(), close=SessionCloseCapabilities()
        )
        return InitializeResponse(
            protocol_version=min(protocol_version, PROTOCOL_VERSION) or PROTOCOL_VERSION,
            agent_capabilities=AgentCapabilities(
                load_session=True,
                prompt_capabilities=PromptCapabilities(image=False, audio=False, embedded_context=True),
                session_capabilities=sessions,
            ),
            agent_info=Implementation(name="aiswe", title="AI SWE", version=VERSION),
            auth_methods=[],
        )

    async def authenticate(self, method_id: str, **_: Any) -> None:
        """There is nothing to sign in to: whoever starts this owns the installation."""

    async def new_session(self, cwd: str, **_: Any) -> NewSessionResponse:
        """A new chat in the editor's folder."""

        def begin() -> str:
            from aiswe_site.acp import sessions

            return self._keep(sessions.begin(cwd, self._by), "chat", cwd)

        session_id = await self._in_thread(begin)
        return NewSessionResponse(session_id=session_id, modes=self._introduce(session_id))

    async def load_session(self, cwd: str, session_id: str, **_: Any) -> LoadSessionResponse:
        """A chat from before, shown again from its record."""
        await self._in_thread(lambda: self._again(session_id, cwd, shown=True))
        return LoadSessionResponse(modes=self._introduce(session_id))

    async def resume_session(self, session_id: str, cwd: str, **_: Any) -> ResumeSessionResponse:
        """A chat from before that the editor shows already."""
        await self._in_thread(lambda: self._again(session_id, cwd, shown=False))
        return ResumeSessionResponse(modes=self._introduce(session_id))

    async def list_sessions(self, cwd: str | None = None, cursor: str | None = None, **_: Any) -> ListSessionsResponse:
        """The chats of a folder, or of all, the newest first."""

        def find() -> Any:
            from aiswe_site.acp import sessions

            return sessions.listed(cwd, cursor, self._by)

        found, following = await self._in_thread(find)
        return ListSessionsResponse(sessions=found, next_cursor=following)

    async def prompt(self, session_id: str, prompt: list[Any], **_: Any) -> PromptResponse:
        """One turn, to its end."""
        session = self._session(session_id)
        if session.busy:
            raise _refused("A turn of this session is running: cancel it first.")

        def take() -> Any:
            from aiswe_site.acp import turns

            return turns.take(session, prompt, self._by)

        session.busy = True
        session.editor.interrupted.clear()
        try:
            return PromptResponse(stop_reason=await self._in_thread(take))
        finally:
            session.busy = False

    async def cancel(self, session_id: str, **_: Any) -> None:
        """End the session's turn; it can be gone on with."""
        session = self._sessions.get(session_id)
        if session is not None and session.busy:
            session.editor.interrupted.set()
            self._start(session.stop)

    async def set_session_mode(self, mode_id: str, session_id: str, **_: Any) -> SetSessionModeResponse:
        """Choose how the next prompts are worked on."""
        session = self._session(session_id)

        def choose() -> None:
            from aiswe_site.acp import shapes, turns

            if mode_id not in shapes.MODES:
                raise _refused(f"There is no mode {mode_id[:80]!r}.")
            turns.choose(session, mode_id, self._by)  # type: ignore[arg-type]  # one of MODES

        await self._in_thread(choose)
        return SetSessionModeResponse()

    async def close_session(self, session_id: str, **_: Any) -> CloseSessionResponse:
        """Let go of a session; it stays on record."""
        session = self._session(session_id)
        await self.cancel(session_id)
        del self._sessions[session_id]
        if not session.busy:
            await self._in_thread(session.files.close)
        return CloseSessionResponse()

    async def leave(self) -> None:
        """The editor is gone: end all turns so that they can be gone on with."""
        for session in self._sessions.values():
            session.editor.gone.set()
            self._start(session.stop)
        until = time.monotonic() + LEAVE_S
        while any(thread.is_alive() for thread in list(self._threads)) and time.monotonic() < until:
            await asyncio.sleep(0.05)
        for session in self._sessions.values():
            session.files.close()

    def _session(self, session_id: str) -> EditorSession:
        session = self._sessions.get(session_id)
        if session is None:
            raise _refused(f"There is no session {session_id[:80]!r}: load it first.")
        return session

    def _keep(self, run: Any, mode: Any, cwd: str) -> str:
        from aiswe_site.acp import sessions

        session_id = f"{sessions.PREFIX}{run.pk}"
        editor = Editor(self._client, self._loop, session_id, self._can)
        self._sessions[session_id] = sessions.session_of(run, mode, editor, cwd)
        return session_id

    def _again(self, session_id: str, cwd: str, *, shown: bool) -> None:
        from aiswe_site.acp import sessions

        run, state = sessions.named(session_id, cwd, self._by)
        if (known := self._sessions.get(session_id)) is not None and known.busy:
            raise _refused("A turn of this session is running: cancel it first.")
        self._keep(run, state.mode, cwd)
        if shown:
            sessions.replay(self._sessions[session_id], state)

    def _introduce(self, session_id: str) -> Any:
        """The modes; and the commands after this answer, because before it an editor does not know the session."""
        from aiswe_site.acp import shapes

        sent = self._loop.create_task(self._client.session_update(session_id, shapes.commands()))
        self._kept.add(sent)
        sent.add_done_callback(self._kept.discard)
        return shapes.modes(self._sessions[session_id].mode)

    def _load(self) -> None:
        """Django, the database and who acts; done once, by whoever comes first."""
        with self._loading:
            if self._by is None:
                from aiswe_site.startup import django
                from aiswe_site.terminal.operator import acting_user

                django.start()
                from aiswe_site.acp import turns  # noqa: F401  the engine too, while nobody waits for it

                self._by = acting_user(self._user)

    def _start(self, work: Callable[[], Any]) -> None:
        """Do it in a thread that nobody waits for."""

        def run() -> None:
            try:
                with contextlib.suppress(Exception):  # who asks next meets the same problem, and is told
                    work()
            finally:
                _done_with_database()
                self._threads.discard(threading.current_thread())

        thread = threading.Thread(target=run, daemon=True, name="acp")
        self._threads.add(thread)
        thread.start()

    async def _in_thread(self, work: Callable[[], T]) -> T:
        """The result of the work; its errors as sentences of the protocol."""
        done: asyncio.Future[T] = self._loop.create_future()

        def tell(setter: Callable[[Any], None], value: Any) -> None:
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits
                self._loop.call_soon_threadsafe(lambda: None if done.done() else setter(value))

        def run() -> None:
            try:
                self._load()
                result = work()
            except Exception as error:  # noqa: BLE001  the editor shows it
                tell(done.set_exception, _as_answer(error))
            else:
                tell(done.set_result, result)

        self._start(run)
        return await done


def _refused(words: str) -> RequestError:
    """A request that makes no sense; editors show the words."""
    return RequestError(-32602, words)


def _as_answer(error: Exception) -> RequestError:
    from aiswe_site.terminal.problems import problem_from

    if isinstance(error, RequestError):
        return error
    problem = problem_from(error)
    return RequestError(-32603, " ".join(part for part in (str(problem), problem.hint) if part))


def _done_with_database() -> None:
    """A thread's own connections end with it."""
    if "django.db" in sys.modules:
        from django.db import connections

        connections.close_all()
