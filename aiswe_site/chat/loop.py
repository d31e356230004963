"""The loop of the terminal: a prompt or a command of the person's, what comes of it, and how long it took."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from math import ceil
from pathlib import Path

from agents.conversation.state import Exchange
from agents.conversation.turn import TurnTooLong
from agents.engine.contracts import OverBudget, Stopped
from agents.llm.base import LLMError
from aiswe_site.chat.exchange_log import append
from aiswe_site.chat.terminal import Terminal
from aiswe_site.terminal.problems import problem_from
from projects.engine.chat import OpenChat

ENDS_TURN = (LLMError, OverBudget, Stopped, TurnTooLong)
CHECKING = "… tests and review gates run"
MOST_LISTED = 200
HELP = """\
/plan GOAL     make a plan, show it, and follow it after a yes     /plan   go on with the plan
/todo TASK     break a task into TODOs and work on them            /mode chat|todo|review
/files WORDS   the files of the workspace, or those so named       /diff   what this chat changed
/check         run all tests and the review gates                  /merge  merge the chat after they passed
/retry         go on with a turn that broke off                    /drop   give it up
/allow TOOL    write or exec without asking in this session        /revoke ask again
/clear         forget what was said                                /latency  how long answers took
/exit          leave; the chat is kept                             /end    end the chat for good
Ctrl-C stops the model. A line that ends with \\ goes on in the next one."""


class Leave(Exception):
    """The person leaves; `over` ends the chat for good."""

    def __init__(self, *, over: bool = False) -> None:
        self.over = over


@dataclass
class ChatLoop:
    """One sitting: prompts come from `lines`, exchanges are added to `log`."""

    chat: OpenChat
    terminal: Terminal
    log: Path
    own_seconds: list[float] = field(default_factory=list)  # of each turn, without the model's

    def run(self, lines: Iterator[str]) -> None:
        """Until the person leaves or the input ends."""
        for line in lines:
            try:
                self.take(line)
            except Leave as leave:
                if leave.over:
                    self.chat.end("ended in the terminal")
                return

    def take(self, line: str) -> None:
        """One line of the person's. Raises Leave."""
        words = line.strip()
        if not words:
            return
        word, _, rest = words.partition(" ")
        if word.startswith("/") and (action := self._actions().get(word.lower())):
            return self._guarded(lambda: action(rest.strip()))
        if word.startswith("/") and "/" not in word[1:]:
            return self.terminal.line(f"There is no command {word}; /help lists them.", "yellow")
        self._guarded(lambda: self._say(words))

    def _guarded(self, action: Callable[[], None]) -> None:
        """Do it; whatever goes wrong has its sentence, and the session goes on."""
        try:
            action()
        except Leave:
            raise
        except ENDS_TURN as problem:
            self.terminal.stop()
            self.terminal.line(f"✕ {str(problem) or 'It was stopped.'}", "red")
            if self.chat.conversation.turn is not None:
                self.terminal.line(
                    "  → /retry goes on with it, /drop gives it up; a new prompt gives it up too.", "dim"
                )
        except KeyboardInterrupt:
            self.terminal.stop()
            self.terminal.line("\nStopped. /retry goes on with it, /drop gives it up.", "yellow")
        except Exception as problem:  # noqa: BLE001 - one command that fails does not end a session
            self.terminal.stop()
            told = problem_from(problem)
            self.terminal.line(f"✕ {told}", "red")
            if told.hint:
                self.terminal.line(f"  → {told.hint}", "dim")
        finally:
            self.terminal.stop()

    def _say(self, words: str) -> None:
        self.chat.set_aside("another prompt came")
        began = time.monotonic()
        self.terminal.wait()
        self._done([self.chat.say(words)], began)

    def _done(self, exchanges: list[Exchange], began: float) -> None:
        for exchange in exchanges:
            try:
                append(self.log, exchange.prompt, exchange.response)
            except OSError as problem:
                self.terminal.line(f"The exchange was not logged to {self.log}: {problem.strerror}", "yellow")
            if not exchange.done and "```" in exchange.response:
                self.terminal.line("Nothing was written or run: this code is only shown.", "yellow")
            if exchange.failed and (bad := [line for line in exchange.done if not line.endswith(": ok")]):
                self.terminal.line(f"Not mended: {bad[-1]}", "yellow")
        taken = self.chat.conversation.latencies
        if exchanges and taken:
            own = time.monotonic() - began - sum(taken[-len(exchanges) :])
            self.own_seconds.append(max(0.0, own))
            self.terminal.line(f"{taken[-1]:.1f} s · {percentiles(taken)}", "dim")

    def _actions(self) -> dict[str, Callable[[str], None]]:
        return {
            "/help": lambda _: self.terminal.line(HELP),
            "/clear": self._clear,
            "/exit": self._exit,
            "/quit": self._exit,
            "/end": self._end,
            "/plan": self._plan,
            "/todo": self._todo,
            "/mode": self._mode,
            "/files": self._files,
            "/diff": self._diff,
            "/check": self._check,
            "/merge": self._merge,
            "/retry": self._retry,
            "/drop": self._drop,
            "/allow": self._allow,
            "/revoke": self._revoke,
            "/latency": lambda _: self.terminal.line(percentiles(self.chat.conversation.latencies)),
        }

    def _exit(self, _: str) -> None:
        raise Leave

    def _end(self, _: str) -> None:
        raise Leave(over=True)

    def _clear(self, _: str) -> None:
        self.chat.clear()
        self.terminal.line("History cleared.")

    def _plan(self, goal: str) -> None:
        began, waiting = time.monotonic(), self.chat.conversation.plan
        if not goal and waiting is not None and not waiting.approved:
            goal = waiting.goal
        if goal:
            with self.terminal.planning():
                plan = self.chat.plan(goal)
            if plan is None:
                return self.terminal.line("The plan was turned down; nothing was done.")
        self.terminal.wait()
        self._done(self.chat.follow(), began)
        plan = self.chat.conversation.plan
        if plan is not None and plan.over:
            self.terminal.line("The plan is done.", "green")
        elif plan is not None:
            self.terminal.line("The plan stopped at a step that failed: /plan tries it again.", "red")

    def _todo(self, task: str) -> None:
        if not task:
            return self._mode("todo")
        self._mode("todo")
        self._say(task)

    def _mode(self, word: str) -> None:
        if word not in ("chat", "todo", "review"):
            return self.terminal.line("The modes are chat, todo and review.", "yellow")
        self.chat.set_mode(word)  # type: ignore[arg-type]  # compared above
        self.terminal.line(f"Mode: {word}.")

    def _files(self, words: str) -> None:
        found = [path for path in self.chat.context.files.paths() if words.lower() in path.lower()]
        self.terminal.line("\n".join(found[:MOST_LISTED]) or "There is no such file.")
        if len(found) > MOST_LISTED:
            self.terminal.line(f"… and {len(found) - MOST_LISTED} more: /files WORDS lists fewer", "dim")

    def _diff(self, _: str) -> None:
        if found := self.chat.diff():
            return self.terminal.diff(found)
        self.terminal.line("This chat has changed nothing.")

    def _check(self, _: str) -> None:
        from projects.engine.chat_merge import check

        self.terminal.wait(CHECKING)
        found = check(self.chat)
        self.terminal.line(f"Tests: {found.tests}", "green" if found.tests_ok else "red")
        for failure in found.failures[:10]:
            self.terminal.line(f"  {failure}", "dim")
        self.terminal.line(f"Review gates: {found.gates.verdict}", "green" if found.gates.verdict == "pass" else "red")
        for reason in found.gates.reasons[:10] if found.gates.verdict != "pass" else ():
            self.terminal.line(f"  {reason}", "dim")

    def _merge(self, _: str) -> None:
        from projects.engine.chat_merge import merge

        self.terminal.wait(CHECKING)
        sha = merge(self.chat)
        self.terminal.line(f"Merged {sha[:10]} into {self.chat.run.project.base_branch}.", "green")

    def _retry(self, _: str) -> None:
        if (turn := self.chat.conversation.turn) is None:
            return self.terminal.line("There is nothing to go on with.")
        if turn.step:
            return self._plan("")  # the plan that it is a step of
        began = time.monotonic()
        self.terminal.wait()
        self._done([self.chat.go_on()], began)

    def _drop(self, _: str) -> None:
        self.terminal.line("Given up." if self.chat.drop("given up") else "There is nothing to give up.")

    def _allow(self, tool: str) -> None:
        if tool not in ("write", "exec", "search"):
            return self.terminal.line("What can be allowed for the session: write, exec, search.", "yellow")
        self.chat.grant(*{*self.chat.conversation.granted, tool})
        self.terminal.line(f"Every {tool} of this session is allowed; /revoke takes that back.")

    def _revoke(self, _: str) -> None:
        self.chat.grant()
        self.terminal.line("You are asked again before anything is written or run.")


def percentiles(seconds: list[float]) -> str:
    """The median and the 95th percentile of answers' times."""
    if not seconds:
        return "No answer was measured yet."
    ordered = sorted(seconds)
    p50, p95 = (ordered[ceil(share * len(ordered)) - 1] for share in (0.5, 0.95))
    return f"P50 {p50:.1f} s · P95 {p95:.1f} s of {len(ordered)} answer" + "s" * (len(ordered) != 1)
