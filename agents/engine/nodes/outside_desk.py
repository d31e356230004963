"""What another agent is answered in its turn, and what is put on the record of it."""

from __future__ import annotations

import hashlib
import shlex
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any

from agents.engine.contracts import Stopped, TaskContext
from agents.engine.effects import effect
from agents.engine.state import TaskState
from agents.engine.waiting import Waiting, WaitReason
from agents.events.effects import AgentPermission, AgentToolUsed, CommandRan, GuardBlocked, GuardWatched, SystemNotice
from agents.outside.copies import copied
from agents.outside.policy import (
    MOST_BYTES,
    Reach,
    Ruling,
    command_of,
    inside,
    may_call,
    may_read,
    may_run,
    may_write,
    title_of,
)
from agents.outside.session import WORKSPACE, AgentRefused, AgentSession, Ran
from sandbox.base import ExecResult, PathRefused, SandboxError

COMMAND_SECONDS = 120.0
SHOW_SECONDS = 0.2
MOST_ROWS = 500  # events of one turn about tools, permissions and refusals; the rest is counted
MOST_WORDS = 200_000  # characters of what the agent says in one turn
MOST_READ = 4_000_000
ENDED = ("completed", "failed")


class EngineDesk:
    """Implements agents.outside.session.AgentDesk for one turn of one task."""

    def __init__(self, state: TaskState, ctx: TaskContext, session: AgentSession, reach: Reach, key: str) -> None:
        self._state, self._ctx, self._session, self._reach, self._key = state, ctx, session, reach, key
        self._agent, self._attempt = session.agent.name, state["counters"]["attempt"] + 1
        self._said, self._thought, self._length, self._rows = list[str](), list[str](), 0, 0
        self._shown, self._new, self._showed = 0, "", 0.0
        self._tools: dict[str, dict[str, Any]] = {}
        self._plan = ""
        self.refused: list[str] = []

    @property
    def words(self) -> str:
        """What the agent said."""
        return "".join(self._said)

    @property
    def thoughts(self) -> str:
        """What it showed of its thinking."""
        return "".join(self._thought)

    def _emit(self, event: Any, name: str) -> None:
        self._rows += 1
        if self._rows <= MOST_ROWS:
            self._ctx.event_log.emit(event, attempt=self._attempt, key=f"{self._key}/{name}{self._rows}")

    def close(self) -> None:
        """Show the last words; say what was too much for the record."""
        self._show()
        if (more := self._rows - MOST_ROWS) > 0:
            said = f"{self._agent} did {more:,} things more in this turn that are not listed"
            self._ctx.event_log.emit(
                SystemNotice(summary=said, role="coder", text=said), attempt=self._attempt, key=f"{self._key}/more"
            )

    def block(self, what: str, ruling: Ruling) -> str:
        """Put a refusal on the record; the reason."""
        harmless = ruling.rule == "outside.new-test"
        shown = what.encode(errors="replace").decode()[:300]
        event = (GuardWatched if harmless else GuardBlocked)(
            summary=f"{self._agent}: {'left out' if harmless else 'refused'}: {shown}: {ruling.reason}"[:300],
            role="coder",
            what=shown,
            reason=ruling.reason[:1000],
            rule=ruling.rule,
            decision="deny",
        )
        self._emit(event, "refused")
        reason = ruling.reason.encode(errors="replace").decode()[:300]
        self.refused.append(reason)
        return reason

    def _allow(self, what: str, ruling: Ruling, about: str = "") -> None:
        """Let it pass, or raise AgentRefused; Waiting while a person has not answered."""
        if ruling.decision == "ask":
            ruling = self._asked(what, ruling, about)
        if ruling.decision != "allow":
            raise AgentRefused(self.block(what, ruling))

    def _asked(self, what: str, ruling: Ruling, about: str) -> Ruling:
        task = self._state["task"]["key"]
        digest = hashlib.sha256(f"{self._agent}\0{what}".encode("utf-8", "surrogatepass")).hexdigest()[:32]
        answer = self._ctx.task_store.ask(
            kind="gate",
            subject=f"agent:{task}:{digest}",
            title=f"{task}: may {self._agent} do this? {what}"[:200],
            why=f"{ruling.reason}\n{about}".strip()[:2000],
            on_yes="It may. Its sandbox stays as it is: it reaches no hosts but those that an administrator named.",
            on_no="The agent is told to continue without it.",
            payload={"reasons": [ruling.reason], "rule": ruling.rule, "agent": self._agent},
        )
        if answer == "pending":
            raise Waiting(WaitReason.EFFECT_CONSENT, f"{self._agent}: {what}"[:300])
        return Ruling("allow") if answer == "approved" else Ruling("refuse", "person", f"A person refused it: {what}")

    def read(self, path: str) -> str:
        self._allow(path, may_read(path))
        try:
            content = self._session.companion.sandbox.get([inside(path)]).get(inside(path))
        except PathRefused as refusal:
            raise AgentRefused(self.block(path, Ruling("refuse", "outside.link", str(refusal)))) from None
        if content is None or len(content) > MOST_READ:
            raise AgentRefused(f"there is no such file of at most {MOST_READ:,} bytes: {path[:200]}")
        return content.decode(errors="replace")

    def write(self, path: str, content: str) -> None:
        self._allow(path, may_write(path, self._reach))
        data = content.encode(errors="replace")
        if len(data) > MOST_BYTES:
            large = Ruling("refuse", "outside.large", f"{path[:200]} would have {len(data):,} bytes.")
            raise AgentRefused(self.block(path, large))
        try:
            self._session.companion.sandbox.put({inside(path): data})
        except PathRefused as refusal:
            raise AgentRefused(self.block(path, Ruling("refuse", "outside.link", str(refusal)))) from None

    def run(self, words: Sequence[str], folder: str) -> Ran:
        """In the task's sandbox, on a copy of what the agent has; what the command changes is the agent's then."""
        line = words[0] if len(words) == 1 else shlex.join(words)
        self._allow(line, may_run(words))
        place = "." if folder.rstrip("/") == WORKSPACE else inside(folder)
        if place != ".":
            self._allow(folder, may_read(folder))
        argv = ["sh", "-c", words[0]] if len(words) == 1 else list(words)
        key = f"{self._key}/command{self._rows}"
        log = self._ctx.event_log
        announcement = CommandRan(summary=f"{self._agent}: {line} …"[:300], effect="command", argv=argv, role="coder")
        with effect(log, announcement, key=key, attempt=self._attempt):
            done = self._executed(argv, place)
        self._rows += 1
        ran = CommandRan(
            summary=f"{self._agent}: {line[:200]} → exit {done.exit_code} · {done.seconds:.1f} s",
            outcome="ok" if done.ok else "fail",
            role="coder",
            argv=argv,
            exit_code=done.exit_code,
            seconds=round(done.seconds, 2),
            tail=(done.out + done.err)[-4000:],
            timed_out=done.timed_out,
            backend=self._ctx.at_hand().backend,
        )
        log.emit(ran, attempt=self._attempt, key=key)
        return Ran((done.out + done.err)[-MOST_WORDS:], done.exit_code)

    def _executed(self, argv: Sequence[str], place: str) -> ExecResult:
        sandbox, own = self._ctx.sandbox(self._state["candidate"]["packages"]), self._session.companion.sandbox
        try:
            with copied(own) as files:
                sandbox.mirror(files)
            with ThreadPoolExecutor(1, thread_name_prefix="agent-command") as pool:
                call = pool.submit(sandbox.exec, argv, seconds=COMMAND_SECONDS, cwd=place)
                while not wait([call], timeout=0.2).done:
                    if self._ctx.event_log.stopped():
                        self._ctx.close()  # the command ends with its sandbox
                        raise Stopped("stopped while a command of the agent ran")
                done = call.result()
            with copied(sandbox) as files:
                own.mirror(files)
        except PathRefused as refusal:
            raise AgentRefused(str(refusal)) from None
        except SandboxError as error:
            self._ctx.close()
            raise AgentRefused(f"the command could not be run: {error}") from None
        return done

    def permit(self, call: Any) -> bool:
        ruling, title = may_call(call, self._reach), title_of(call)
        command = command_of(call.raw_input)
        yes = ruling.decision == "allow"
        asked = AgentPermission(
            summary=f"{self._agent} asks: {title}: {'allowed' if yes else ruling.reason}"[:300],
            outcome={"allow": "ok", "ask": "", "refuse": "denied"}[ruling.decision],
            agent=self._agent,
            title=title,
            decision=ruling.decision,
            rule=ruling.rule,
            reason=ruling.reason,
        )
        self._emit(asked, "permission")
        try:
            self._allow(command or title, ruling, title)
        except AgentRefused:
            return False
        return True

    def no_way(self, target: str) -> None:
        self.block(
            target, Ruling("refuse", "outside.host", f"{target[:100]} is not among the hosts that it may reach.")
        )

    def heard(self, update: Any) -> None:
        kind = getattr(update, "session_update", "")
        if kind in ("agent_message_chunk", "agent_thought_chunk"):
            self._words(str(getattr(update.content, "text", "") or ""), thought=kind == "agent_thought_chunk")
        elif kind in ("tool_call", "tool_call_update"):
            self._tool(update)
        elif kind == "plan":
            rows = [f"[{'x' if one.status == 'completed' else ' '}] {one.content}"[:300] for one in update.entries[:50]]
            if (plan := "\n".join(rows)) != self._plan:
                self._plan = plan
                self._emit(SystemNotice(summary=f"{self._agent}: its plan", role="coder", text=plan), "plan")

    def _words(self, text: str, *, thought: bool) -> None:
        text = text[: max(0, MOST_WORDS - self._length)]
        if not text:
            return
        (self._thought if thought else self._said).append(text)
        self._length += len(text)
        if not thought:
            self._new += text
            if time.monotonic() - self._showed > SHOW_SECONDS:
                self._show()

    def _show(self) -> None:
        """Show what it said since the last time."""
        if self._new:
            self._ctx.event_log.delta(lane="coder", id=self._key, offset=self._shown, text=self._new)
        self._shown, self._new, self._showed = self._shown + len(self._new), "", time.monotonic()

    def _tool(self, update: Any) -> None:
        known = self._tools.setdefault(str(update.tool_call_id), {"title": "", "kind": "", "status": "", "paths": []})
        if known["status"] in ENDED:
            return
        known["title"] = title_of(update) if update.title else known["title"] or title_of(update)
        known["kind"], known["status"] = update.kind or known["kind"], update.status or known["status"]
        known["paths"] = [each.path[:300] for each in (update.locations or [])[:20]] or known["paths"]
        if known["status"] in ENDED:
            used = AgentToolUsed(
                summary=f"{self._agent}: {known['title']}"[:300],
                outcome="ok" if known["status"] == "completed" else "fail",
                agent=self._agent,
                title=known["title"],
                tool=str(known["kind"] or "other"),
                paths=known["paths"],
            )
            self._emit(used, "tool")
