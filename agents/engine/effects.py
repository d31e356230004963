"""Announce an effect, do it, and record a failure when it did not complete.

The announcement is stored before the effect begins: a process that dies in between leaves it there without an outcome,
where everybody can see it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from agents.events.effects import Announcement, EffectFailed
from agents.events.log import EventLog

OUR_ROOMS = ("agents.", "sandbox.")  # errors from here are written to be read


@contextmanager
def effect(event_log: EventLog, announcement: Announcement, *, key: str, attempt: int = 0) -> Iterator[None]:
    """Announce the effect under `key`, the key of the row that will hold its outcome; then do what is inside.

    The caller writes the outcome. When the inside raises, an EffectFailed is written and the error is raised again.
    """
    event_log.announce(announcement, key=key, attempt=attempt)
    try:
        yield
    except Exception as error:
        words = f"{announcement.effect}: {in_words(error)}"
        with suppress(Exception):  # the first error is the one that matters
            event_log.failed(
                EffectFailed(summary=words, of=key, message=words, role=announcement.role), attempt=attempt
            )
        raise


def in_words(error: Exception) -> str:
    """What may be recorded of an error: the text of our own, of others only their kind."""
    kind = type(error)
    known = f"{kind.__module__}.".startswith(OUR_ROOMS)
    return (str(error) if known else "") or kind.__name__
