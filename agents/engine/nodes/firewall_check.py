"""The firewall between the model's words and their effect."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping

from agents.engine.contracts import TaskContext
from agents.engine.state import TaskState, key_of
from agents.engine.waiting import Waiting, WaitReason
from agents.events.effects import GuardBlocked, GuardWatched
from agents.firewall.base import FirewallContext, FirewallJudgement, FirewallVerdict, Kind
from agents.firewall.guard import Guard
from agents.firewall.judge import judge
from agents.languages.registry import language_of
from agents.personas import Persona
from agents.replies.apply import Applied

SHELL = (".sh", ".bash")


def is_code(path: str) -> bool:
    """True for files that are read as code: source of every known language, and shell scripts."""
    return path.endswith(SHELL) or language_of(path) is not None


def written_code(path: str, content: str, base: Mapping[str, str]) -> str:
    """What there is to judge of a file: its code without the functions that stand like this in `base`."""
    language = language_of(path)
    return language.changed_code(base.get(path, ""), content) if language else content


def judged_file(
    path: str, content: str, base: Mapping[str, str], *, canary: str, guard: Guard | None
) -> Iterator[tuple[Kind, FirewallJudgement]]:
    """What is said against a file: of its path, its text, and the code that it does not have from `base`.

    A syntax error is not said here: it is a failed try with its own reward, found by the next step.
    """
    context = FirewallContext(workspace="/workspace", canaries=(canary,) if canary else ())
    checks: list[tuple[Kind, str]] = [("path", path), ("output", content)]
    if is_code(path):
        checks.append(("code", written_code(path, content, base)))
    for kind, text in checks:
        # The guard reads what would run, once; what it thinks of names and prose is nobody's concern.
        found = judge(kind, text, context=context, guard=guard if kind == "code" else None)
        if found.verdict.decision != "allow" and found.verdict.rule != "code.unparsable":
            yield kind, found


def screen(
    state: TaskState, ctx: TaskContext, persona: Persona, applied: Applied, turn: int, base: Mapping[str, str]
) -> list[str]:
    """Reasons to refuse files, empty when there are none; every verdict that is not "allow" is an event.

    Of the functions that stand like this in `base`, the files before the task, nothing is judged: the answer did not
    write them.

    Raises Waiting while a person has not answered a question of the guard model.
    """
    reasons = []
    for path, content in applied.files.items():
        for _, found in judged_file(path, content, base, canary=ctx.canary, guard=ctx.guard):
            verdict = found.verdict
            _report(state, ctx, persona, turn, path, found)
            if verdict.decision == "deny":
                reasons.append(f"{path}: refused by the firewall: {verdict.reason}")
            elif (doubt := _doubt(found)) and not _person_agrees(state, ctx, path, content, doubt):
                reasons.append(f"{path}: refused by a person: {doubt.reason}")
    return reasons


def _report(
    state: TaskState, ctx: TaskContext, persona: Persona, turn: int, path: str, found: FirewallJudgement
) -> None:
    # What only *may* be harmful is contained by the sandbox and judged again by the gates; it is shown here.
    verdict, denied = found.verdict, found.verdict.decision == "deny"
    event = (GuardBlocked if denied else GuardWatched)(
        summary=f"{'Blocked' if denied else 'Watched'}: {path}: {verdict.reason}",
        what=path,
        reason=verdict.reason,
        rule=verdict.rule,
        decision=verdict.decision,
        layers=found.to_json(),
    )
    key = key_of(state, f"guard/{persona.name}/{turn}/{path}/{verdict.rule}")
    ctx.event_log.emit(event, attempt=state["counters"]["attempt"], key=key)


def _doubt(found: FirewallJudgement) -> FirewallVerdict | None:
    return next((layer for layer in found.layers if layer.layer == "guard" and layer.decision == "approve"), None)


def _person_agrees(state: TaskState, ctx: TaskContext, path: str, content: str, doubt: FirewallVerdict) -> bool:
    """Ask a person about what the guard model would not let pass by itself."""
    key = state["task"]["key"]
    subject = hashlib.sha256(f"{path}\n{content}".encode("utf-8", "surrogatepass")).hexdigest()[:32]
    answer = ctx.task_store.ask(
        kind="gate",
        subject=f"firewall:{subject}",
        title=f"{key}: may {path} be used?"[:200],
        why=doubt.reason[:2000],
        on_yes="The file is used as it is; the sandbox and the review gate still hold.",
        on_no="The author is told to continue without it.",
        payload={"path": path, "reasons": [doubt.reason], "rule": doubt.rule},
    )
    if answer == "pending":
        raise Waiting(WaitReason.GUARD_MODEL, path)
    return answer == "approved"
