"""Compose an app from its blueprint: each logic fragment proven in a harness, each page checked, then all assembled.

Who writes a fragment sees that fragment and what it needs, so that a small model keeps its mind on it. What comes of it
is a candidate like any other: verified, repaired, gated, reviewed and merged by the ordinary steps.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass

from agents.engine.ask import Answer, Question, question_of
from agents.engine.contracts import TaskContext
from agents.engine.effects import effect
from agents.engine.nodes.common import add_messages, near_the_limit, one_line
from agents.engine.nodes.firewall_check import screen
from agents.engine.nodes.libraries import absent
from agents.engine.nodes.opening import opening
from agents.engine.nodes.packages import settle_packages
from agents.engine.nodes.shown_tests import tests_text
from agents.engine.nodes.until_usable import ASK_AGAIN, ask_until_usable, unusable
from agents.engine.state import TaskState, key_of, updated
from agents.events.effects import CommandRan, SystemNotice
from agents.fragments import assembler, planned
from agents.fragments.blueprint import LogicFragment, ProjectBlueprint, UIFragment
from agents.fragments.harness import FAILED, PASSED, Proof, prove
from agents.fragments.snippets import UnusableCode, logic_problem, read_code, same_code, ui_problem
from agents.languages.registry import language_of_task
from agents.llm.base import Message
from agents.personas import CODER, DEBUGGER, FRESH_TEMPERATURE, LOGIC_CODER, UI_COMPOSER, Persona
from agents.prompts.provenance import Source, as_turn, label, render
from agents.repair.feedback import clip
from agents.replies.apply import Applied

DEBUG_ROUNDS = 3  # times a fragment that failed goes to the debugger
_TAIL = 4_000


class _GivenUp(Exception):
    """A fragment could not be had; the text says which and why."""


def compose(state: TaskState, ctx: TaskContext, *, strategy: str) -> TaskState:
    """The app as the candidate of the next attempt, or an escalation that names the fragment which nobody could write.

    `strategy` is "first" or "fresh"; a fresh one is written at a higher temperature. Raises what asking a model and
    running a sandbox raise; what was asked and answered before an interruption is not asked again.
    """
    used = state["counters"]
    if strategy != "first" and used["iteration"] >= ctx.limits.max_iterations:
        return {"verdict": "escalate", "escalation": ""}
    blueprint = ProjectBlueprint.model_validate(state["task"]["blueprint"])
    bare = updated(state, {"candidate": {"files": {}, "tests": {}, "packages": assembler.packages_of(blueprint)}})
    settled = settle_packages(bare, ctx, used["attempt"] + 1)
    if settled.refused:
        return {"verdict": "escalate", "escalation": f"The app lacks a package: {'; '.join(settled.refused)[:800]}"}
    work = _Composer(state, ctx, blueprint, tuple(settled.packages), strategy == "fresh")
    try:
        logic = {fragment.name: work.logic(fragment) for fragment in blueprint.logic}
        ui = {page.name: work.page(page) for page in blueprint.ui}
    except _GivenUp as why:
        return {"verdict": "escalate", "escalation": str(why)}
    lock = (
        ctx.packages(settled.packages).locks.get(language_of_task(state["task"]).lock, "") if settled.packages else ""
    )
    files = assembler.assemble(blueprint, logic, ui, lock)
    near_the_limit(state, ctx)
    return {
        "strategy": strategy,
        "verdict": "",
        "candidate": {
            "diagnosis": {},
            "unfounded": False,
            "files": {**state["candidate"]["files"], **files},
            "packages": sorted({*state["candidate"]["packages"], *settled.packages}),
        },
        "conversation": {"coder": _as_conversation(state, ctx, files), "messages_read": len(ctx.task_store.words())},
        "history": {"previous_failure": {}},
        "memory": {"shown": []},
        "counters": {"iteration": used["iteration"] + 1},
    }


def _as_conversation(state: TaskState, ctx: TaskContext, files: dict[str, str]) -> list[Message]:
    """The app as the coder's own answer, so that repairs go on from it as after any first version."""
    fence = language_of_task(state["task"]).words.fence
    blocks = [
        f"```{fence if path != assembler.REQUIREMENTS else 'text'} path={path}\n{files[path]}```" for path in files
    ]
    messages = opening(state, ctx, CODER, "code", tests=tests_text(state, ctx))
    return [*messages, as_turn("assistant", "\n\n".join(["The app, fragment by fragment.", *blocks]))]


@dataclass(frozen=True)
class _Composer:
    """The work on the fragments of one blueprint."""

    state: TaskState
    ctx: TaskContext
    blueprint: ProjectBlueprint
    packages: tuple[str, ...]
    fresh: bool

    @property
    def number(self) -> int:
        """The attempt that the fragments are for."""
        return self.state["counters"]["attempt"] + 1

    @property
    def modules(self) -> list[str]:
        """What a logic fragment may import beside the standard library."""
        return sorted({name.lower().replace("-", "_") for name in self.blueprint.packages} - {assembler.FRAMEWORK})

    @property
    def note(self) -> str:
        """What people wrote to this task or into its description."""
        task = self.state["task"]
        words = planned.edited_words(self.blueprint, task.get("description", ""))
        return "\n".join(filter(None, [task.get("note", ""), words]))

    def logic(self, fragment: LogicFragment) -> str:
        """The proven code of a logic fragment."""

        def check(code: str) -> str:
            return logic_problem(code, fragment, self.modules)

        question = render(
            "task.logic",
            fragment=label(planned.logic_words(fragment), Source.MODEL),
            packages=self.modules,
            note=label(self.note, Source.PERSON),
        )
        code = self._written(LOGIC_CODER, question, f"logic-{fragment.name}", fragment.name, assembler.LOGIC, check)
        tried: list[str] = []
        while not (proof := self._proof(fragment, code, len(tried))).ok:
            tried.append(code)
            why = f"The logic fragment {fragment.name} could not be proven: {proof.kind}"
            if len(tried) > DEBUG_ROUNDS:
                raise _GivenUp(f"{why} ({DEBUG_ROUNDS} rounds with the debugger).")
            code = self._debugged(fragment, code, proof, len(tried), check)
            if any(same_code(code, one) for one in tried):
                raise _GivenUp(f"{why}; the debugger came back to code that was tried.")
        return code

    def _proof(self, fragment: LogicFragment, code: str, number: int) -> Proof:
        argv = ["harness", fragment.name]
        key = key_of(self.state, f"harness/{fragment.name}/{number}")
        announcement = CommandRan(summary=f"harness of {fragment.name} …", role="coder", effect="command", argv=argv)
        with effect(self.ctx.event_log, announcement, key=key, attempt=self.number):
            sandbox = self.ctx.sandbox(self.packages)
            proof = prove(sandbox, fragment, code)
        ran, verdict = proof.result, PASSED if proof.ok else FAILED
        event = CommandRan(
            summary=f"harness of {fragment.name} → {verdict}{'' if proof.ok else f': {proof.kind}'}"[:300],
            role="coder",
            outcome="ok" if proof.ok else "fail",
            duration_ms=int(ran.seconds * 1000),
            argv=argv,
            exit_code=ran.exit_code,
            seconds=round(ran.seconds, 2),
            cpu_seconds=round(ran.cpu_seconds, 2),
            tail=proof.error[-_TAIL:],
            timed_out=ran.timed_out,
            backend=sandbox.backend,
        )
        self.ctx.event_log.emit(event, attempt=self.number, key=key)
        return proof

    def _debugged(
        self, fragment: LogicFragment, code: str, proof: Proof, number: int, check: Callable[[str], str]
    ) -> str:
        """The debugger's code: it is told the code and the error, nothing else."""
        language = language_of_task(self.state["task"]).words.fence
        question = render(
            "task.debug",
            code=label(code, Source.MODEL, language),
            error=label(clip(proof.error, _TAIL), Source.TESTS),
        )
        step = f"debug-{fragment.name}" + (f"-{number}" if number > 1 else "")
        fixed = self._written(DEBUGGER, question, step, fragment.name, assembler.LOGIC, check)
        lines = list(
            difflib.unified_diff(code.splitlines(), fixed.splitlines(), fragment.name, fragment.name, lineterm="")
        )
        notice = SystemNotice(
            summary=f"The debugger changed {fragment.name}: {proof.kind}"[:300],
            role="coder",
            blobs={"diff": "\n".join(lines)},
            text="It was told the code and the error alone; its code goes through the harness again.",
            details={"fragment": fragment.name, "error": proof.kind, "round": number},
        )
        self.ctx.event_log.emit(notice, attempt=self.number, key=key_of(self.state, f"debugged/{step}"))
        return fixed

    def page(self, page: UIFragment) -> str:
        """The checked code of a page."""
        known = [one.name for one in self.blueprint.logic]
        modules = [name.lower().replace("-", "_") for name in self.blueprint.packages]

        def check(code: str) -> str:
            return ui_problem(code, page.function, known, modules)

        question = render(
            "task.ui",
            fragment=label(planned.page_words(page), Source.MODEL),
            functions=label(planned.functions_words(self.blueprint, page), Source.MODEL),
            state=label(planned.state_words(self.blueprint, page), Source.MODEL),
            note=label(self.note, Source.PERSON),
        )
        return self._written(UI_COMPOSER, question, f"ui-{page.name}", page.function, assembler.APP, check)

    def _written(
        self, persona: Persona, question: str, step: str, function: str, path: str, check: Callable[[str], str]
    ) -> str:
        """Ask for code until it can be used, at most ASK_AGAIN times more. Raises _GivenUp, and what `ask` raises."""
        state, ctx, task = self.state, self.ctx, self.state["task"]
        more = {} if persona is DEBUGGER else {"house_rules": ctx.house_rules}
        messages: list[Message] = [
            as_turn("system", render(f"system.{persona.name}", **more), persona=persona.name),
            as_turn("user", question, task=task["key"], step=step, approach=state["counters"]["approach"]),
        ]
        if persona is not DEBUGGER:
            messages, _ = add_messages(state, ctx, messages)
        lacking: list[str] = []

        def asked(turns: list[Message], turn: int) -> Question:
            key, temperature = key_of(state, f"{step}/{turn}"), FRESH_TEMPERATURE if self.fresh else None
            return question_of(ctx, persona, turns, step=step, key=key, attempt=self.number, temperature=temperature)

        def read(answer: Answer, turn: int) -> tuple[str, list[str]]:
            try:
                code = read_code(answer.text, function, truncated=answer.truncated)
                reason = check(code) or self._refusal(persona, path, code, turn, lacking)
            except UnusableCode as unread:
                return "", [str(unread)]
            return code, [reason] if reason else []

        last = ask_until_usable(
            messages,
            asked,
            read,
            lambda _, reasons: render("task.fragment-again", reason=one_line(reasons[0])),
            lambda reasons, turn: unusable(state, ctx, persona, reasons, f"{step}/{turn}"),
            step=f"{step}-again",
        )
        if last.reasons:
            raise _GivenUp(f"The {persona.title}'s answers for {function} could not be used: {last.reasons[0]}")
        return last.value

    def _refusal(self, persona: Persona, path: str, code: str, turn: int, lacking: list[str]) -> str:
        """Why the firewall refuses the code, or which of its names Streamlit lacks.

        The latter is said once, and kept in `lacking`: after that, and at the last turn, the tests judge.
        """
        applied = Applied(files={path: code})
        reasons = screen(self.state, self.ctx, persona, applied, turn, {})
        if not reasons and not lacking and turn < ASK_AGAIN and path == assembler.APP:
            shown = Applied(files={path: f"import streamlit as {assembler.FRAMEWORK_NAME}\n\n\n{code}"})
            lacking += absent(self.state, self.ctx, shown)
            reasons = list(lacking)
        return "; ".join(reasons)
