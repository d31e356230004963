"""The firewall between the model's words and their effect."""

from __future__ import annotations

import hashlib
from pathlib import PurePosixPath

from agents.firewall import FirewallContext, Judgement, Kind, Verdict, judge
from agents.nodes.keys import key_of
from agents.personas import Persona
from agents.ports import TaskContext, Waiting
from agents.replies import Applied
from agents.state import TaskState

CODE = frozenset({".py", ".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx", ".sh", ".bash"})


def screen(state: TaskState, ctx: TaskContext, persona: Persona, applied: Applied, turn: int) -> list[str]:
    """Reasons to refuse files, empty when there are none; every verdict that is not "allow" is an event.

    Raises Waiting while a person has not answered a question of the guard model.
    """
    reasons = []
    context = FirewallContext(workspace="/workspace", canaries=(ctx.canary,) if ctx.canary else ())
    for path, content in applied.files.items():
        checks: list[tuple[Kind, str]] = [("path", path), ("output", content)]
        if PurePosixPath(path).suffix in CODE:
            checks.append(("code", content))
        for kind, text in checks:
            # The guard reads what would run, once; what it thinks of names and prose is nobody's concern.
            found = judge(kind, text, context=context, guard=ctx.guard if kind == "code" else None)
            verdict = found.verdict
            if verdict.decision == "allow" or verdict.rule == "code.unparsable":
                continue  # a syntax error is a failed try with its own reward, found by the next step
            _report(state, ctx, persona, turn, path, found)
            if verdict.decision == "deny":
                reasons.append(f"{path}: refused by the firewall: {verdict.reason}")
            elif (doubt := _doubt(found)) and not _person_agrees(state, ctx, path, content, doubt):
                reasons.append(f"{path}: refused by a person: {doubt.reason}")
    return reasons


def _report(state: TaskState, ctx: TaskContext, persona: Persona, turn: int, path: str, found: Judgement) -> None:
    # What only *may* be harmful is contained by the sandbox and judged again by the gates; it is shown here.
    verdict, denied = found.verdict, found.verdict.decision == "deny"
    ctx.spine.emit(
        "guard.blocked" if denied else "system", role="runtime", attempt=state["attempt"],
        key=key_of(state, f"guard/{persona.name}/{turn}/{path}/{verdict.rule}"),
        summary=f"{'Blocked' if denied else 'Watched'}: {path}: {verdict.reason}"[:400],
        payload={
            "what": path, "reason": verdict.reason, "rule": verdict.rule, "decision": verdict.decision, "layers": found.to_json(),
        },
        outcome="denied" if denied else "contained",
    )  # fmt: skip


def _doubt(found: Judgement) -> Verdict | None:
    return next((layer for layer in found.layers if layer.layer == "guard" and layer.decision == "approve"), None)


def _person_agrees(state: TaskState, ctx: TaskContext, path: str, content: str, doubt: Verdict) -> bool:
    """Ask a person about what the guard model would not let pass by itself."""
    key = state["task"]["key"]
    subject = hashlib.sha256(f"{path}\n{content}".encode("utf-8", "surrogatepass")).hexdigest()[:32]
    answer = ctx.book.ask(
        kind="gate", subject=f"firewall:{subject}", title=f"{key}: may {path} be used?"[:200], why=doubt.reason[:2000],
        on_yes="The file is used as it is; the sandbox and the review gate still hold.", on_no="The writer is told to do without it.",
        payload={"path": path, "reasons": [doubt.reason], "rule": doubt.rule},
    )  # fmt: skip
    if answer == "pending":
        raise Waiting(f"needs you: the guard model asks about {path} of {key}")
    return answer == "approved"
