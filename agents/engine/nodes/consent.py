"""Before a merge: a person's yes to code that reaches beyond itself (network, other programs), as ACA-6 asks.

Until then such code has run in the sandbox only, where it reaches nothing. A yes is asked too for public names that the
change takes away though the task does not say so, and for existing tests that it alters or drops.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from agents.engine.contracts import ApprovalAnswer, TaskContext
from agents.engine.nodes.firewall_check import is_code, written_code
from agents.engine.nodes.removals import (
    base_files,
    came_with_dropped,
    changed_tests,
    names_definition,
    removal_words,
    removed_names,
    tests_of,
)
from agents.engine.said_changes import said_changes
from agents.engine.state import TaskState, files_of
from agents.engine.waiting import Waiting, WaitReason
from agents.firewall.judge import judge
from agents.languages.registry import language_of_task

SHOWN = 12  # reasons in the question; all of them are in its payload


def reaching(
    files: Mapping[str, str], is_test: Callable[[str], bool], base: Mapping[str, str] = MappingProxyType({})
) -> dict[str, list[str]]:
    """Path to reasons, of the files whose code the firewall would not let run without a sandbox. Tests stay in it.

    Of functions that stand like this in `base` nothing is asked.
    """
    found = {}
    for path, content in sorted(files.items()):
        if not is_code(path) or is_test(path):
            continue
        code = written_code(path, content, base)
        layers = judge("code", code).layers
        reasons = [layer.reason for layer in layers if layer.decision == "approve"]
        if reasons:
            found[path] = reasons
    return found


@dataclass(frozen=True)
class Consent:
    """What people said, and what it is about; a no that the coder cannot act on ends the task."""

    answer: ApprovalAnswer = "approved"
    about: str = ""
    for_coder: bool = True


@dataclass(frozen=True)
class _Ask:
    """A question about a candidate; the yes binds to `seen`, so other code is another question."""

    kind: str
    topic: str  # the beginning of the subject
    title: str
    lines: list[str]
    paths: list[str]
    seen: str
    on_yes: str
    on_no: str = "The coder is told to continue without it."
    wait: WaitReason = WaitReason.CHANGE_CONSENT
    payload: dict[str, Any] = field(default_factory=dict)
    once: bool = False  # a yes holds for the other tasks of the project too

    def answer(self, state: TaskState, ctx: TaskContext) -> ApprovalAnswer:
        """Put the question, unless it was put before, and tell what people said."""
        key = state["task"]["key"]
        digest = hashlib.sha256(self.seen.encode("utf-8", "surrogatepass")).hexdigest()[:32]
        return ctx.task_store.ask(
            kind=self.kind,
            subject=f"{self.topic}:{digest}" if self.once else f"{self.topic}:{key}:{digest}",
            title=f"{key}: {self.title}"[:200],
            why=self.about[:2000],
            on_yes=self.on_yes,
            on_no=self.on_no,
            payload={"reasons": self.lines[:200], "paths": self.paths, **self.payload},
        )

    @property
    def about(self) -> str:
        """The reasons that the question shows."""
        return "\n".join(self.lines[:SHOWN])

    def refused(self, state: TaskState, ctx: TaskContext) -> bool:
        """Whether a person said no. Raises Waiting while nobody has answered."""
        answer = self.answer(state, ctx)
        if answer == "pending":
            raise Waiting(self.wait, self.lines[0])
        return answer != "approved"


def consent(state: TaskState, ctx: TaskContext) -> Consent:
    """People's answers to all that this candidate needs a yes for; approved at once where that is nothing.

    All questions are put before the first answer is waited for. Raises Waiting while one is open.
    """
    open_lines, refused = list[tuple[WaitReason, str]](), list[Consent]()
    for one in filter(
        None, (_reach(state, ctx), _removals(state, ctx), _test_changes(state, ctx), _promises(state, ctx))
    ):
        answer = one.answer(state, ctx)
        if answer == "pending":
            open_lines.append((one.wait, one.lines[0]))
        elif answer != "approved":
            refused.append(Consent(answer, one.about, one.kind != "test_change"))
    if refused:
        return next((one for one in refused if not one.for_coder), refused[0])
    if open_lines:
        raise Waiting(*open_lines[0])
    return Consent()


def _reach(state: TaskState, ctx: TaskContext) -> _Ask | None:
    if not ctx.asks_about_reach:
        return None
    files = state["candidate"]["files"]
    found = reaching(files, tests_of(state, ctx), base_files(state, ctx, files)[0])
    if not found:
        return None
    return _Ask(
        kind="gate",
        topic="reach",
        title="may this code reach outside?",
        lines=_lines(found),
        paths=sorted(found),
        seen="\0".join(f"{path}\0{files[path]}" for path in found),
        on_yes="The code goes on to review and merge; its next runs are in the sandbox all the same.",
        wait=WaitReason.EFFECT_CONSENT,
    )


def _removals(state: TaskState, ctx: TaskContext) -> _Ask | None:
    may_go, lines = removal_words(state["task"]), list[str]()
    for path, names in sorted(removed_names(state, ctx).items()):
        came = came_with_dropped(state, ctx, base_files(state, ctx, [path])[0])
        plain = {name: name.partition(" ")[0] for name in names}
        lines += [f"{path}: {name}" for name in names if plain[name] not in came and not may_go(plain[name])]
    if not lines:
        return None
    return _Ask(
        kind="removal",
        topic="removal",
        title=f"may it take away {len(lines)} {'name' if len(lines) == 1 else 'names'} that other code may use?",
        lines=lines,
        paths=sorted({line.partition(":")[0] for line in lines}),
        seen="\0".join(lines),
        on_yes="The names are gone with the merge; what the task removes by its own words is not listed.",
        payload={"removed": lines[:200]},
    )


def _test_changes(state: TaskState, ctx: TaskContext) -> _Ask | None:
    changes = [
        {"path": path, "test": name, "old": old[:4000], "new": new[:4000]}
        for path, rows in sorted(changed_tests(state, ctx).items())
        for name, (old, new) in rows.items()
    ]
    if not changes:
        return None
    return _Ask(
        kind="test_change",
        topic="tests",
        title=f"may it change {len(changes)} existing {'test' if len(changes) == 1 else 'tests'}?",
        lines=[f"{row['path']}: {row['test']} is {'changed' if row['new'] else 'removed'}" for row in changes],
        paths=sorted({row["path"] for row in changes}),
        seen="\0".join(f"{row['path']}\0{row['test']}\0{row['new']}" for row in changes),
        on_yes="The tests are merged as shown.",
        on_no="The task is escalated: its code was judged by the changed tests.",
        payload={"changes": changes[:50]},
    )


def _promises(state: TaskState, ctx: TaskContext) -> _Ask | None:
    """Work that began with a failed build must not pass by a looser pin or a quieter check that nobody wanted."""
    start = state["task"].get("start")
    if not start:
        return None
    files = state["candidate"]["files"] | state["candidate"]["tests"]
    base = base_files(state, ctx, files)[0]
    # What becomes of single tests is asked by itself.
    lines = said_changes(base, files, frozenset(start.get("asked", ())), apart=tests_of(state, ctx))
    if not lines:
        return None
    return _Ask(
        kind="gate",
        topic="promises",
        title="may it change pins or what checks are told?",
        lines=lines,
        paths=sorted({line.partition(":")[0] for line in lines}),
        seen="\0".join(f"{path}\0{files[path]}" for path in sorted({line.partition(":")[0] for line in lines})),
        on_yes="It is merged as shown, and the result and the pull request say so.",
    )


def _lines(found: Mapping[str, Sequence[str]]) -> list[str]:
    return [f"{path}: {reason}" for path, reasons in found.items() for reason in reasons]


def refused_forgery(state: TaskState, ctx: TaskContext, hooks: Sequence[str]) -> str:
    """What a person refused of the code that decides how tests run, "" when there is nothing of it or it may stay.

    `hooks` ("path: name") were seen in the run. The yes binds to the files as they are. Raises Waiting while nobody has
    answered.
    """
    if state["task"].get("tests_given"):
        return ""
    found, written, language = {}, files_of(state["candidate"]), language_of_task(state["task"])
    for path, text in sorted(written.items()):
        base = ctx.repository.read(state["base"], path)
        if text == base:
            continue
        before = {*language.forgeries(path, base or "")}
        reasons = [why for why in language.forgeries(path, text) if why not in before]
        reasons += [
            f"adds the hook {name}" for place, _, name in (one.partition(": ") for one in hooks) if place == path
        ]
        steers = language.steers_tests(path, text, base or "")
        if steers and not language.holds_fixtures(path):
            reasons.append(f"configures the test run: {steers}")
        if reasons:
            found[path] = reasons
    if not found:
        return ""
    ask = _Ask(
        kind="gate",
        topic="forgery",
        title="may this decide how tests run?",
        lines=_lines(found),
        paths=sorted(found),
        seen="\0".join(f"{path}\0{written[path]}" for path in found),
        on_yes="The result of the tests stands, and the work goes on.",
        on_no="The result of the tests does not count; the coder is told to do without it.",
        wait=WaitReason.TEST_CONSENT,
    )
    refused = ask.refused(state, ctx)
    return f"A person refused what decides how the tests run; do without it.\n{ask.about}" if refused else ""


def refused_loss(state: TaskState, ctx: TaskContext, report: Mapping[str, Any]) -> str:
    """What a person refused of tests that passed before and now give no result; "" when there are none or they may.

    Those that the change itself alters or drops are asked about in consent(). Raises Waiting while nobody has answered.
    """
    changed, written, texts = changed_tests(state, ctx), files_of(state["candidate"]), dict[str, str]()
    gone = []
    for nodeid in report.get("lost", ()):
        path, *parts = nodeid.partition("[")[0].split("::")
        if path not in texts:
            texts[path] = written.get(path) or ctx.repository.read(state["base"], path) or ""
        there = parts and names_definition(texts[path], parts[0])  # else an earlier task took it away
        if there and ".".join(parts) not in changed.get(path, ()):
            gone.append(nodeid)
    if not gone:
        return ""
    ask = _Ask(
        kind="test_change",
        topic="lost",
        title=f"may {len(gone)} tests that passed before be left out or skipped?",
        lines=[f"{nodeid} passed before and did not run" for nodeid in gone],
        paths=sorted({nodeid.partition("::")[0] for nodeid in gone}),
        seen="\0".join(gone),
        on_yes="The work goes on without them; the same tests are not asked about again in this project.",
        on_no="The result of the tests does not count; the coder is told to have them run.",
        once=True,
    )
    return f"They must run and pass:\n{ask.about}" if ask.refused(state, ctx) else ""
