"""An agent written with the protocol's SDK, which does what the line after `Do:` in its script says: one per turn.

The script is the file that AGENT_SCRIPT names, JSON: a list of turns, each a list of steps [verb, …].
"""

import asyncio
import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from acp import PROTOCOL_VERSION, RequestError, run_agent
from acp.helpers import text_block, update_agent_message
from acp.schema import (
    AgentCapabilities,
    Implementation,
    InitializeResponse,
    NewSessionResponse,
    PermissionOption,
    PromptResponse,
    ToolCallLocation,
    ToolCallProgress,
    ToolCallStart,
    ToolCallUpdate,
    Usage,
)

TURNS = json.loads(os.environ["AGENT_SCRIPT"])


class StandIn:
    """Follows its script."""

    def __init__(self) -> None:
        self.turn, self.cancelled, self.prompts = 0, asyncio.Event(), list[str]()
        self.client: Any = None

    def on_connect(self, conn: Any) -> None:
        self.client = conn

    async def initialize(self, protocol_version: int, **_: Any) -> InitializeResponse:
        return InitializeResponse(
            protocol_version=PROTOCOL_VERSION,
            agent_capabilities=AgentCapabilities(),
            agent_info=Implementation(name="stand-in", version="1.2"),
        )

    async def new_session(self, cwd: str, **_: Any) -> NewSessionResponse:
        self.cwd = cwd
        return NewSessionResponse(session_id="s1")

    async def cancel(self, session_id: str, **_: Any) -> None:
        self.cancelled.set()

    async def prompt(self, session_id: str, prompt: list[Any], **_: Any) -> PromptResponse:
        self.prompts.append("".join(block.text for block in prompt))
        steps = TURNS[min(self.turn, len(TURNS) - 1)]
        self.turn += 1
        for verb, *given in steps:
            said = await getattr(self, verb)(session_id, *given)
            if said:
                await self.client.session_update(session_id, update_agent_message(text_block(f"{verb}: {said}\n")))
        usage = Usage(total_tokens=30, input_tokens=20, output_tokens=10)
        return PromptResponse(stop_reason="end_turn", usage=usage)

    async def say(self, session: str, text: str) -> str:
        return text

    async def tell_prompt(self, session: str) -> str:
        return self.prompts[-1]

    async def write(self, session: str, path: str, text: str) -> str:
        """Through the client."""
        try:
            await self.client.write_text_file(session_id=session, path=path, content=text)
        except RequestError as error:
            return f"{path}: {error}"
        return ""

    async def write_size(self, session: str, path: str, size: int) -> str:
        return (await self.write(session, path, "x" * size))[:200]

    async def read(self, session: str, path: str) -> str:
        try:
            return str((await self.client.read_text_file(session_id=session, path=path)).content)
        except RequestError as error:
            return f"{path}: {error}"

    async def own_write(self, session: str, path: str, text: str) -> str:
        """By itself, in its own sandbox."""
        try:
            Path(self.cwd, path).parent.mkdir(parents=True, exist_ok=True)
            Path(self.cwd, path).write_text(text)
        except OSError as error:
            return f"{path}: {error}"
        return ""

    async def own_link(self, session: str, path: str, to: str) -> str:
        Path(self.cwd, path).unlink(missing_ok=True)
        os.symlink(to, Path(self.cwd, path))
        return ""

    async def own_run(self, session: str, *words: str) -> str:
        done = subprocess.run(words, capture_output=True, text=True, cwd=self.cwd, check=False)
        return f"{done.returncode} {(done.stdout + done.stderr)[-300:]}"

    async def connect(self, session: str, host: str, port: int) -> str:
        try:
            with socket.create_connection((host, port), timeout=3) as line:
                line.sendall(b"CONNECT evil.example:443 HTTP/1.1\r\n\r\n")
                return f"connected {line.recv(60)!r}"
        except OSError as error:
            return f"no way: {error}"

    async def run(self, session: str, command: str, *args: str) -> str:
        """In a terminal of the client."""
        try:
            made = await self.client.create_terminal(session_id=session, command=command, args=list(args))
        except RequestError as error:
            return f"{command}: {error}"
        end = await self.client.wait_for_terminal_exit(session_id=session, terminal_id=made.terminal_id)
        told = await self.client.terminal_output(session_id=session, terminal_id=made.terminal_id)
        await self.client.release_terminal(session_id=session, terminal_id=made.terminal_id)
        return f"exit {end.exit_code}: {told.output}"

    async def tool(self, session: str, title: str, kind: str, path: str) -> str:
        where = [ToolCallLocation(path=path)]
        start = ToolCallStart(
            session_update="tool_call", tool_call_id=title, title=title, kind=kind, status="pending", locations=where
        )
        await self.client.session_update(session, start)
        end = ToolCallProgress(session_update="tool_call_update", tool_call_id=title, status="completed")
        await self.client.session_update(session, end)
        return ""

    async def ask(self, session: str, kind: str, title: str, path: str, command: str) -> str:
        call = ToolCallUpdate(
            tool_call_id=title,
            title=title,
            kind=kind,
            locations=[ToolCallLocation(path=path)] if path else None,
            raw_input={"command": command} if command else None,
        )
        options = [
            PermissionOption(option_id="always", name="Always", kind="allow_always"),
            PermissionOption(option_id="yes", name="Yes", kind="allow_once"),
            PermissionOption(option_id="no", name="No", kind="reject_once"),
        ]
        answer = await self.client.request_permission(session_id=session, tool_call=call, options=options)
        return f"{title}: {getattr(answer.outcome, 'option_id', answer.outcome.outcome)}"

    async def hang(self, session: str) -> str:
        await asyncio.sleep(3600)
        return ""

    async def block(self, session: str) -> str:
        time.sleep(3600)
        return ""

    async def wait_for_cancel(self, session: str) -> str:
        await self.cancelled.wait()
        return ""

    async def die(self, session: str) -> str:
        os.write(2, b"I give up")
        os._exit(3)

    async def die_once(self, session: str) -> str:
        mark = Path(self.cwd, "died")
        if mark.exists():
            return ""
        os._exit(3)

    async def flood(self, session: str, times: int) -> str:
        for _ in range(times):
            await self.client.session_update(session, update_agent_message(text_block("x")))
        return ""

    async def raw(self, session: str, text: str, times: int) -> str:
        """Past the SDK."""
        os.set_blocking(1, True)
        for _ in range(times):
            sys.stdout.buffer.write(text.encode() + b"\n")
        sys.stdout.buffer.flush()
        os.set_blocking(1, False)
        await asyncio.sleep(0.2)
        return ""

    async def raw_size(self, session: str, size: int) -> str:
        return await self.raw(session, "x" * size, 1)


if __name__ == "__main__":
    asyncio.run(run_agent(StandIn()))
