"""Events of how agents think and choose: replies, decisions, what they remember, what a call used.

Types and payload names are a stable interface (docs/reference/events.md, written from these classes by
scripts/reference_pages.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agents.events.base import DECISIONS, EventKind, Rows, kind


@kind("thought", "thought", "thought", words=("text",))
class Thought(EventKind):
    """A model's reply. `steps` and `sources` are those of each turn of the prompt, `untrusted` the untrusted sources;
    blobs: prompt, output, and what a thinking model thought before it.
    """

    text: str
    step: str
    model: str
    truncated: bool
    steps: Sequence[str]
    sources: Sequence[Sequence[str]]
    untrusted: Sequence[str]


@kind("decision", "decision", "decision", "info", presets=DECISIONS, words=("summary", "reason"))
class DecisionMade(EventKind):
    """An agent chose, and why; `requirements` are the keys it answers to."""

    choice: str
    rejected: str | Sequence[str]
    reason: str
    requirements: Sequence[str]


@kind("diagnosis", "diagnosis", "diagnosis", "run", presets=DECISIONS, words=("cause", "hypothesis"))
class DiagnosisMade(EventKind):
    """The coder's explanation of a failure; `evidence_found` is whether the quoted line was shown to it."""

    cause: str
    evidence: str
    hypothesis: str
    plan: str
    evidence_found: bool
    role: str = "coder"


@kind("adjudication", "scales", "test or code", "run", presets=DECISIONS, words=("summary",))
class Adjudicated(EventKind):
    """The tester argued from the requirement whether the `test`, the `code` or `neither` is wrong."""

    verdict: str
    reason: str
    requirement: str
    role: str = "tester"


@kind("search.selected", "choose", "choice", "info", presets=DECISIONS)
class SampleSelected(EventKind):
    """One of several first versions continues; `why` the search ended; samples: number, ok, passed, failed, agree."""

    chosen: int
    why: str
    at_once: int
    unneeded: int
    samples: Rows


@kind("repeat", "repeat", "repeat", "warn")
class AttemptRepeated(EventKind):
    """The candidate equals the one of try `of`, whose `failure` is known; it was not run again."""

    of: int
    hash: str
    failure: str
    outcome: str = "fail"


@kind("memory.recall", "memory", "recalled", "info", steps="recalls")
class LessonsRecalled(EventKind):
    """A task's lessons: each with `by` (signature, meaning, vectors, words), similarity, weight, shown, helped."""

    lessons: Rows


@kind(
    "memory.judged", "memory", "memory", tone_by_outcome={"ok": "ok", "fail": "warn"}
)  # the try has a red row already
class LessonsJudged(EventKind):
    """Whether the try that was shown these lessons (by id) passed."""

    shown: Sequence[str]
    passed: bool


@kind("memory.write", "memory", "learned", "ok")
class LessonLearned(EventKind):
    """A lesson was stored."""

    lessons: Rows


@kind("memory.refused", "guard", "not learned", "warn")
class LessonRefused(EventKind):
    """A lesson was not stored."""

    reason: str
    outcome: str = "denied"


@kind("context.compacted", "cut", "shortened", steps="conversations shortened")
class ContextCompacted(EventKind):
    """A conversation was too long: tokens saved, and of each part the tokens before and after."""

    saved: int
    parts: Mapping[str, Sequence[int]]


@kind("llm.usage", "sigma", "model call", panels=("run",), steps="model calls")
class ModelCalled(EventKind):
    """What a model call used. `filled_by`: part of the prompt → tokens, adds up to prompt_tokens; `instead_of`: models
    that were to answer first, and why they did not; `reading_ms`: until the model began to write.
    """

    model: str
    prompt_tokens: int
    reused_tokens: int | None
    completion_tokens: int
    tokens_per_s: float
    window: int
    recorded: bool
    truncated: bool
    filled_by: Mapping[str, int]
    instead_of: Sequence[str]
    reading_ms: int = 0
