"""How a state looks: a symbol, a word and a tone, never a colour alone. How an event looks is part of its kind."""

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
    "left_out": Look("flag", "left out", "needs"),
    "done": Look("passed", "met", "ok"),
    "in_work": Look("running", "in work", "run"),
    "stale": Look("flag", "to be rebuilt", "needs"),
    "not_planned": Look("queued", "not started", "muted"),
    "planned": Look("ready", "planned", "info"),
    "nothing_yet": Look("queued", "not planned", "muted"),
    "gap": Look("gap", "gap", "needs"),
    "removed": Look("skipped", "removed", "muted"),
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
    "waiting": Look("queued", "waiting", "muted"),
    "held": Look("paused", "held back", "muted"),
    "sent": Look("passed", "sent", "ok"),
    "given_up": Look("failed", "given up", "err"),
    "asked": Look("needs", "needs a yes", "needs"),
    "starting": Look("running", "starting", "run"),
    "live": Look("passed", "live", "ok"),
    "replaced": Look("skipped", "replaced", "muted"),
    "rolled_back": Look("flag", "rolled back", "warn"),
    "stopped": Look("cancelled", "stopped", "muted"),
    "refused": Look("failed", "refused", "err"),
    "healthy": Look("passed", "healthy", "ok"),
    "unhealthy": Look("failed", "health check fails", "err"),
    "your_turn": Look("human", "your turn", "info"),
    "ended": Look("passed", "ended", "muted"),
    "open": Look("flag", "open", "err"),
    "fixing": Look("running", "being fixed", "run"),
    "watching": Look("running", "watched", "info"),
    "looked_at": Look("ready", "looked at", "muted"),
    "resolved": Look("passed", "resolved", "ok"),
}
_UNKNOWN = Look("system", "unknown", "muted")

FOUND_BY = {
    "signature": "the same failure",
    "meaning": "similar meaning",
    "words": "shared words",
    "vectors": "mostly the same words",
}


def look_of_state(state: object) -> Look:
    """The look of a project, run, task, plan or finding state."""
    return STATES.get(str(state)) or _UNKNOWN._replace(word=str(state).replace("_", " ") or "unknown")
