"""The person's side of a chat, at a terminal: words, questions, results. Whatever is not clearly a yes is a no."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress

from rich.console import Console
from rich.markup import escape
from rich.syntax import Syntax

from agents.conversation.contracts import Leave, PermissionRequest
from agents.conversation.display import plan_lines, result_lines
from agents.conversation.permission import diff_of
from agents.conversation.planning import step_lines
from agents.conversation.state import ChatPlan, Command, FileChange, ToolResult
from agents.conversation.text import choice
from aiswe_site.chat.words import ReplyWriter
from aiswe_site.terminal.output import clean

DIFF_LINES = 60
READ_LINES = 6
OUTPUT_LINES, HEAD_LINES = 16, 5  # of a result, and how many of them are its beginning


class Terminal:
    """Implements agents.conversation.contracts.Surface; without a person at it, only what was allowed is done."""

    def __init__(self, console: Console, *, attended: bool, allowed: Collection[str] = ()) -> None:
        self.console, self._attended, self._allowed = console, attended, frozenset(allowed)
        self._writer, self._progress = ReplyWriter(console), ""
        self._looked_at: list[FileChange] = []  # changes whose difference was shown with a question

    def words(self, text: str) -> None:
        self._writer.feed(text)

    def replied(self, text: str) -> None:
        self._writer.close(text)

    def wait(self, what: str = "… the model reads and thinks; Ctrl-C stops it") -> None:
        """Something is under way that takes its time."""
        self._writer.wait(what)

    @contextmanager
    def planning(self) -> Iterator[None]:
        """What the model writes becomes a plan, which is shown when it is there."""
        self._writer.passing = True
        self.wait()
        try:
            yield
        finally:
            self._writer.drop()
            self._writer.passing = False

    def stop(self) -> None:
        """Show what there is of a reply that was broken off."""
        self._writer.close()

    def permit(self, request: PermissionRequest) -> Leave:
        self._about(request)
        if not self._attended:
            yes = request.tool in self._allowed and not request.each_time
            self.line(f"{'Allowed' if yes else 'Refused'}: nobody is asked (--allow {request.tool}).", "dim")
            return "session" if yes else "no"
        words: dict[str, Leave] = {"y": "once", "yes": "once"}
        if not request.each_time:
            words |= {"s": "session", "session": "session"}
        offered = "y = yes, n = no" + (
            "" if request.each_time else f", s = yes to every {request.tool} of this session"
        )
        return words.get(self.ask(f"{request.title[:1].upper()}{request.title[1:]}? ({offered}) [n] "), "no")

    def _about(self, request: PermissionRequest) -> None:
        if request.why:
            self.line(f"Careful: {request.why}.", "yellow")
        if request.changes:
            self._looked_at = list(request.changes)
            return self._difference(request.detail)
        lines = clean(request.detail).splitlines()
        shown = "\n".join(lines[:DIFF_LINES])
        if shown and shown != request.title.partition(" ")[2]:
            self.line(shown, "dim")
        if len(lines) > DIFF_LINES:
            self.line(f"… and {len(lines) - DIFF_LINES} more lines", "dim")

    def _difference(self, diff: str) -> None:
        lines = clean(diff).splitlines()
        self.diff("\n".join(lines[:DIFF_LINES]))
        if len(lines) > DIFF_LINES:
            self.line(f"… and {len(lines) - DIFF_LINES} more lines", "dim")

    def diff(self, text: str) -> None:
        """A unified diff in its colours."""
        shown = clean(text).rstrip("\n")
        self.console.print(Syntax(shown, "diff", theme="ansi_dark", background_color="default", word_wrap=True))

    def confirm(self, question: str) -> bool:
        self.line(f"The model asks: {question}", "bold")
        if not self._attended:
            self.line("Answered no: nobody is asked.", "dim")
            return False
        return self.ask("y = yes, n = no [n] ") in ("y", "yes")

    def approve(self, plan: ChatPlan) -> tuple[bool, str]:
        self._writer.drop()
        whole = plan.question or any(step.expected for step in plan.steps)
        for line in plan_lines(plan) if whole else [f"Plan: {plan.goal}", *step_lines(plan)]:
            self.line(line)
        if not self._attended:
            yes = "plan" in self._allowed
            self.line(f"{'Approved' if yes else 'Turned down'}: nobody is asked (--allow plan).", "dim")
            return yes, ""
        asked = "Your answer?" if plan.question else "Follow it?"  # what each answer means stands above
        answer = self.ask(f"{asked} (y = yes, n = no, or say what is to be different) [n] ", lower=False)
        yes, words = choice(answer)
        if words:
            self.wait()
        return yes, words

    def started(self, command: Command) -> None:
        self._writer.drop()  # it is not the model's turn
        if command.tool in ("exec", "search"):
            self.line(f"… {command.title}", "dim")

    def finished(self, command: Command, result: ToolResult) -> None:
        if result.refused:
            self.line(f"✕ {result.title}: {'you said no' if self._attended else 'not allowed'}", "yellow")
            return self.wait()
        mark, style = ("✓", "green") if result.ok else ("✕", "red")
        self.line(f"{mark} {result.title} ({result.seconds:.1f} s)", style)
        if result.ok and result.tool in ("write", "edit") and result.changes != self._looked_at:
            self._difference("".join(map(diff_of, result.changes)))
        self._looked_at = []
        lines = result_lines(result)[not result.ok :]  # the first of a failure is the line above
        most, head = (READ_LINES, READ_LINES) if result.tool == "read" and result.ok else (OUTPUT_LINES, HEAD_LINES)
        more = len(lines) - most
        if more > 1:  # of a run, what matters stands at the end
            lines = [*lines[:head], f"… {more} more lines …", *lines[head + more :]]
        for line in lines:
            self.line(f"  {line}", "dim")
        self.wait()

    def progress(self, plan: ChatPlan) -> None:
        over = sum(step.state in ("done", "skipped") for step in plan.steps)
        step = plan.current
        now = f": {step.number}. {step.description}" if step is not None else ""
        text = f"[{over}/{len(plan.steps)}]{now}"
        if text != self._progress:
            self.line(text, "cyan")
        self._progress = text
        self.wait()

    def notice(self, text: str) -> None:
        self.line(text, "yellow")

    def line(self, text: str, style: str = "") -> None:
        """A line of the product's; what it quotes can steer neither the terminal nor its colours."""
        self.console.print(escape(clean(text)), style=style or None, highlight=False, soft_wrap=True)

    def ask(self, prompt: str, *, lower: bool = True) -> str:
        """One line of the person's; "" at the end of the input."""
        self._writer.drop()
        sys.stdout.flush()
        _forget_typed_ahead()
        try:
            answer = input(clean(prompt)).strip()
        except EOFError:
            self.line("")
            return ""
        return answer.lower() if lower else answer


def _forget_typed_ahead() -> None:
    """What was typed or pasted before a question was shown is no answer to it."""
    with suppress(ImportError, OSError, ValueError):
        import termios  # not on Windows

        if sys.stdin.isatty():
            termios.tcflush(sys.stdin, termios.TCIFLUSH)
