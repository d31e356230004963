"""Announce an effect, do it, and say so when it did not come to its end.

The announcement is on record before the effect begins: a process that dies in between leaves it there, without an
outcome, for everybody to see.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agents.ports import Spine

OUR_ROOMS = ("agents.", "sandbox.")  # errors from here are written to be read


@contextmanager
def effect(
    spine: Spine,
    name: str,
    *,
    key: str,
    summary: str,
    role: str = "runtime",
    attempt: int = 0,
    payload: Mapping[str, Any] | None = None,
    type: str = "effect.intent",
) -> Iterator[None]:
    """Announce `name` under `key`, the key of the row that will tell its outcome; then do what is inside.

    The outcome is the caller's to write. When the inside raises, a row `effect.failed` is written and the error goes on.
    """
    spine.intend(name, key=key, summary=summary, role=role, attempt=attempt, payload=payload, type=type)
    try:
        yield
    except Exception as error:
        with suppress(Exception):  # the first error is the one that matters
            spine.failed(key=key, words=f"{name}: {in_words(error)}", role=role, attempt=attempt)
        raise


def in_words(error: Exception) -> str:
    """What may be put on record of an error: the text of our own, of others only their kind."""
    kind = type(error)
    known = f"{kind.__module__}.".startswith(OUR_ROOMS)
    return (str(error) if known else "") or kind.__name__
