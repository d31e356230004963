"""Text on its way from the loop that reads it to the thread that wants it, gathered into few pieces."""

from __future__ import annotations

import threading

from agents.llm.base import LLMError


class Mailbox:
    """A place where one thread puts pieces and another takes all there are; never blocks the putter."""

    def __init__(self, bell: threading.Condition) -> None:
        """`bell` rings for every change; whoever waits for several mailboxes gives them one."""
        self._changed = bell
        self._pieces: list[str] = []
        self._errors: list[LLMError] = []
        self._closed = False

    def put(self, text: str) -> None:
        """Add a piece."""
        with self._changed:
            self._pieces.append(text)
            self._changed.notify()

    def start_over(self, error: LLMError) -> None:
        """Drop what was not taken yet: the reply starts again because of this error."""
        with self._changed:
            self._pieces.clear()
            self._errors.append(error)
            self._changed.notify()

    def close(self) -> None:
        """Say that nothing more comes."""
        with self._changed:
            self._closed = True
            self._changed.notify()

    @property
    def closed(self) -> bool:
        """True when nothing more comes (there may be pieces left to take)."""
        with self._changed:
            return self._closed

    def news(self, *, only_the_end: bool = False) -> bool:
        """True when nothing more comes, or when there is text to take and that counts."""
        with self._changed:
            return self._closed or (bool(self._pieces) and not only_the_end)

    def take(self) -> tuple[list[LLMError], str]:
        """Take the errors after which the reply started over, and the text written since the last of them."""
        with self._changed:
            errors, text = list(self._errors), "".join(self._pieces)
            self._errors.clear()
            self._pieces.clear()
            return errors, text
