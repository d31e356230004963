"""A person at an editor: words as they come, tool calls, plans, and questions about leave."""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Sequence
from typing import Any

from acp import helpers
from acp.schema import AllowedOutcome, PermissionOption, ToolCallUpdate

from agents.conversation.contracts import Leave, PermissionRequest
from agents.conversation.display import next_steps
from agents.conversation.parse import prose_of
from agents.conversation.state import ChatPlan, Command, ToolResult
from agents.engine.waiting import Waiting, WaitReason
from aiswe_site.acp import shapes
from aiswe_site.acp.editor import Editor, EditorRefused
from aiswe_site.acp.files import EditorFiles
from sandbox.base import ExecResult, SandboxUnavailable

TERMINAL_S = 600.0  # of a command in the editor's own terminal
TERMINAL_BYTES = 200_000
LEAVES: dict[str, Leave] = {"once": "once", "terminal": "once", "session": "session"}
log = logging.getLogger(__name__)


class EditorSurface:
    """Implements agents.conversation.contracts.Surface for one turn."""

    def __init__(self, editor: Editor, files: EditorFiles) -> None:
        self.editor, self.files = editor, files
        self._raw = self._shown = ""
        self._look_at = 0.0
        self._spoke = False  # something of this turn was shown before
        self._call, self._for_terminal = "", ""
        self.answer = ""  # what is to be different about a plan, from a prompt after the question about it

    def interrupted(self) -> bool:
        """Whether the turn is to end."""
        return self.editor.stopped

    def words(self, text: str) -> None:
        """A piece of a reply: what can be no part of a command is shown at once."""
        self._raw += text
        if (began := time.monotonic()) >= self._look_at:
            self._show(prose_of(self._raw, whole=False))
            self._look_at = time.monotonic() + 10 * (time.monotonic() - began)  # a long reply is not read for each word

    def replied(self, text: str) -> None:
        """The rest of a reply; one that is on record from before was never streamed."""
        whole = prose_of(self._raw) if self._raw else text
        pairs = enumerate(zip(self._shown, whole, strict=False))  # read as a whole it may be another
        self._shown = whole[: next((at for at, (a, b) in pairs if a != b), len(self._shown))]
        self._show(whole)
        self._raw = self._shown = ""

    def notice(self, text: str) -> None:
        """A sentence of the product's, or lines that stay lines in an editor's Markdown."""
        self.replied("")
        self._show(text.replace("\n", "  \n"))
        self._shown = ""

    def started(self, command: Command) -> None:
        """Show the tool call."""
        self.editor.stop_if_told()
        self._call, self._for_terminal = f"call-{secrets.token_hex(6)}", ""
        self.editor.tell(
            helpers.start_tool_call(
                self._call,
                shapes.title(command.title),
                kind=shapes.KINDS.get(command.tool, "other"),
                status="in_progress",  # a question about it makes it wait
                locations=shapes.locations(command, self.files),
                raw_input={"tool": command.tool, "argument": command.argument},
            )
        )

    def finished(self, command: Command, result: ToolResult) -> None:
        """Show what came of it. A command that was broken off is done again when the turn goes on."""
        content = shapes.diffs(result.changes, self.files)
        if not result.changes or command.tool == "exec" or not result.ok:
            content.append(shapes.output(result.output))
        if not result.ok:
            content.append(shapes.text(f"Next: {next_steps(result)}"))
        self.editor.tell(
            helpers.update_tool_call(
                self._call,
                status="completed" if result.ok else "failed",
                content=content,
                locations=shapes.changed_at(result.changes, self.files) or None,
            )
        )
        if command.tool == "exec":
            self.editor.stop_if_told()

    def permit(self, request: PermissionRequest) -> Leave:
        """Ask in the editor; only an answer that was offered is a yes."""
        terminal = request.tool == "exec" and self.editor.terminals and not request.each_time
        content = [shapes.text(f"Careful: {request.why}")] if request.why else []
        content += shapes.diffs(request.changes, self.files)
        if not request.changes and request.detail and request.detail not in request.title:
            content.append(shapes.output(request.detail))
        offered = shapes.options(request, terminal=terminal)
        kind = shapes.KINDS.get(request.tool, "other")
        locations = shapes.changed_at(request.changes, self.files)
        answer = self._choice(request.title, kind, content, offered, locations)
        if answer == "terminal":
            self._for_terminal = request.detail
        leave = LEAVES.get(answer, "no")
        if leave != "no":
            self.editor.tell(helpers.update_tool_call(self._call, status="in_progress"))
        return leave

    def confirm(self, question: str) -> bool:
        """Put the model's question."""
        return self._choice(question, "other", [shapes.text(question)], shapes.yes_or_no("Yes", "No")) == "yes"

    def approve(self, plan: ChatPlan) -> tuple[bool, str]:
        """Show the plan and ask. The protocol has no words for an answer: they come as the next prompt.

        Raises Waiting when a person chose to write them.
        """
        if self.answer:
            words, self.answer = self.answer, ""
            return False, words
        self.replied("")
        self.progress(plan)
        yes, no = (plan.choices[0], plan.choices[-1]) if len(plan.choices) == 3 else ("Follow the plan", "No")
        question = plan.question or f"Follow this plan: {plan.goal[:200]}"
        self._call = f"call-{secrets.token_hex(6)}"
        self.editor.tell(helpers.start_tool_call(self._call, question, kind="think", status="pending"))
        open_steps = [step for step in plan.steps if step.state not in ("done", "skipped")]
        steps = "\n".join(f"{step.number}. {shapes.step_words(step)}" for step in open_steps)
        answer = self._choice(question, "think", [shapes.text(steps)], shapes.about_a_plan(yes, no))
        self.editor.tell(helpers.update_tool_call(self._call, status="completed" if answer == "yes" else "failed"))
        if answer == "words":
            raise Waiting(WaitReason.ANSWER)
        return answer == "yes", ""

    def progress(self, plan: ChatPlan) -> None:
        """Show how far the steps are."""
        self.editor.tell(shapes.plan(plan))

    def in_terminal(self, line: str) -> ExecResult | None:
        """Run it in the editor's terminal if that was the person's answer to the question about this very command."""
        chosen, self._for_terminal = self._for_terminal, ""
        if not chosen or chosen != line:
            return None
        try:
            return self._run_in_terminal(line)
        except EditorRefused as refused:
            raise SandboxUnavailable(f"the editor's terminal refused: {refused}") from None

    def _run_in_terminal(self, line: str) -> ExecResult:
        client, session, began = self.editor.client, self.editor.session, time.monotonic()
        argv = ["sh", "-c", line]
        wanted: dict[str, Any] = {"args": argv[1:], "cwd": str(self.files.given), "output_byte_limit": TERMINAL_BYTES}
        made = self.editor.ask(client.create_terminal(session_id=session, command=argv[0], **wanted))
        there: dict[str, Any] = {"session_id": session, "terminal_id": made.terminal_id}
        shown = helpers.tool_terminal_ref(made.terminal_id)
        self.editor.tell(helpers.update_tool_call(self._call, status="in_progress", content=[shown]))
        code, ended = None, False
        try:
            code = self.editor.ask(client.wait_for_terminal_exit(**there), seconds=TERMINAL_S).exit_code
            ended = True
        except TimeoutError:
            log.info("A command in the editor's terminal is stopped: it took %.0f s.", TERMINAL_S)
        finally:
            if not ended:
                self.editor.ask(client.kill_terminal(**there), to_the_end=True)
            seen = self.editor.ask(client.terminal_output(**there), to_the_end=True)
            self.editor.ask(client.release_terminal(**there), to_the_end=True)
        seconds = time.monotonic() - began
        return ExecResult(tuple(argv), code, seen.output, "", seconds, seen.truncated, timed_out=not ended)

    def _choice(
        self,
        title: str,
        kind: Any,
        content: list[Any],
        offered: Sequence[PermissionOption],
        locations: Sequence[Any] = (),
    ) -> str:
        """The answer to a question; "" for none, also when the editor cannot ask."""
        self.editor.stop_if_told()
        about = ToolCallUpdate(
            tool_call_id=self._call, title=title, kind=kind, status="pending", content=content, locations=[*locations]
        )
        asked = self.editor.client.request_permission(
            session_id=self.editor.session, tool_call=about, options=[*offered]
        )
        try:
            outcome = self.editor.ask(asked).outcome
        except EditorRefused as refused:
            log.warning("The editor could not ask: %s", refused)
            return ""
        self.editor.stop_if_told()  # a question that ends with its turn was not answered: it is asked again
        answer = outcome.option_id if isinstance(outcome, AllowedOutcome) else ""
        return answer if answer in {option.option_id for option in offered} else ""

    def _show(self, prose: str) -> None:
        """Show what is new of a reply's prose."""
        if not prose.startswith(self._shown):
            return
        new, first = prose[len(self._shown) :], not self._shown
        if not new:
            return
        self.editor.tell(helpers.update_agent_message_text(f"\n\n{new}" if first and self._spoke else new))
        self._shown, self._spoke = prose, True
