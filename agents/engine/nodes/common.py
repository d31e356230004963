"""What nodes share: requests for files, reading messages from people."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any

from agents.context import said_once
from agents.context.parts import PERSON_SAYS
from agents.engine.ask import Answer, Question, question_of
from agents.engine.contracts import TaskContext
from agents.engine.nodes.firewall_check import screen
from agents.engine.nodes.libraries import absent
from agents.engine.nodes.removals import (
    base_files,
    came_with_dropped,
    cannot_run,
    mentions,
    names_definition,
    only_added,
    or_among,
    paths_of,
    removal_words,
    unknown_imports,
    what_became_of_tests,
    where_tests_run,
    without_removed,
)
from agents.engine.nodes.until_usable import ask_until_usable, unusable
from agents.engine.state import TaskState, files_of, key_of
from agents.events.effects import SystemNotice
from agents.events.reasoning import DecisionMade
from agents.languages.base import Language, PromptWords
from agents.languages.registry import language_labelled, language_of_task
from agents.llm.base import Message
from agents.personas import FRESH_TEMPERATURE, Persona
from agents.prompts.provenance import Material, Source, as_turn, joined, label, render, sources_in
from agents.replies.apply import Applied, apply_reply
from agents.replies.keeping import MIN_LINES, PAGES, Keeping
from agents.replies.parse import parse_reply
from agents.replies.types import Reply
from sandbox.package_index.names import plain_name

LONG = 300  # lines of a file that is not sent whole
NO_FILE = "no file was found in it"
_FENCE = re.compile(r"^(?:`{3,}|~{3,})\w*[ \t]*(?:\n|\Z)", re.MULTILINE)


def is_long(text: str, path: str = "") -> bool:
    """True for a file that is neither sent nor asked for whole; of a page so named the sections are sent sooner."""
    return text.count("\n") > (MIN_LINES if path.endswith(PAGES) else LONG)


def system_turn(persona: Persona, ctx: TaskContext, task: Mapping[str, Any]) -> Message:
    """Who the model is to be, and its rules in the language of the task."""
    words = words_of_task(task)
    if words.test_rules_need and ctx.test_packages and words.test_rules_need not in map(plain_name, ctx.test_packages):
        words = replace(words, test_rules="")  # the tests of an imported project use what that declares
    recipe = ctx.recipe_lines.get(persona.name, "")
    text = render(f"system.{persona.name}", house_rules=ctx.house_rules, recipe=recipe, language=words)
    return as_turn("system", text, persona=persona.name)


def words_of_task(task: Mapping[str, Any]) -> PromptWords:
    """What prompts call things in the language of the task's files."""
    return language_of_task(task).words_for([str(path) for path in task.get("files") or ()])


def task_facts(task: Mapping[str, Any], ctx: TaskContext) -> dict[str, Any]:
    """What a prompt says of a task, whoever it is for; no requirements when it serves none."""
    requirements, passages = said_once(task.get("requirements") or (), task.get("passages", ""))
    expects = f"Expected result: {task['expects']}" if task.get("expects") else ""
    return {
        "project": ctx.project,
        "key": task["key"],
        "title": task["title"],
        "description": label("\n".join(filter(None, [task.get("description", ""), expects])), Source.MODEL),
        "files": task.get("files", []),
        "requirements": label(requirements, Source.DOCUMENT) if task.get("requirements") else "",
        "passages": label(passages, Source.DOCUMENT),
    }


def own_files(state: TaskState, ctx: TaskContext) -> dict[str, str]:
    """Text of the task's files as they stand at its base; those that are not there yet are left out."""
    return base_files(state, ctx, state["task"].get("files", []))[0]


def lessons_text(lessons: list[dict[str, Any]]) -> Material:
    """Lessons as lines; a model wrote them, in this project or another."""
    return label(
        "\n".join(f"- {one_line(lesson['cause'])} → {one_line(lesson['fix'])}" for lesson in lessons), Source.MODEL
    )


def question(
    state: TaskState, ctx: TaskContext, persona: Persona, messages: list[Message], step: str, turn: int = 0
) -> Question:
    """A question for files; `turn` counts the questions of one request."""
    fresh = persona.name == "coder" and state["counters"]["approach"] > 1
    return question_of(
        ctx,
        persona,
        messages,
        step=step,
        key=key_of(state, f"{persona.name}-{step}/{turn}"),
        attempt=state["counters"]["attempt"],
        temperature=FRESH_TEMPERATURE if fresh else None,
    )


def request_files(
    state: TaskState,
    ctx: TaskContext,
    persona: Persona,
    messages: list[Message],
    *,
    step: str,
    accept: Callable[[str], bool],
    current: Mapping[str, str],
    lacks: Callable[[Reply], str] = lambda reply: NO_FILE,
    dispute: Callable[[Reply], tuple[str, str] | None] | None = None,
) -> tuple[list[Message], Reply, Applied]:
    """Ask for files until the answer can be used, at most ASK_AGAIN times more.

    `accept` says which paths this persona may write. A reply without any of them that is a `dispute` is not asked for
    again: what is refused then is what that gives; a dispute about "" is a reason to ask again. `lacks` says of a reply
    without files why it cannot be used. Returns the longer conversation, the reply and what it changes;
    when nothing could be used, `Applied.files` is empty and `refused` says why. Raises what `ask` raises.
    """
    name, request = f"{persona.name}-{step}", _FileRequest(state, ctx, persona, accept, current, lacks, dispute)
    last = ask_until_usable(
        messages,
        lambda asked, turn: question(state, ctx, persona, asked, step, turn),
        request.read,
        lambda read, reasons: _refusal([*reasons[:12], *_new_names(read[1], reasons)]),
        lambda reasons, turn: unusable(state, ctx, persona, reasons, f"{name}/{turn}"),
    )
    (reply, applied), keeping = last.value, request.keeping
    if last.reasons:
        applied = Applied(files={}, refused=[("reply", reason) for reason in last.reasons])
    applied.removed = keeping.removed if applied.files else {}
    for path, what in keeping.merged.items():
        if path in applied.files:
            notice = SystemNotice(summary=f"{path}: merged: {what}"[:300], role=persona.name, text=what)
            ctx.event_log.emit(notice, attempt=state["counters"]["attempt"], key=key_of(state, f"{name}/merged/{path}"))
    record_decisions(state, ctx, persona, reply)
    return [*last.messages, as_turn("assistant", last.text)], reply, applied


@dataclass
class _FileRequest:
    """Reads the answers to one request for files; the arguments are those of `request_files`."""

    state: TaskState
    ctx: TaskContext
    persona: Persona
    accept: Callable[[str], bool]
    current: Mapping[str, str]
    lacks: Callable[[Reply], str]
    dispute: Callable[[Reply], tuple[str, str] | None] | None
    keeping: Keeping = field(default_factory=Keeping)

    def __post_init__(self) -> None:
        self.language = language_of_task(self.state["task"])
        self.own = [path for path in self.state["task"].get("files", []) if self.accept(path)]
        self.by_coder, self.by_tester = self.persona.name == "coder", self.persona.name == "tester"

    def read(self, answer: Answer, turn: int) -> tuple[tuple[Reply, Applied], list[str]]:
        """The reply and what it changes, and why it cannot be used."""
        reply = self._parsed(answer)
        # In tests that are there, nothing changes but by an argument that names them.
        argued = reply.verdict.reason if reply.verdict is not None and reply.verdict.choice == "test" else ""
        base, unreadable = base_files(self.state, self.ctx, paths_of(reply))
        applied = self._applied(reply, base, unreadable, argued)
        doubt = None if self.dispute is None or any(map(self.accept, paths_of(reply))) else self.dispute(reply)
        if doubt is not None and doubt[0]:
            return (reply, Applied(files={}, refused=[doubt])), []
        reasons = [doubt[1]] if doubt else []
        reasons += [f"{path}: {reason}" for path, reason in applied.refused]
        reasons += self._steering(applied, base) + self._changed_tests(reply, applied, argued)
        reasons += crowded(self.state, self.ctx, applied)
        reasons += screen(self.state, self.ctx, self.persona, applied, turn, base)
        if not turn and not reasons:
            reasons = self._unknown_names(applied)
        if self.by_tester and applied.files:
            reasons += cannot_run(applied, base)
        return (reply, applied), reasons or self._lacking(reply, applied)

    def _parsed(self, answer: Answer) -> Reply:
        reply = parse_reply(answer.text, truncated=answer.truncated)
        if not (reply.files or reply.edits):
            reply = _with_path(answer, self.own, self.language) or reply
        return where_tests_run(reply, self.state, self.ctx) if self.by_tester else reply

    def _applied(self, reply: Reply, base: Mapping[str, str], unreadable: Iterable[str], argued: str) -> Applied:
        """What the reply changes in the files of `base` and the current ones."""
        keeping, there = self.keeping, {**base, **self.current}
        came = came_with_dropped(self.state, self.ctx, base)
        keeping.base, keeping.may_go = base, or_among(came, removal_words(self.state["task"]))
        # Of tests `only_added` judges what may go.
        taken = without_removed(reply, there, keeping.may_go if self.by_coder else bool)
        there |= (cut := {path: text for path, text in taken.items() if self.accept(path)})
        closed = {*unreadable, *(path for path in paths_of(reply) if not self.accept(path))}
        if self.by_tester:
            keeping.base, keeping.may_go = there, or_among(came, partial(names_definition, argued))
        keeps = self.by_coder or (bool(self.current) and self.current.keys() >= set(paths_of(reply)))
        applied = apply_reply(reply, there, read_only=closed, keeping=keeping if keeps else None)
        applied.files = {**cut, **applied.files} if not applied.refused else applied.files
        return applied

    def _steering(self, applied: Applied, base: Mapping[str, str]) -> list[str]:
        """Reasons against what a coder writes to decide how tests run."""
        steers = self.language.steers_tests
        files = applied.files.items() if self.by_coder else ()
        return [f"{path}: {why}" for path, text in files if (why := steers(path, text, base.get(path, "")))]

    def _changed_tests(self, reply: Reply, applied: Applied, argued: str) -> list[str]:
        """Reasons against what a tester changes in tests that are there; what may not change stays as it is."""
        if not self.by_tester:
            return []
        sent = dict(applied.files)
        reasons = only_added(self.state, self.ctx, applied, argued, reply.removals)
        self.keeping.merged |= what_became_of_tests(self.state, self.ctx, applied, sent)
        return reasons

    def _unknown_names(self, applied: Applied) -> list[str]:
        """Names that do not exist, reported once: after that the test run judges."""
        if self.by_coder:
            return absent(self.state, self.ctx, applied)
        if self.by_tester and self.state["task"].get("files"):
            return unknown_imports(self.state, self.ctx, applied)
        return []

    def _lacking(self, reply: Reply, applied: Applied) -> list[str]:
        """Why a reply without files cannot be used.

        The same files again are an answer too: the writer holds on to what was judged.
        """
        if applied.files or reply.files or reply.edits or not (missing := self.lacks(reply)):
            return []
        if missing == NO_FILE and self.own:
            missing += f"; begin one with ```{words_of_task(self.state['task']).fence} path={self.own[0]}"
        return [*reply.problems, missing]


def _with_path(answer: Answer, own: Sequence[str], language: Language) -> Reply | None:
    """The reply with the one file of `own` in its language as the path of its only fence.

    It must define something, and tests alone where the file holds tests: it may only quote.
    """
    fences = _FENCE.findall(answer.text)
    spoken = language_labelled(fences[0].strip("`~ \t\n")) or language if len(fences) == 2 else language
    files = [path for path in own if spoken.owns(path)]
    if len(fences) != 2 or len(files) != 1:
        return None
    named = answer.text.replace(fences[0], f"{fences[0].rstrip()} path={files[0]}\n", 1)
    reply = parse_reply(named, truncated=answer.truncated)
    defined = [one for file in reply.files for one in spoken.definitions(files[0], file.content) or ()]
    tests = any(one.is_test for one in defined)
    return reply if defined and tests == spoken.is_test(files[0]) else None


def _new_names(applied: Applied, reasons: list[str]) -> list[str]:
    """Where parts of the answer went that reasons name by a path which the answer does not have."""
    named = [(new, old) for new, old in applied.moved.items() if any(mentions(reason, new) for reason in reasons)]
    return [f"your tests for {old} went into {new}: {old} stays as it is" for new, old in named]


def _refusal(reasons: list[str]) -> Material:
    """The reasons, and in a fence the lines of files that they quote."""
    first = [reason.partition("\n") for reason in reasons]
    quoted = [label(f"{said.partition(': ')[0]}\n{lines}", Source.REPOSITORY) for said, _, lines in first if lines]
    return render("task.refused", reasons=[one_line(said) for said, _, _ in first], quoted=joined(quoted))


def near_the_limit(state: TaskState, ctx: TaskContext) -> None:
    """Warn once that few iterations are left: a person may look in while there is something to save (ACA-1).

    Called when one more was used than the state knows of.
    """
    used, limits, task = state["counters"]["iteration"] + 1, ctx.limits, state["task"]
    if limits.warn_iterations <= used < limits.max_iterations:
        most = limits.max_iterations
        notice = SystemNotice(
            summary=f"{used} of {most} iterations are used: {most - used} left before it is escalated",
            text="Few iterations are left.",
            details={"used": used, "limit": most},
        )
        key = f"{task['key']}/g{task.get('generation', 1)}/iterations"
        ctx.event_log.emit(notice, attempt=state["counters"]["attempt"], key=key)


def crowded(state: TaskState, ctx: TaskContext, applied: Applied) -> list[str]:
    """Reasons against files that stand where the repository or the tests have a folder, or below one of their files."""
    there = {*ctx.repository.files(state["base"]), *files_of(state["candidate"])} if applied.files else set()
    folders = {path[:cut] for path in there for cut in range(len(path)) if path[cut] == "/"}
    reasons = []
    for path in applied.files:
        above = [path[:cut] for cut in range(len(path)) if path[cut] == "/" and path[:cut] in there]
        if path in folders:
            reasons.append(f"{path}: there is a folder of this name; choose another name.")
        elif above:
            reasons.append(f"{path}: {above[0]} is a file, so nothing can be below it.")
    return reasons


def add_messages(state: TaskState, ctx: TaskContext, messages: list[Message]) -> tuple[list[Message], int]:
    """Add messages from people since the last turn to the newest message; returns how many are read now."""
    words = list(ctx.task_store.words())
    new = words[state["conversation"]["messages_read"] :]
    if not new:
        return messages, len(words)
    said = "\n".join(f"- {' '.join(text.split())[:2000]}" for text in new[-10:])
    return added(messages, PERSON_SAYS, Material(said, {Source.PERSON})), len(words)


def added(messages: list[Message], heading: str, text: Material) -> list[Message]:
    """The messages with more below a heading at the end of the newest."""
    last = messages[-1]
    sources = sorted({*sources_in(last), *(source.value for source in text.sources)})
    told = f"{last['content'].rstrip()}\n\n{heading}\n{text}\n"
    return [*messages[:-1], {**last, "content": told, "sources": sources}]


def record_decisions(state: TaskState, ctx: TaskContext, persona: Persona, reply: Reply) -> None:
    """Decisions with their requirement go on the record (SWE-US-05)."""
    for number, decision in enumerate(reply.decisions[:8]):
        aim = f" → {', '.join(decision.requirements)}" if decision.requirements else ""
        event = DecisionMade(summary=f"chose {decision.choice}{aim}", role=persona.name, **asdict(decision))
        key = key_of(state, f"{persona.name}/decision{number}")
        ctx.event_log.emit(event, attempt=state["counters"]["attempt"], key=key)


def one_line(text: str) -> str:
    """Words that stand outside of a fence: one line, not long enough to argue in."""
    return " ".join(text.split())[:400]
