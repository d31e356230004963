"""Events of what is done and checked: commands, files, tests, gates, the firewall, git, and what failed.

Types and payload names are a stable interface (docs/reference/events.md, written from these classes by
scripts/reference_pages.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agents.events.base import DECISIONS, ERRORS, EventKind, Rows, Urgency, kind

GOOD: Mapping[str, str] = {"ok": "ok"}


@kind("mutation.result", "test", "test quality", tone_by_outcome=GOOD)
class MutationChecked(EventKind):
    """Of `mutants` small mistakes the tests `noticed` so many; survived: path, diff."""

    mutants: int
    noticed: int
    survived: Rows
    seconds: float
    effect: str = ""
    role: str = "tester"


@dataclass(frozen=True, kw_only=True)
class Announcement(EventKind):
    """An effect before it happens (`phase` is "intent"); `of` is the key of its outcome, `again` a repeated one."""

    effect: str = ""
    phase: str = ""
    of: str = ""
    again: bool = False


@kind("cmd", "cmd", "command", steps="commands")
class CommandRan(Announcement):
    """A command in the sandbox: announced (outcome `intent`) before it runs, its result in a second row."""

    argv: Sequence[str]
    exit_code: int | None = None
    seconds: float | None = None
    cpu_seconds: float | None = None
    tail: str | None = None
    timed_out: bool | None = None
    backend: str = ""
    role: str = "tester"


@kind("agent.tool", "cmd", "tool", tone_by_outcome={"fail": "warn"}, steps="tools of another agent")
class AgentToolUsed(EventKind):
    """Another agent used a tool of its own, as it tells: what it calls it, the tool's kind, and the paths it names."""

    agent: str
    title: str
    tool: str
    paths: Sequence[str] = ()
    role: str = "coder"


@kind("agent.permission", "guard", "permission", tone_by_outcome={"denied": "warn"})
class AgentPermission(EventKind):
    """Another agent asked whether it may: the decision (allow, ask, refuse), with the rule and reason."""

    agent: str
    title: str
    decision: str
    rule: str = ""
    reason: str = ""
    role: str = "coder"


@kind("file.diff", "file", "file", steps="files changed")
class FileChanged(EventKind):
    """A file of the candidate differs from its base by so many lines; blobs: diff."""

    path: str
    added: int
    removed: int
    role: str = "coder"


@kind("test.result", "test", "tests", tone_by_outcome=GOOD)
class TestsRan(EventKind):
    """What the suite gave; `problem` when it gave no proper result; failures: nodeid, message, kind, place.

    Only new failures count; `notes` say which known ones there were or are no more, and what did not run.
    """

    passed: int
    failed: int
    errors: int
    skipped: int
    failures: Rows
    problem: str = ""
    notes: Sequence[str] = ()
    role: str = "tester"


@kind("container.tried", "test", "container", tone_by_outcome=GOOD)
class ContainerTried(EventKind):
    """A Dockerfile was built and started; state: ok, failed, not built, no verdict; `tail` of a failure."""

    path: str
    state: str
    problem: str
    health: str
    user: str
    ports: Sequence[str]
    packages: Sequence[str]
    size_mb: int
    seconds: float
    tail: str
    role: str = "tester"


@kind("coverage.result", "test", "coverage", steps="coverage reports")
class CoverageMeasured(EventKind):
    """Branch coverage in percent, and the lines that no test reaches by file."""

    branch: float
    uncovered: Mapping[str, Sequence[int]]
    role: str = "tester"


@kind("gate.finding", "gate", "gate", "warn")
class FindingRecorded(EventKind):
    """A scanner reported something; outcome `fail` when it blocks the change."""

    finding: int
    tool: str
    rule: str
    severity: str
    confidence: str
    cwe: str
    path: str
    line: int
    message: str
    remediation: str
    fingerprint: str
    role: str = "reviewer"


@kind("gate.fixed", "passed", "fixed", "ok")
class FindingFixed(EventKind):
    """A weakness that a scanner reported is no longer in the change; `finding` is the one of its gate.finding."""

    finding: int
    tool: str
    rule: str
    path: str
    fingerprint: str
    role: str = "reviewer"


@kind("gate.moved", "gate", "moved", "warn")
class FindingMoved(EventKind):
    """A weakness stands at another place now, with the same code: not fixed, and decisions about it have ended."""

    finding: int
    tool: str
    rule: str
    before: str
    path: str
    line: int
    fingerprint: str
    role: str = "reviewer"


@kind("review.remark", "gate", "remark", "warn", words=("text",))
class ChangeRemarked(EventKind):
    """A remark on a line of somebody's change: strength is proven, found, shown or believed; `removed` when the change
    takes the line away; `test` shows it.
    """

    path: str
    line: int
    quote: str
    kind: str
    text: str
    strength: str
    evidence: Sequence[str]
    removed: bool = False
    test: str = ""
    role: str = "reviewer"


@kind("gate.verdict", "gate", "gate", "warn", tone_by_outcome=GOOD)
class GateJudged(EventKind):
    """The review gates passed or blocked the change; `tools` says what ran."""

    verdict: str
    reasons: Sequence[str]
    tools: Mapping[str, Any]
    role: str = "reviewer"


@dataclass(frozen=True, kw_only=True)
class FirewallReported(EventKind):
    """A verdict of the firewall on `what`; `layers` are the verdicts it was made from."""

    what: str
    reason: str
    rule: str
    decision: str
    layers: Rows | None = None


@kind("guard.blocked", "guard", "guard", "err", presets=ERRORS, urgency=Urgency.FAILURE)
class GuardBlocked(FirewallReported):
    """The firewall refused it (outcome `denied`), or took secrets out of it (`contained`)."""

    outcome: str = "denied"


@kind("guard.watched", "guard", "guard", "warn")
class GuardWatched(FirewallReported):
    """The firewall has doubts; the sandbox contains it and the gates judge it again."""

    outcome: str = "contained"


@kind("permission", "passed", "leave", "ok", presets=DECISIONS, tone_by_outcome={"denied": "warn"})
class PermissionDecided(EventKind):
    """In a conversation a person was asked before something was done: answer is no, once or session."""

    what: str
    answer: str
    reason: str
    role: str = "user"


@kind("tool", "cmd", "tool", steps="tools used")
class ToolUsed(EventKind):
    """In a conversation a command of the model was done (outcome `ok`), or was not (`fail`); blobs: input, output.

    `next_steps` can be taken after a failure.
    """

    tool: str
    title: str
    turn: int
    next_steps: Sequence[str] = ()
    role: str = "coder"


@kind("git.commit", "git", "git", steps="commits")
class CommitMade(EventKind):
    """A commit on top of `base`."""

    sha: str
    base: str
    branch: str = ""
    role: str = "coder"


@kind("git.merge", "git", "git")
class MergeDone(EventKind):
    """The commit is on the main branch, or conflicts with what was merged `onto` it (outcome `conflict`)."""

    sha: str
    conflict: Sequence[str]
    rebased: bool | None = None
    onto: str = ""


@kind("effect.intent", "system", "effect", steps="effects announced")
class EffectAnnounced(Announcement):
    """An effect is about to happen; committed before it begins ([audit](../explanation/audit.md))."""

    packages: Sequence[str] = ()
    paths: Sequence[str] = ()
    base: str = ""
    sha: str = ""
    mutants: int = 0
    model: str = ""
    server: str = ""
    step: str = ""


@kind("effect.done", "system", "effect", steps="effects")
class EffectDone(EventKind):
    """The effect took place."""

    effect: str
    packages: Sequence[str] = ()
    hashes: Mapping[str, str] | None = None
    paths: Sequence[str] = ()
    outcome: str = "ok"


@kind("effect.failed", "system", "effect")
class EffectFailed(EventKind):
    """The effect announced under the key `of` did not complete."""

    of: str
    message: str
    outcome: str = "fail"


@kind("error", "error", "error", "err", presets=ERRORS, urgency=Urgency.FAILURE)
class ErrorRaised(EventKind):
    """Something failed in `tool`; outcome `escalated` ends a task. next_steps: retry, adjust, skip, escalate."""

    message: str
    tool: str
    next_steps: Sequence[str]
    generation: int | None = None
    outcome: str = "fail"


@kind("system", "system", "system", steps="notices")
class SystemNotice(EventKind):
    """Something worth knowing; `details` are fields of their own, like `servers` outside of this machine."""

    text: str
    details: Mapping[str, Any] | None = None

    def payload(self) -> dict[str, Any]:
        """The details stand beside the text."""
        return {"text": self.text, **(self.details or {})}
