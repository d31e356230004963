"""What a lesson is worth: its reward, how often it helped, how long ago that was.

The track record is a Beta posterior. A lesson starts as one that helped when its diagnosis was confirmed by a test run,
so a single showing that did not help costs little, and four in a row without help take it out of the prompts. One that
was only inferred starts with nothing in its favour: two in a row are enough.
"""

from __future__ import annotations

from agents.memory.base import Lesson, Track

PRIOR_HELPED, PRIOR_NOT = 2.0, 1.0
INFERRED_HELPED = 1.0
HALF_LIFE = 180 * 86_400.0  # seconds
SHOWN_FROM = 0.3  # the least weight that is shown


def chance(track: Track, *, inferred: bool = False) -> float:
    """Posterior mean of the chance that an attempt with this lesson passes, 0…1."""
    prior, helped = INFERRED_HELPED if inferred else PRIOR_HELPED, min(track.helped, track.shown)
    return (prior + helped) / (prior + PRIOR_NOT + track.shown)


def weight(lesson: Lesson, track: Track, now: float) -> float:
    """0…1: chance × reward (−1…+1 mapped to 0…1) × decay since it was learned or last helped.

    `now`: seconds since 1970.
    """
    reward = (max(-1.0, min(1.0, lesson.reward)) + 1.0) / 2.0
    last = max(lesson.learned_at, track.helped_at)
    # A lesson from before times were kept does not age until it is shown to have helped.
    age = max(0.0, now - last) if last else 0.0
    return float(chance(track, inferred=lesson.inferred) * reward * 0.5 ** (age / HALF_LIFE))


def state_of(lesson: Lesson, track: Track, now: float) -> str:
    """active, disabled (by a person), sunk (did not help) or expired (too long ago)."""
    if lesson.disabled_by:
        return "disabled"
    if weight(lesson, track, now) >= SHOWN_FROM:
        return "active"
    fresh = max(lesson.learned_at, track.helped_at, 0.0) or now
    return "sunk" if weight(lesson, track, fresh) < SHOWN_FROM else "expired"
