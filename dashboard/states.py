"""How a state and an event look: a shape, a word and a tone, never a colour alone."""

from __future__ import annotations

from typing import NamedTuple


class Look(NamedTuple):
    """Symbol of the sprite, the word beside it, and the tone its tint is taken from."""

    icon: str
    word: str
    tone: str


STATES: dict[str, Look] = {
    "queued": Look("queued", "queued", "muted"),
    "ready": Look("ready", "ready", "info"),
    "running": Look("running", "running", "run"),
    "needs_you": Look("needs", "needs you", "needs"),
    "blocked": Look("paused", "blocked", "needs"),
    "paused": Look("paused", "paused", "warn"),
    "merged": Look("passed", "merged", "ok"),
    "finished": Look("passed", "finished", "ok"),
    "passed": Look("passed", "passed", "ok"),
    "failed": Look("failed", "failed", "err"),
    "rejected": Look("failed", "rejected", "err"),
    "escalated": Look("flag", "escalated", "needs"),
    "skipped": Look("skipped", "skipped", "muted"),
    "cancelled": Look("cancelled", "cancelled", "muted"),
    "closed": Look("cancelled", "closed", "muted"),
    "drafting": Look("running", "drafting", "run"),
    "proposed": Look("ready", "proposed", "info"),
    "invalid": Look("failed", "invalid", "err"),
    "approved": Look("passed", "approved", "ok"),
    "superseded": Look("skipped", "superseded", "muted"),
    "pending": Look("needs", "waiting for you", "needs"),
    "uploaded": Look("queued", "uploaded", "muted"),
    "extracted": Look("ready", "extracted", "info"),
    "confirmed": Look("passed", "confirmed", "ok"),
    "refuted": Look("failed", "refuted", "err"),
    "accepted": Look("passed", "accepted", "ok"),
    "new": Look("flag", "new", "needs"),
    "old": Look("queued", "already known", "muted"),
    "fixed": Look("passed", "fixed", "ok"),
}
_UNKNOWN = Look("system", "unknown", "muted")

# By the longest prefix: "task.failed" before "task".
EVENTS: dict[str, Look] = {
    "run": Look("run", "run", "info"),
    "run.paused": Look("paused", "run", "warn"),
    "plan": Look("plan", "plan", "info"),
    "task": Look("task", "task", "info"),
    "task.started": Look("running", "task", "run"),
    "task.done": Look("passed", "task", "ok"),
    "task.failed": Look("failed", "task", "err"),
    "task.blocked": Look("paused", "task", "needs"),
    "task.escalated": Look("flag", "task", "needs"),
    "attempt": Look("retry", "attempt", "muted"),
    "attempt.taken_back": Look("undo", "taken back", "warn"),
    "attempt.passed": Look("passed", "attempt", "ok"),
    "attempt.failed": Look("failed", "attempt", "err"),
    "thought": Look("thought", "thought", "muted"),
    "decision": Look("decision", "decision", "info"),
    "diagnosis": Look("diagnosis", "diagnosis", "run"),
    "adjudication": Look("scales", "test or code", "run"),
    "search": Look("choose", "choice", "info"),
    "repeat": Look("repeat", "repeat", "warn"),
    "mutation": Look("test", "test quality", "muted"),
    "cmd": Look("cmd", "command", "muted"),
    "file.diff": Look("file", "file", "muted"),
    "test.result": Look("test", "tests", "muted"),
    "coverage.result": Look("test", "coverage", "muted"),
    "gate": Look("gate", "gate", "warn"),
    "guard": Look("guard", "guard", "err"),
    "memory": Look("memory", "memory", "muted"),
    "memory.recall": Look("memory", "recalled", "info"),
    "memory.write": Look("memory", "learned", "ok"),
    "memory.refused": Look("guard", "not learned", "warn"),
    "context": Look("cut", "shortened", "muted"),
    "approval.requested": Look("needs", "approval", "needs"),
    "approval": Look("passed", "approval", "ok"),
    "human": Look("human", "you said", "info"),
    "error": Look("error", "error", "err"),
    "health": Look("system", "health", "warn"),
    "git": Look("git", "git", "muted"),
    "requirement": Look("doc", "requirement", "info"),
    "llm": Look("sigma", "model call", "muted"),
    "system": Look("system", "system", "muted"),
    "effect": Look("system", "effect", "muted"),
}


def look_of_state(state: str) -> Look:
    """The look of a project, run, task, plan or finding state."""
    return STATES.get(state) or _UNKNOWN._replace(word=state.replace("_", " ") or "unknown")


def look_of_event(type_: str, outcome: str = "") -> Look:
    """The look of an event; a failed one is red, a good test or gate green, whatever its family."""
    parts = type_.split(".")
    look = next(
        (EVENTS[name] for n in range(len(parts), 0, -1) if (name := ".".join(parts[:n])) in EVENTS),
        _UNKNOWN._replace(word=type_),
    )
    if outcome == "fail" and type_ == "memory.judged":
        return look._replace(tone="warn")  # the try failed and has a red row of its own
    if outcome == "fail":
        return look._replace(tone="err")
    if outcome == "ok" and type_ in ("test.result", "gate.verdict", "mutation.result", "memory.judged"):
        return look._replace(tone="ok")
    return look
