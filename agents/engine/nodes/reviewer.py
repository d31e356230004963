"""The reviewer: scanners first, deny by default, then a judgement on the change."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from agents.checks.check import check_of
from agents.context.files import CHARS_PER_TOKEN
from agents.engine.ask import Answer, Question, question_of
from agents.engine.best_try import objected
from agents.engine.contracts import Runtime, TaskContext
from agents.engine.nodes.called_code import code_called
from agents.engine.nodes.checked import words_on_checks
from agents.engine.nodes.common import one_line, task_facts
from agents.engine.nodes.consent import consent
from agents.engine.nodes.opening import room_beside
from agents.engine.nodes.packages import lock_files
from agents.engine.nodes.removals import base_files, mentions, removed_names, tests_of
from agents.engine.nodes.until_usable import ASK_AGAIN, ask_until_usable, unusable
from agents.engine.nodes.verify import REWARD_CLEAN, REWARD_LINT, close_attempt, write_candidate
from agents.engine.state import TaskState, files_of, key_of, updated
from agents.engine.waiting import Waiting, WaitReason
from agents.events.reasoning import DecisionMade
from agents.gates.base import NOT_CHECKED, GateFinding, GateReport
from agents.gates.feedback import feedback_text, gate_judged
from agents.languages.registry import language_of_task, languages
from agents.llm.base import Message, ReplyTooLong
from agents.personas import REVIEWER
from agents.prompts.provenance import Material, Source, as_turn, label, render
from agents.repair.feedback import clip, counts_text
from agents.replies.jsonish import parse_json
from agents.workspace.inside import write_inside
from agents.workspace.worktree import Change, Worktree

GATE_ROUNDS = 2  # chances for the coder before a person is asked
REVIEW_ROUNDS = 2
PART_CHARS = 36_000  # of a change in one call
LEAST_CHARS = 4_000
REMOVED = 60  # names in the reviewer's prompt
# An objection that asks for tests, which the coder may not write.
_MISSES_TESTS = re.compile(
    r"\b(?:no|more|missing|lack(?:s|ing)?|add|needs?|without|write)\b(?:\W+\w+){0,4}?\W+tests?\b"
    r"|\buntested\b|\bnot (?:\w+ )?tested\b|\btests?\b[^.;]*\b(?:missing|do(?:es)? not (?:cover|try|check))\b",
    re.IGNORECASE,
)
VERDICT_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "wrong_tests": {"type": "array", "items": {"type": "string"}},
        "approved": {"type": "boolean"},
        "reasons": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["approved", "reasons"],
}


def gates(state: TaskState, runtime: Runtime[TaskContext]) -> TaskState:
    """Scan the change; anything that blocks goes back to the coder, then to a person."""
    ctx = runtime.context
    tree = write_candidate(state, ctx)
    # The lock files of the commit say which versions were chosen; here they are only scanned.
    locks = {name: text for name, text in lock_files(state, ctx, state["base"]).items() if text}
    locks = {name: text for name, text in locks.items() if text != ctx.repository.read(state["base"], name)}
    tree.write(locks)
    paths = sorted({*files_of(state["candidate"]), *locks})
    report = ctx.gates(tree.path, paths, ctx.task_store.dispositions())
    if report.verdict != "pass" and not any(finding.tool != "style" for finding in report.findings):
        # Nothing was found, so a scanner failed (memory, a slow disk): once more before a person is asked.
        report = ctx.gates(tree.path, paths, ctx.task_store.dispositions())
    report = report.without(_found_before(state, ctx, report))
    tree = write_candidate(state, ctx) if locks else tree
    number, tests = state["counters"]["attempt"], state["candidate"]["report"]
    ctx.task_store.record_findings(report, number)
    ctx.event_log.emit(gate_judged(report), attempt=number, key=key_of(state, "verdict"))
    style = any(finding.tool == "style" for finding in report.findings)
    if report.verdict == "pass":
        return _agreed(state, ctx, tree, REWARD_LINT if style else REWARD_CLEAN)
    close_attempt(state, ctx, tests, "rejected", REWARD_LINT, tree.diff(state["base"]))
    fixable = [finding for finding in report.findings if finding.tool != "style"]
    blocking = [finding for finding in fixable if str(finding) in report.reasons] or fixable
    # Where no source of advisories answers, only a person can help.
    if any(finding.rule != NOT_CHECKED for finding in blocking) and (found := _findings(state, feedback_text(report))):
        return found
    return _asked_about_gate(state, ctx, report, fixable)


def _agreed(state: TaskState, ctx: TaskContext, tree: Worktree, reward: float) -> TaskState:
    """The end of an attempt that the gates let pass, when people agree to what they are asked about it."""
    tests, agreed = state["candidate"]["report"], consent(state, ctx)
    if agreed.answer != "approved":
        close_attempt(state, ctx, tests, "rejected", REWARD_LINT, tree.diff(state["base"]))
        # Back to the coder, who is not asked for ever.
        words = f"A person of the team does not want this; do without it:\n{agreed.about}"
        return (_findings(state, words) if agreed.for_coder else None) or {
            "verdict": "escalate",
            "escalation": f"A person refused what the code reaches for or changes: {agreed.about[:800]}",
        }
    close_attempt(state, ctx, tests, "passed", reward, tree.diff(state["base"]))
    return {"verdict": "pass", "candidate": {"reward": reward}}


def _asked_about_gate(
    state: TaskState, ctx: TaskContext, report: GateReport, fixable: Sequence[GateFinding]
) -> TaskState:
    """Escalate when a person said no. Raises Waiting while nobody has answered."""
    task = state["task"]
    names = ",".join(sorted(finding.fingerprint[:12] for finding in fixable)) or "scanners"
    subject = f"{task['key']}#{task.get('generation', 1)}:{names}"[:200]
    answer = ctx.task_store.ask(
        kind="gate",
        subject=subject,
        title=f"{task['key']} failed the security gate",
        why="; ".join(report.reasons)[:2000],
        on_yes="The gate runs again with what you decided about each finding.",
        on_no="The task is escalated.",
        payload={"reasons": list(report.reasons)[:20]},
    )
    if answer == "pending":
        raise Waiting(WaitReason.SECURITY_GATE)
    return {"verdict": "escalate", "escalation": f"The security gate failed: {'; '.join(report.reasons)[:800]}"}


def _found_before(state: TaskState, ctx: TaskContext, report: GateReport) -> set[str]:
    """Fingerprints of what scanners find in these files at the task's base too: this change did not bring it.

    What a person decided on stays that person's, also when the decision expires.
    """
    texts, _ = base_files(state, ctx, {finding.path for finding in report.findings})
    found = {path: ctx.found_before.get((state["base"], path)) for path in texts}
    if new := sorted(path for path, marks in found.items() if marks is None):
        with TemporaryDirectory(prefix="aiswe-base-") as folder:
            for path in new:
                write_inside(Path(folder), path, texts[path].encode())
            before = ctx.gates(Path(folder), new, {})
        found |= {path: frozenset(one.fingerprint for one in before.findings if one.path == path) for path in new}
        if not any(tool.problem for tool in before.tools.values()):
            ctx.found_before.update({(state["base"], path): found[path] or frozenset() for path in new})
    return set().union(*filter(None, found.values())) - set(ctx.task_store.dispositions())


def _findings(state: TaskState, feedback: str) -> TaskState | None:
    """Back to the coder; None when it has had its chances."""
    rounds = state["counters"]["gate_rounds"]
    if rounds >= GATE_ROUNDS:
        return None
    return updated(
        objected(state, gate_feedback=feedback), {"verdict": "findings", "counters": {"gate_rounds": rounds + 1}}
    )


def _about_tests(state: TaskState, ctx: TaskContext) -> list[str]:
    """What the test run and the mutation check say, in sentences."""
    report, tried = state["candidate"]["report"], state["candidate"]["mutation"]
    remark = tried.get("remark", "") if tried.get("attempt") == state["counters"]["attempt"] else ""  # of this version
    notes = [f"Of the others {note}." for note in report.get("notes", ())]
    notes += [f"The check that failed in the build: {one}." for one in report.get("checks", ())]
    if state["candidate"].get("unproven"):
        notes.append("The new tests pass on the code before the change too.")
    there = {path.rpartition("/")[2] for path in (*ctx.repository.files(state["base"]), *files_of(state["candidate"]))}
    planned = filter(tests_of(state, ctx), state["task"].get("files", []))
    empty = [path for path in planned if path.rpartition("/")[2] not in there]
    if checks := words_on_checks(state):
        notes += [f"No tests were written for this task. {'. '.join(checks)}."]
    elif empty:
        notes.append(f"There is no test in {', '.join(empty)}, which the task names.")
    return [counts_text(report), *notes, *([remark] if remark else [])]


def review(state: TaskState, runtime: Runtime[TaskContext]) -> TaskState:
    """Ask the reviewer whether the change answers the requirement. No readable verdict means no."""
    ctx = runtime.context
    if not ctx.needs_review and all(map(check_of, files_of(state["candidate"]) if words_on_checks(state) else ())):
        return {"verdict": "pass"}
    changes, tests = write_candidate(state, ctx).changes(state["base"]), state["candidate"]["tests"]
    # Tests first: the requirement is fresh in mind.
    changes = [one for one in changes if one.path in tests] + [one for one in changes if one.path not in tests]
    diff = "".join(change.diff for change in changes)
    verdict, problems = _verdict_by_parts(state, ctx, changes, diff)
    if verdict is None:
        # Sending the coder off to change something would be a guess: nobody said what.
        return {"verdict": "escalate", "escalation": f"The reviewer's verdict could not be read: {problems[0]}"}
    judgement = _judgement(state, verdict)
    decision = _decision(judgement, [requirement["key"] for requirement in state["task"].get("requirements", [])])
    ctx.event_log.emit(decision, attempt=state["counters"]["attempt"], key=key_of(state, "judgement"))
    return {"verdict": "pass"} if judgement.approved else _rejected(state, judgement, diff)


def _prompt(state: TaskState, ctx: TaskContext, changes: Sequence[Change], diff: str) -> Callable[..., Material]:
    """The question about a change; what is left to give are the words about one of its parts."""
    task, tests, refused = state["task"], state["candidate"]["tests"], state["history"].get("refused", {})
    removed = [f"{path}: {name}" for path, names in removed_names(state, ctx).items() for name in names][:REMOVED]
    named = {*task.get("files", []), *tests, *(one.lock for one in languages()), *(one.manifest for one in languages())}
    changed, is_test = {change.path for change in changes}, tests_of(state, ctx)  # which tests there are, it is shown
    return partial(
        render,
        "task.review",
        **task_facts(task, ctx),
        beyond=[change.path for change in changes if change.path not in named][:REMOVED],
        unchanged=[path for path in task.get("files", []) if path not in changed and not is_test(path)][:REMOVED],
        called=code_called(state, ctx, changes),
        counts=" ".join(_about_tests(state, ctx)),
        removed=label("\n".join(removed), Source.MODEL) if removed else "",
        refused=label("\n".join([*refused.get("reasons", ()), *refused.get("others", ())]), Source.MODEL),
        accepted=refused.get("accepted", False),
        same=diff == refused.get("diff"),
        answer=label(refused.get("answer", ""), Source.MODEL),
        of_tests=refused.get("of_tests", False),
    )


def _verdict_by_parts(
    state: TaskState, ctx: TaskContext, changes: Sequence[Change], diff: str
) -> tuple[dict[str, Any] | None, list[str]]:
    """One verdict on a change, asked for in as many parts as its length needs; None and why when one is unreadable."""
    about, tests = _prompt(state, ctx, changes, diff), state["candidate"]["tests"]
    rules = render("system.reviewer", house_rules=ctx.house_rules, recipe=ctx.recipe_lines.get(REVIEWER.name, ""))
    system = as_turn("system", rules, persona=REVIEWER.name)
    bare = as_turn("user", about(tests="tests", diff="diff", part=1, parts=2, shown=[]))
    room = CHARS_PER_TOKEN * room_beside(ctx, REVIEWER, [system, bare])
    parts = parts_of_change(
        [(one.path, without_git_lines(one.diff)) for one in changes], max(LEAST_CHARS, min(PART_CHARS, room))
    )
    verdict: dict[str, Any] = {"approved": True, "reasons": [], "wrong_tests": []}
    for number, part in enumerate(parts, 1):
        prompt = about(
            tests=label("".join(text for path, text in part if path in tests), Source.MODEL, "diff"),
            diff=label("".join(text for path, text in part if path not in tests), Source.MODEL, "diff"),
            part=number,
            parts=len(parts),
            shown=list(dict.fromkeys(path for path, _ in part)),
        )
        messages = [system, as_turn("user", prompt, task=state["task"]["key"], step="review")]
        one, problems = _verdict(state, ctx, messages, "review" if number == 1 else f"review/part{number}")
        if one is None:
            return None, problems
        verdict["approved"] = verdict["approved"] and one["approved"]
        verdict["wrong_tests"] += one.get("wrong_tests", ())
        if len(parts) == 1 or not one["approved"]:  # why a part was accepted is no objection to another one
            verdict["reasons"] += one["reasons"]
    return verdict, []


@dataclass(frozen=True)
class _Judgement:
    """What a verdict comes to: `accepted` is the change, of whose tests some are `wrong` or `missing`."""

    accepted: bool
    reasons: list[str]
    wrong: list[str]
    missing: list[str]

    @property
    def approved(self) -> bool:
        return self.accepted and not self.wrong

    @property
    def for_tester(self) -> list[str]:
        """Reasons that the coder can do nothing about."""
        return self.wrong or self.missing


def _judgement(state: TaskState, verdict: Mapping[str, Any]) -> _Judgement:
    reasons = [str(reason) for reason in verdict["reasons"]][:8]
    against = [] if verdict["approved"] else reasons
    missing = [text for text in against if _MISSES_TESTS.search(text) and not state["task"].get("tests_given")]
    doubted = (text for text in against if text not in missing)
    wrong = _of_tests(state, [*map(str, verdict.get("wrong_tests", ())), *doubted])
    reasons = [*wrong, *(reason for reason in reasons if reason not in wrong)][:8]
    if not reasons and not (verdict["approved"] and not wrong):
        reasons = ["the reviewer gave no reason"]
    return _Judgement(verdict["approved"], reasons, wrong, missing)


def _decision(judgement: _Judgement, requirements: list[str]) -> DecisionMade:
    only_tests = "The change is accepted once the tester has judged tests that may be wrong"
    approved, reasons = judgement.approved, "; ".join(judgement.reasons)
    choice = "Approved" if approved else only_tests if judgement.accepted else "Not approved"
    return DecisionMade(
        summary=": ".join(filter(None, [choice, reasons])),
        role="reviewer",
        outcome="ok" if approved else "fail",
        choice="approve" if approved else "reject",
        rejected=[],
        reason=reasons,
        requirements=requirements,
    )


def _rejected(state: TaskState, judgement: _Judgement, diff: str) -> TaskState:
    """Back to the coder or the tester; to a person when they had their rounds, or disagreed already."""
    reasons, for_tester = judgement.reasons, judgement.for_tester
    refused, rounds = state["history"].get("refused", {}), state["counters"]["review_rounds"]
    answer = refused.get("answer", "") if bool(for_tester) == refused.get("of_tests") else ""
    if rounds >= REVIEW_ROUNDS or answer:
        objection = f" The {'tester' if for_tester else 'coder'} disagrees: {answer}" if answer else ""
        why = f"The reviewer does not accept it: {'; '.join(reasons)[:800]}{objection}"
        return {"verdict": "escalate", "escalation": why}
    rejected: TaskState = {
        "verdict": "wrong_tests" if judgement.wrong else "missing_tests" if judgement.missing else "rejected",
        "history": {
            "refused": {
                "diff": diff,
                "reasons": for_tester or reasons,
                "others": [reason for reason in reasons if for_tester and reason not in for_tester],
                "of_tests": bool(for_tester),
                "accepted": judgement.accepted,
            }
        },
        "counters": {"review_rounds": rounds + 1},
    }
    return updated(objected(state, review=reasons), rejected)


def _of_tests(state: TaskState, objections: Sequence[str]) -> list[str]:
    """Objections that name one of the new tests: the coder may not change it. None where tests came with the task."""
    if state["task"].get("tests_given"):
        return []
    tests, language = state["candidate"]["tests"], language_of_task(state["task"])
    ids = [one for path, text in tests.items() for one in language.ids_of_tests(path, text)]
    names = [*tests, *(one.rpartition("::")[2] for one in ids)]
    return [said for said in dict.fromkeys(objections) if any(mentions(said, name) for name in names)]


def without_git_lines(diff: str) -> str:
    """A file's diff without what git alone reads, where the paths stand in it once more."""
    head, found, rest = diff.partition("\n--- ")
    kept = [line for line in head.split("\n") if not line.startswith(("diff --git ", "index "))]
    return "\n".join([*kept, "--- "]) + rest if found else diff


def parts_of_change(changes: Sequence[tuple[str, str]], chars: int) -> list[list[tuple[str, str]]]:
    """Paths and diffs in parts of at most `chars`, at least one: each file whole where it fits, else cut at hunks."""
    parts: list[list[tuple[str, str]]] = [[]]
    used = 0
    for path, diff in changes:
        for piece in [diff] if len(diff) <= chars else _cut(diff, chars):
            if parts[-1] and used + len(piece) > chars:
                parts.append([])
                used = 0
            parts[-1].append((path, piece))
            used += len(piece)
    return parts


def _cut(diff: str, chars: int) -> list[str]:
    """A long diff at its hunks, and a long hunk between its lines, each piece below the diff's own heading."""
    head, *hunks = re.split(r"^(?=@@ )", diff, flags=re.MULTILINE)
    room = chars - len(head)
    rows = [[hunk] if len(hunk) <= room else hunk.splitlines(keepends=True) for hunk in hunks]
    pieces = [head]
    for text in (text for row in rows for text in row):
        if pieces[-1] != head and len(pieces[-1]) + len(text) > chars:
            pieces.append(head)
        pieces[-1] += clip(text, room)
    return pieces


def _verdict(
    state: TaskState, ctx: TaskContext, messages: list[Message], named: str = "review"
) -> tuple[dict[str, Any] | None, list[str]]:
    """Ask until the answer is a verdict of the schema, at most ASK_AGAIN times more; None and why when it never is."""
    attempt = state["counters"]["attempt"]

    def name(turn: int) -> str:
        return f"{named}/{turn}" if turn else named

    def question(asked: list[Message], turn: int) -> Question:
        key = key_of(state, name(turn))
        return question_of(ctx, REVIEWER, asked, step="review", key=key, attempt=attempt, schema=VERDICT_SCHEMA)

    def read(answer: Answer, turn: int) -> tuple[dict[str, Any] | None, list[str]]:
        verdict, problems = parse_json(answer.text, VERDICT_SCHEMA)
        if not isinstance(verdict, dict):
            return None, problems or ["it is not a JSON object"]
        return verdict, problems

    def record(problems: list[str], turn: int) -> None:
        unusable(state, ctx, REVIEWER, problems, name(turn))

    def refusal(verdict: object, problems: list[str]) -> Material:
        return render("task.unreadable", problems=[one_line(problem) for problem in problems[:8]])

    try:
        last = ask_until_usable(messages, question, read, refusal, record)
    except ReplyTooLong as endless:
        record([str(endless)], ASK_AGAIN)
        return None, [str(endless)]
    return None if last.reasons else last.value, last.reasons
