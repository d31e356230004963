"""An editor at the other end of `aiswe acp`: the SDK's client with buffers, terminals and a person who answers."""

from __future__ import annotations

import asyncio
import subprocess
import threading
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any, TypeVar

from acp import PROTOCOL_VERSION, RequestError, schema
from acp.helpers import text_block
from acp.stdio import spawn_agent_process

from tests.aiswe_site.running import COMMAND, WAIT_S
from tests.replying_model import ReplyingModel

T = TypeVar("T")
Answer = str | Callable[[schema.ToolCallUpdate, list[schema.PermissionOption]], str]


class Person:
    """Implements acp.Client. `answer` is the option that a question gets, "" cancels it; what was seen is kept."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """As at the beginning."""
        self.answer: Answer = "once"
        self.updates: list[tuple[str, Any]] = []
        self.asked: list[tuple[schema.ToolCallUpdate, list[str]]] = []
        self.buffers: dict[str, str] = {}
        self.written: dict[str, str] = {}
        self.terminals: list[tuple[str, subprocess.CompletedProcess[str]]] = []
        self.called: list[str] = []
        self.endless: asyncio.Event | None = None  # a terminal's command ends when it is set
        self.heard: dict[str, threading.Event] = {}
        self.news = threading.Event()

    def on_connect(self, conn: Any) -> None:
        pass

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        self.updates.append((session_id, update))
        self.news.set()
        if isinstance(update, schema.AgentMessageChunk):
            self.hears(session_id).set()

    async def request_permission(self, session_id: str, tool_call: Any, options: Any, **_: Any) -> Any:
        self.asked.append((tool_call, [option.kind for option in options]))
        chosen = self.answer if isinstance(self.answer, str) else self.answer(tool_call, options)
        if not chosen:
            return schema.RequestPermissionResponse(outcome=schema.DeniedOutcome(outcome="cancelled"))
        return schema.RequestPermissionResponse(outcome=schema.AllowedOutcome(outcome="selected", option_id=chosen))

    async def read_text_file(self, session_id: str, path: str, **_: Any) -> Any:
        if path in self.buffers:
            return schema.ReadTextFileResponse(content=self.buffers[path])
        if not Path(path).is_file():
            raise RequestError.resource_not_found(path)
        return schema.ReadTextFileResponse(content=Path(path).read_text())

    async def write_text_file(self, session_id: str, path: str, content: str, **_: Any) -> None:
        self.written[path] = self.buffers[path] = content

    async def create_terminal(self, session_id: str, command: str, args: Any = None, cwd: Any = None, **_: Any) -> Any:
        self.called.append("create")
        ran = subprocess.run([command, *args], cwd=cwd, capture_output=True, text=True)
        self.terminals.append((cwd, ran))
        return schema.CreateTerminalResponse(terminal_id=f"t{len(self.terminals)}")

    async def wait_for_terminal_exit(self, session_id: str, terminal_id: str, **_: Any) -> Any:
        self.called.append("wait")
        self.news.set()
        if self.endless is not None:
            await self.endless.wait()
        return schema.WaitForTerminalExitResponse(exit_code=self.terminals[-1][1].returncode)

    async def terminal_output(self, session_id: str, terminal_id: str, **_: Any) -> Any:
        self.called.append("output")
        return schema.TerminalOutputResponse(output=self.terminals[-1][1].stdout, truncated=False)

    async def release_terminal(self, session_id: str, terminal_id: str, **_: Any) -> None:
        self.called.append("release")

    async def kill_terminal(self, session_id: str, terminal_id: str, **_: Any) -> None:
        self.called.append("kill")
        if self.endless is not None:
            self.endless.set()

    def hears(self, session: str) -> threading.Event:
        """Set once words of this session were shown."""
        return self.heard.setdefault(session, threading.Event())

    def said(self, session: str = "", kind: type = schema.AgentMessageChunk) -> str:
        """The words that were shown."""
        chunks = (update for at, update in self.updates if isinstance(update, kind) and at == (session or at))
        return "".join(update.content.text for update in chunks)

    def waits_for(self, seen: Callable[[], bool]) -> None:
        """Wait until something is seen."""
        while not seen():
            self.news.clear()
            if not seen():
                assert self.news.wait(WAIT_S), "it was never seen"

    def of(self, kind: type) -> list[Any]:
        """Updates of one kind."""
        return [update for _, update in self.updates if isinstance(update, kind)]


class Editor:
    """A running `aiswe acp` with a person; calls block, so tests read as they happen."""

    def __init__(self, env: dict[str, str], *, can: bool = True) -> None:
        self.person = Person()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._held = spawn_agent_process(self.person, *COMMAND, "acp", env=env, use_unstable_protocol=True)
        self.agent, self.process = self.do(self._held.__aenter__())
        self.can = can
        self.about = self.greet(PROTOCOL_VERSION)

    def greet(self, version: int) -> schema.InitializeResponse:
        """What the program says of itself."""
        files = schema.FileSystemCapabilities(read_text_file=self.can, write_text_file=self.can)
        can = schema.ClientCapabilities(fs=files, terminal=self.can)
        return self.do(self.agent.initialize(protocol_version=version, client_capabilities=can))

    def do(self, work: Coroutine[Any, Any, T]) -> T:
        return self.begin(work).result(WAIT_S)

    def begin(self, work: Coroutine[Any, Any, T]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def new(self, folder: Path) -> str:
        return self.do(self.agent.new_session(cwd=str(folder), mcp_servers=[])).session_id

    def say(self, session: str, words: str | Sequence[Any]) -> str:
        return self.saying(session, words).result(WAIT_S).stop_reason

    def saying(self, session: str, words: str | Sequence[Any]) -> Any:
        blocks = [text_block(words)] if isinstance(words, str) else [*words]
        return self.begin(self.agent.prompt(session_id=session, prompt=blocks))

    def vanish(self) -> None:
        """Be gone without a word; the program has to end by itself."""

        async def cut() -> None:
            self.process.stdin.close()
            await self.process.wait()

        self.do(cut())
        self.close()

    def close(self) -> None:
        self.do(self._held.__aexit__(None, None, None))
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(WAIT_S)
        self._loop.close()


class EditorChat:
    """A session of an editor, and the model that answers in it."""

    def __init__(self, editor: Editor, model: ReplyingModel, folder: Path) -> None:
        self.editor, self.person, self.model, self.folder = editor, editor.person, model, folder
        self.session = editor.new(folder)

    def say(self, words: str | Sequence[Any], *replies: str) -> str:
        """Why a turn ends that the model answers so; without replies, as was ordered before."""
        return self.saying(words, *replies).result(WAIT_S).stop_reason

    def saying(self, words: str | Sequence[Any], *replies: str) -> Any:
        if replies:
            self.model.answer(replies)
        return self.editor.saying(self.session, words)

    def said(self) -> str:
        return self.person.said(self.session)

    def mode(self, name: str) -> None:
        self.editor.do(self.editor.agent.set_session_mode(session_id=self.session, mode_id=name))

    def load(self) -> Any:
        load = self.editor.agent.load_session
        return self.editor.do(load(cwd=str(self.folder), session_id=self.session, mcp_servers=[]))

    def cancel(self) -> None:
        self.editor.do(self.editor.agent.cancel(session_id=self.session))
