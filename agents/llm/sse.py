"""Server-sent events, read from bytes in whatever pieces the network brings them."""

from __future__ import annotations

from typing import NamedTuple

_FIELDS = (b"data", b"event", b"id", b"retry")


class ServerSentEvent(NamedTuple):
    """One event: its kind (empty when the server names none) and its data."""

    kind: str
    data: str


class NotEvents(ValueError):
    """What came is no stream of events."""


class LineTooLong(ValueError):
    """A line, or the data of one event, passed the limit."""


class EventReader:
    """Feed it pieces, get whole events; half lines and half characters wait for their other half.

    More forgiving than the standard in two points that real servers need: an error in bare JSON between the events
    counts as data, and the last event needs no blank line after it. Lines of any other kind raise `NotEvents`.
    """

    def __init__(self, limit: int) -> None:
        """`limit` is in bytes, for one line and for one event."""
        self._limit = limit
        self._rest = bytearray()
        self._after_return = self._begun = False
        self._kind = ""
        self._data: list[str] = []
        self._size = 0

    def feed(self, piece: bytes) -> list[ServerSentEvent]:
        """Take a piece; gives the events that it ends."""
        if self._after_return and piece.startswith(b"\n"):
            piece = piece[1:]  # the other half of a line end
        if not piece:
            return []
        self._after_return = piece.endswith(b"\r")
        self._rest += piece
        if b"\r" in self._rest:
            self._rest = self._rest.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        *lines, rest = self._rest.split(b"\n")
        self._rest = rest
        if len(rest) > self._limit:
            raise LineTooLong
        return [event for line in lines if (event := self._line(bytes(line))) is not None]

    def end(self) -> list[ServerSentEvent]:
        """Nothing more comes; gives the event that was not ended by a blank line, if there is one."""
        rest, self._rest = bytes(self._rest), bytearray()
        events = [self._line(rest)] if rest else []
        events.append(self._dispatch())
        return [event for event in events if event is not None]

    def _line(self, line: bytes) -> ServerSentEvent | None:
        if not self._begun:
            self._begun = True
            line = line.removeprefix(b"\xef\xbb\xbf")
        if not line:
            return self._dispatch()
        if line.startswith(b":"):
            return None  # a comment, sent to keep the connection open
        if line.startswith(b"{"):
            self._add(line)
            return None
        field, _, value = line.partition(b":")
        if field not in _FIELDS:
            raise NotEvents
        value = value.removeprefix(b" ")
        if field == b"data":
            self._add(value)
        elif field == b"event":
            self._kind = value.decode("utf-8", "replace")[:80]
        return None

    def _add(self, value: bytes) -> None:
        self._size += len(value)
        if self._size > self._limit:
            raise LineTooLong
        self._data.append(value.decode("utf-8", "replace"))

    def _dispatch(self) -> ServerSentEvent | None:
        kind, data = self._kind, self._data
        self._kind, self._data, self._size = "", [], 0
        return ServerSentEvent(kind, "\n".join(data)) if data else None
