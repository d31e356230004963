"""A conversation with another agent in the Agent Client Protocol: what it asks for is answered by whoever prompts it.

The protocol is spoken by a thread of its own. All that the agent asks for or tells is handed to the thread that waits
in `prompt`, so whoever answers may use the database, the sandbox and the record as always.
"""

from __future__ import annotations

import asyncio
import os
import queue
import secrets
import threading
import time
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from agents.outside.table import OutsideAgent
from agents.outside.transport import MOST_LINE, BoundedTransport
from agents.outside.way_out import open_way, ports_of, variables_of
from sandbox.base import SandboxError
from sandbox.companion import Companion

WORKSPACE = "/workspace"  # where the agent finds the files
START_SECONDS = 60.0
CANCEL_SECONDS = 3.0  # between the word that it should stop and its end
END_SECONDS, POLL_SECONDS = 3.0, 0.1
MOST_TERMINALS = 200  # whose output is kept
MOST_TOKENS = 1_000_000_000  # that an agent can report of a turn: what is reported has to fit into the record
SIGN_IN = -32000  # the protocol's code for it
T = TypeVar("T")


class AgentRefused(Exception):
    """The agent may not have what it asked for; it is told the text."""


class Interrupted(Exception):
    """Somebody stopped the work; the agent's processes are gone."""


class AgentGone(Exception):
    """The conversation ended without an answer; the text goes after the agent's name. `died`: it may begin again."""

    def __init__(self, words: str, *, died: bool = False) -> None:
        super().__init__(words)
        self.died = died


@dataclass(frozen=True)
class Ran:
    """What a command of the agent gave; no exit code when it was killed."""

    output: str
    exit_code: int | None


@dataclass(frozen=True)
class AgentTurn:
    """How a turn ended (`end_turn`, `max_tokens`, `refusal`, …), and the tokens that the agent reports for it."""

    stop: str
    sent: int = 0
    written: int = 0


def _within(tokens: int | None) -> int:
    return min(max(0, tokens or 0), MOST_TOKENS)


class AgentDesk(Protocol):
    """Answers the agent, in the thread that prompts. Raises AgentRefused for what it may not have."""

    def read(self, path: str) -> str: ...

    def write(self, path: str, content: str) -> None: ...

    def run(self, words: Sequence[str], folder: str) -> Ran: ...

    def permit(self, call: Any) -> bool:
        """Whether it may do what this tool call of the protocol says."""
        ...

    def heard(self, update: Any) -> None:
        """Something of the protocol's session updates."""
        ...

    def no_way(self, target: str) -> None:
        """It asked for a host that it may not reach."""
        ...


Item = Callable[[AgentDesk | None], None]


class _Client:
    """The client's side of the protocol: each request waits for the desk."""

    def __init__(self, inbox: queue.SimpleQueue[Item]) -> None:
        self._inbox, self._terminals = inbox, dict[str, Ran]()

    async def _ask(self, do: Callable[[AgentDesk], T]) -> T:
        from acp import RequestError

        loop = asyncio.get_running_loop()
        answer: asyncio.Future[T] = loop.create_future()

        def answered(value: Any, error: Exception | None) -> None:
            if not answer.done():
                answer.set_exception(error) if error is not None else answer.set_result(value)

        def serve(desk: AgentDesk | None) -> None:
            value, error = None, None
            try:
                if desk is None:
                    raise AgentRefused("nothing was asked of you now")
                value = do(desk)
            except AgentRefused as refusal:
                error = RequestError(-32603, f"Refused: {refusal}")
            except BaseException:
                with suppress(RuntimeError):
                    loop.call_soon_threadsafe(answered, None, RequestError(-32603, "Stopped"))
                raise
            with suppress(RuntimeError):  # the loop is closed: nobody waits any more
                loop.call_soon_threadsafe(answered, value, error)

        self._inbox.put(serve)
        return await answer

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        from acp import RequestError

        with suppress(RequestError):
            await self._ask(lambda desk: desk.heard(update))

    async def request_permission(self, session_id: str, tool_call: Any, options: list[Any], **_: Any) -> Any:
        from acp.schema import AllowedOutcome, DeniedOutcome, RequestPermissionResponse

        yes = await self._ask(lambda desk: desk.permit(tool_call))
        # Never "always": each call is judged.
        wanted = ("allow_once",) if yes else ("reject_once", "reject_always")
        chosen = next((each.option_id for kind in wanted for each in options if each.kind == kind), None)
        if chosen is None:
            return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))
        return RequestPermissionResponse(outcome=AllowedOutcome(outcome="selected", option_id=chosen))

    async def read_text_file(
        self, session_id: str, path: str, line: int | None = None, limit: int | None = None, **_: Any
    ) -> Any:
        from acp.schema import ReadTextFileResponse

        lines = (await self._ask(lambda desk: desk.read(path))).splitlines(keepends=True)
        first = max(0, (line or 1) - 1)
        return ReadTextFileResponse(content="".join(lines[first : None if limit is None else first + limit]))

    async def write_text_file(self, session_id: str, path: str, content: str, **_: Any) -> None:
        await self._ask(lambda desk: desk.write(path, content))

    async def create_terminal(
        self, session_id: str, command: str, args: list[str] | None = None, cwd: str | None = None, **_: Any
    ) -> Any:
        from acp.schema import CreateTerminalResponse

        ran = await self._ask(lambda desk: desk.run([command, *(args or [])], cwd or WORKSPACE))
        name = secrets.token_hex(4)
        self._terminals[name] = ran
        while len(self._terminals) > MOST_TERMINALS:
            del self._terminals[next(iter(self._terminals))]
        return CreateTerminalResponse(terminal_id=name)

    def _ran(self, name: str) -> Ran:
        from acp import RequestError

        if name not in self._terminals:
            raise RequestError(-32602, "There is no such terminal")
        return self._terminals[name]

    async def terminal_output(self, session_id: str, terminal_id: str, **_: Any) -> Any:
        from acp.schema import TerminalExitStatus, TerminalOutputResponse

        ran = self._ran(terminal_id)
        status = TerminalExitStatus(exit_code=ran.exit_code, signal=None if ran.exit_code is not None else "KILL")
        return TerminalOutputResponse(output=ran.output, truncated=False, exit_status=status)

    async def wait_for_terminal_exit(self, session_id: str, terminal_id: str, **_: Any) -> Any:
        from acp.schema import WaitForTerminalExitResponse

        code = self._ran(terminal_id).exit_code
        return WaitForTerminalExitResponse(exit_code=code, signal=None if code is not None else "KILL")

    async def release_terminal(self, session_id: str, terminal_id: str, **_: Any) -> None:
        self._terminals.pop(terminal_id, None)

    async def kill_terminal(self, session_id: str, terminal_id: str, **_: Any) -> None:
        """A command has ended before the agent gets its terminal's name."""

    async def ext_method(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        from acp import RequestError

        raise RequestError.method_not_found(method)

    async def ext_notification(self, method: str, params: dict[str, Any]) -> None:
        """Nothing beside the protocol is listened to."""


class AgentSession:
    """One conversation with one agent, over the sandbox that it runs in. Not to be used after AgentGone."""

    def __init__(self, agent: OutsideAgent, companion: Companion) -> None:
        self.agent, self.companion = agent, companion
        self.name, self.version, self.turns = secrets.token_hex(4), "", 0
        self._inbox: queue.SimpleQueue[Item] = queue.SimpleQueue()
        self._loop, self._closed, self._session = asyncio.new_event_loop(), False, ""
        self._connection: Any = None
        self._servers: list[asyncio.Server] = []
        self._transport: BoundedTransport | None = None
        self._thread = threading.Thread(target=self._loop.run_forever, name="outside-agent", daemon=True)

    @property
    def open(self) -> bool:
        """Whether it can be prompted again."""
        return not self._closed

    def begin(self, stopped: Callable[[], bool]) -> None:
        """Start the agent and agree on the protocol. Raises AgentGone, Interrupted and SandboxError."""
        agent, given = self.agent, {name: os.environ[name] for name in self.agent.env if name in os.environ}
        self.companion.start(agent.command, {**dict(agent.variables), **given, **variables_of(agent)}, ports_of(agent))
        self._thread.start()
        self._through(self._connect(), None, START_SECONDS, stopped, "starts")

    async def _connect(self) -> None:
        from acp import PROTOCOL_VERSION
        from acp.client.connection import ClientSideConnection
        from acp.schema import ClientCapabilities, FileSystemCapabilities, Implementation

        loop, reader = asyncio.get_running_loop(), asyncio.StreamReader(limit=MOST_LINE)
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), self.companion.reads)
        pipe, flow = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, self.companion.writes)
        writer = asyncio.StreamWriter(pipe, flow, None, loop)
        self._transport = BoundedTransport(reader, writer)

        def refused(target: str) -> None:
            self._inbox.put(lambda desk: desk.no_way(target) if desk is not None else None)

        self._servers = await open_way(self.agent, self.companion.listeners, refused)
        client: Any = _Client(self._inbox)
        self._connection = ClientSideConnection(client, self._transport)
        told = await self._connection.initialize(
            protocol_version=PROTOCOL_VERSION,
            client_capabilities=ClientCapabilities(
                fs=FileSystemCapabilities(read_text_file=True, write_text_file=True), terminal=True
            ),
            client_info=Implementation(name="aiswe", version="1"),
        )
        if told.protocol_version != PROTOCOL_VERSION:
            raise AgentGone(f"speaks version {told.protocol_version} of the protocol, not {PROTOCOL_VERSION}")
        about = told.agent_info
        self.version = " ".join(f"{about.name} {about.version}".split())[:80] if about is not None else ""
        self._session = str((await self._connection.new_session(cwd=WORKSPACE, mcp_servers=[])).session_id)

    def prompt(self, text: str, desk: AgentDesk, *, seconds: float, stopped: Callable[[], bool]) -> AgentTurn:
        """One turn: prompt the agent and answer it until it ends its turn.

        Raises AgentGone, Interrupted when `stopped` says so, SandboxError, and what the desk raises; the agent's
        processes are gone then.
        """
        from acp.helpers import text_block

        if self._transport is not None:
            self._transport.new_turn()
        self.turns += 1
        call = self._connection.prompt(session_id=self._session, prompt=[text_block(text)])
        answer = self._through(call, desk, seconds, stopped, "is at work")
        usage = answer.usage
        sent, written = (usage.input_tokens, usage.output_tokens) if usage is not None else (0, 0)
        return AgentTurn(str(answer.stop_reason), _within(sent), _within(written))

    def _through(
        self,
        work: Coroutine[Any, Any, T],
        desk: AgentDesk | None,
        seconds: float,
        stopped: Callable[[], bool],
        doing: str,
    ) -> T:
        """Have the loop do this, and answer the agent meanwhile."""
        until, call = time.monotonic() + seconds, asyncio.run_coroutine_threadsafe(work, self._loop)
        call.add_done_callback(lambda _: self._inbox.put(lambda _: None))
        try:
            while not call.done():
                if stopped():
                    raise Interrupted(f"stopped while {self.agent.name} {doing}")
                if time.monotonic() > until:
                    raise AgentGone(f"did not come to an end within {seconds:,.0f} seconds and was stopped")
                with suppress(queue.Empty):
                    self._inbox.get(timeout=POLL_SECONDS)(desk)
            return self._result(call)
        except BaseException:
            self._cancel(call)
            self.close()
            raise

    def _result(self, call: Future[T]) -> T:
        from acp import RequestError
        from pydantic import ValidationError

        try:
            return call.result()
        except RequestError as error:
            if error.code == SIGN_IN:
                raise AgentGone("asks for a sign-in: name its key in the table of agents") from None
            detail = error.data.get("details", "") if isinstance(error.data, dict) else ""
            raise AgentGone(f"answered with an error: {error} {detail}".strip()[:300]) from None
        except ValidationError:
            raise AgentGone("answered something that the protocol does not know") from None
        except (ConnectionError, OSError, asyncio.CancelledError):
            raise self._why_gone() from None

    def _why_gone(self) -> AgentGone:
        if self._transport is not None and self._transport.problem:
            return AgentGone(self._transport.problem)
        try:
            until = time.monotonic() + END_SECONDS
            while (state := self.companion.look()).runs and time.monotonic() < until:
                time.sleep(POLL_SECONDS)  # its end is noticed a moment after its last word
        except SandboxError as error:
            return AgentGone(f"ended with its sandbox: {error}", died=True)
        if state.detail:
            return AgentGone(state.detail)
        how = (
            "closed its conversation"
            if state.runs
            else f"ended in the middle of its turn (exit code {state.exit_code})"
        )
        said = " ".join(state.said.split())[-200:]
        return AgentGone(f"{how}{f': {said}' if said else ''}", died=True)

    def _cancel(self, call: Future[Any]) -> None:
        """Ask it to stop, and wait a moment for it."""
        if call.done() or not self._session:
            return
        asyncio.run_coroutine_threadsafe(self._connection.cancel(session_id=self._session), self._loop)
        until = time.monotonic() + CANCEL_SECONDS
        while not call.done() and time.monotonic() < until:
            with suppress(queue.Empty):
                self._inbox.get(timeout=POLL_SECONDS)(None)
        call.cancel()

    def close(self) -> None:
        """End the agent with all its processes; may be called twice."""
        if self._closed:
            return
        self._closed = True
        self.companion.sandbox.close()
        if self._thread.is_alive():

            async def end() -> None:
                for server in self._servers:
                    server.close()
                if self._connection is not None:
                    with suppress(Exception):
                        await asyncio.wait_for(self._connection.close(), CANCEL_SECONDS)
                others = asyncio.all_tasks() - {asyncio.current_task()}
                for task in others:
                    task.cancel()
                await asyncio.gather(*others, return_exceptions=True)
                self._loop.stop()

            asyncio.run_coroutine_threadsafe(end(), self._loop)
            self._thread.join(5)
        if not self._thread.is_alive():
            self._loop.close()
        self.companion.close()  # the loop held its sockets until now
